/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_internal.c - a driver of examples/internal over flash that refuses what the chip refuses:
 * the selftest, and a volume that is filled, mounted again and checked. CHIP_UNIT is the chip's, 1
 * where a unit may be written again; CHIP_ERASE is its smallest erase.
 */
#include "check.h"
#include "internal.h"
#include "nf2fs/nf2fs.h"
#include "selftest.h"

#define SIZE (1024u * 1024u)
#define BANK (512u * 1024u)

_Alignas(4096) uint8_t flash_memory[SIZE];
static bool written[SIZE];
static unsigned refusals;
static bool unlocked, safe, timeout;

/* ---- the flash ------------------------------------------------------------------------------- */

static bool refuse(bool condition)
{
    refusals += condition;
    return condition;
}

/* Of the program's own part nothing may change. */
static bool outside(uintptr_t offset, size_t length)
{
    uintptr_t begin = (uintptr_t)(nf2_volume_begin - flash_memory);
    uintptr_t end = (uintptr_t)(nf2_volume_end - flash_memory);
    return refuse(offset < begin || offset + length > end);
}

static bool write_at(uintptr_t offset, const void *data, size_t length)
{
    const uint8_t *bytes = data;
    if (refuse(offset % length != 0) || outside(offset, length)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (CHIP_UNIT > 1 && refuse(written[offset + i])) {
            return false;
        }
        flash_memory[offset + i] &= bytes[i];
        written[offset + i] = true;
    }
    return true;
}

static bool erase_at(uintptr_t offset, size_t length)
{
    if (refuse(offset % CHIP_ERASE != 0 || length % CHIP_ERASE != 0 || length == 0) ||
        outside(offset, length)) {
        return false;
    }
    memset(flash_memory + offset, 0xFF, length);
    memset(written + offset, 0, length);
    return true;
}

#ifdef STM32
#include STM32

HAL_StatusTypeDef HAL_FLASH_Unlock(void)
{
    unlocked = true;
    return HAL_OK;
}

HAL_StatusTypeDef HAL_FLASH_Lock(void)
{
    unlocked = false;
    return HAL_OK;
}

/* Eight bytes are the value itself, more of them are where the value points. */
HAL_StatusTypeDef HAL_FLASH_Program(uint32_t type, uintptr_t address, uint64_t data)
{
    const void *bytes = CHIP_UNIT == 8 ? (const void *)&data : (const void *)(uintptr_t)data;
    bool good = !refuse(!unlocked || type != (CHIP_UNIT == 8 ? 0u : 1u) ||
                        (uintptr_t)bytes % 4 != 0) &&
                write_at(address - FLASH_BASE, bytes, CHIP_UNIT);
    return good ? HAL_OK : HAL_ERROR;
}

HAL_StatusTypeDef HAL_FLASHEx_Erase(FLASH_EraseInitTypeDef *erase, uint32_t *bad_page)
{
    uint32_t pages = FLASH_BANK_SIZE / FLASH_PAGE_SIZE;
    bool good = !refuse(!unlocked || erase->TypeErase != FLASH_TYPEERASE_PAGES ||
                        erase->Page >= pages || erase->Page + erase->NbPages > pages ||
                        (erase->Banks != FLASH_BANK_1 && erase->Banks != FLASH_BANK_2)) &&
                erase_at((erase->Banks == FLASH_BANK_2 ? BANK : 0u) + erase->Page * FLASH_PAGE_SIZE,
                         erase->NbPages * FLASH_PAGE_SIZE);
    *bad_page = good ? UINT32_MAX : erase->Page;
    return good ? HAL_OK : HAL_ERROR;
}
#endif

#ifdef FLASH_ECCR_ECCD
static FLASH_TypeDef registers;
FLASH_TypeDef *const FLASH = &registers;

TEST(uncorrectable_unit)
{
    registers.ECCR = FLASH_ECCR_ECCD;
    NMI_Handler();              /* returns, having written the flag, which clears it on the chip */
    CHECK_EQ(registers.ECCR, FLASH_ECCR_ECCD);
}
#endif

#ifdef NRF52
#include "nrfx_nvmc.h"

/* The registers take 32 bits; the host's memory lies higher. */
static uintptr_t offset_of(uint32_t address)
{
    return address - (uint32_t)(uintptr_t)flash_memory;
}

nrfx_err_t nrfx_nvmc_page_erase(uint32_t address)
{
    return erase_at(offset_of(address), CHIP_ERASE) ? NRFX_SUCCESS : NRFX_ERROR_INVALID_ADDR;
}

void nrfx_nvmc_word_write(uint32_t address, uint32_t value)
{
    (void)write_at(offset_of(address), &value, sizeof(value));
}

bool nrfx_nvmc_write_done_check(void)
{
    static bool done;
    done = !done;
    return done;
}
#endif

#ifdef RP2040
#include "hardware/flash.h"
#include "pico/flash.h"

