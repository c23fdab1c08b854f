/* SPDX-License-Identifier: BSD-2-Clause */
/* nrfx_nvmc.h - see ../README.md. Addresses have 32 bits: the test adds what is above. */
#include <stdbool.h>
#include <stdint.h>

typedef enum { NRFX_SUCCESS, NRFX_ERROR_INVALID_ADDR } nrfx_err_t;
nrfx_err_t nrfx_nvmc_page_erase(uint32_t address);
void nrfx_nvmc_word_write(uint32_t address, uint32_t value);
bool nrfx_nvmc_write_done_check(void);