int flash_safe_execute(void (*function)(void *context), void *context, uint32_t timeout_ms)
{
    (void)timeout_ms;
    if (timeout) {
        return -1;
    }
    safe = true;
    function(context);
    safe = false;
    return PICO_OK;
}

void flash_range_program(uint32_t offset, const uint8_t *data, size_t length)
{
    bool in_flash = data >= flash_memory && data < flash_memory + SIZE;
    (void)(!refuse(!safe || in_flash || length != FLASH_PAGE_SIZE) &&
           write_at(offset, data, length));
}

void flash_range_erase(uint32_t offset, size_t length)
{
    (void)(!refuse(!safe) && erase_at(offset, length));
}
#endif

/* ---- tests ----------------------------------------------------------------------------------- */

static nf2_t fs;
static uint8_t buffer[NF2_BUFFER_SIZE(256u)];
static const struct nf2_config config = {
    .flash = &internal_flash, .buffer = buffer, .buffer_size = sizeof(buffer)};

static void check_program(void)
{
    uint8_t sum = 0;
    for (const uint8_t *at = flash_memory; at < flash_memory + SIZE; at++) {
        sum |= at < nf2_volume_begin || at >= nf2_volume_end ? (uint8_t)(*at ^ 0xC3) : 0;
    }
    CHECK_EQ(sum, 0);
    CHECK_EQ(refusals, 0);
    CHECK(!unlocked && !safe);
}

TEST(driver)
{
    struct nf2_selftest_report report;
    memset(flash_memory, 0xC3, SIZE);
    internal_flash_size();
    CHECK_EQ(nf2_selftest(&config, &report), NF2_SELFTEST_GOOD);
    check_program();
}

TEST(volume)
{
    static nf2_file_t file;
    static uint8_t page[256], data[3000];
    char path[] = "/f00";
    CHECK_EQ(nf2_format(&fs, &config, NF2_FORMAT_QUICK), NF2_OK);
    CHECK_EQ(nf2_mount(&fs, &config, NF2_MOUNT_RDWR), NF2_OK);
    int made = 0, result = NF2_OK;
    for (int round = 0; round < 3; round++) { /* full, emptied, and again: blocks are used anew */
        for (made = 0; made < 100; made++) {
            path[2] = (char)('0' + made / 10);
            path[3] = (char)('0' + made % 10);
            memset(data, made, sizeof(data));
            result = nf2_open(&fs, &file, path, NF2_O_WRONLY | NF2_O_CREAT, page);
            if (result == NF2_OK) {
                int32_t taken = nf2_write(&fs, &file, data + 1, 2999);  /* of any alignment */
                int closed = nf2_close(&fs, &file);
                result = taken < 0 ? (int)taken : closed;
            }
            if (result != NF2_OK) {
                break;
            }
        }
        CHECK(made > 10 && (result == NF2_ERR_NOSPC || made == 100));
        for (int i = 0; i < made && round < 2; i++) {
            path[2] = (char)('0' + i / 10);
            path[3] = (char)('0' + i % 10);
            CHECK_EQ(nf2_remove(&fs, path), NF2_OK);
        }
    }
    CHECK_EQ(nf2_unmount(&fs), NF2_OK);
    CHECK_EQ(nf2_mount(&fs, &config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK_EQ(nf2_check(&fs, NULL, NULL), 0);
    for (int i = 0; i < made; i++) {
        path[2] = (char)('0' + i / 10);
        path[3] = (char)('0' + i % 10);
        CHECK_EQ(nf2_open(&fs, &file, path, NF2_O_RDONLY, NULL), NF2_OK);
        CHECK_EQ(nf2_read(&fs, &file, data, sizeof(data)), 2999);
        CHECK(data[0] == i && data[2998] == i);
        CHECK_EQ(nf2_close(&fs, &file), NF2_OK);
    }
    CHECK_EQ(nf2_unmount(&fs), NF2_OK);
    check_program();
}

/* What the library below refuses comes back as an error. */
TEST(errors)
{
    uint8_t unit[256] = {0};
    timeout = true;
#ifndef NRF52                   /* a word that is written is not reported there */
    if (CHIP_UNIT > 1) {
        CHECK_EQ(internal_flash.program(NULL, 0, unit, internal_flash.program_unit), 0);
    }
    CHECK(internal_flash.program(NULL, 0, unit, internal_flash.program_unit) != 0);
#endif
#ifdef RP2040
    CHECK(internal_flash.erase(NULL, 0, internal_flash.block_size) != 0);
#else
    CHECK(internal_flash.erase(NULL, internal_flash.chip_size, internal_flash.block_size) != 0);
#endif
    (void)unit;
    timeout = false;
}

int main(void)
{
    RUN(driver);
    RUN(volume);
#ifdef FLASH_ECCR_ECCD
    RUN(uncorrectable_unit);
#endif
    memset(flash_memory + (nf2_volume_begin - flash_memory), 0xFF, 4096);
    memset(written, 0, sizeof(written));
    RUN(errors);
    return check_done();
}
