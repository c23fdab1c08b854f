/* SPDX-License-Identifier: BSD-2-Clause */
/* NF2FS_esp32.h - included by NF2FS.h. */
#ifndef NF2FS_ESP32_H
#define NF2FS_ESP32_H

#include <FS.h>

namespace fs {

class NF2FSFS : public FS {
public:
    NF2FSFS();

    /*
     * Mounts the data partition of that label, which needs 128 KiB at least. `formatOnFail` formats
     * one that is blank. Arduino's partition tables call theirs "spiffs". `maxOpenFiles` is there
     * for sketches that were written for LittleFS: up to 8 files may be open. fopen() works, too,
     * with `basePath` in front of the name.
     */
    bool begin(bool formatOnFail = false, const char *basePath = "/nf2fs",
               uint8_t maxOpenFiles = 10, const char *partitionLabel = "spiffs");
    void end();         /* before the power goes, or deep sleep */
    bool format();      /* makes an empty volume, and what there was is lost; mounted or not */
    size_t totalBytes();
    size_t usedBytes(); /* what is not available; maintain() may find more that is free */

    /* Idle work for at most so many microseconds. Returns whether there is more of it. */
    bool maintain(uint32_t budgetMicros);

    /*
     * Why begin() or format() failed: an esp_err_t, such as ESP_ERR_NF2FS_FOREIGN of esp_nf2fs.h.
     */
    int lastError() const { return error_; }

private:
    char label_[17];    /* as long as a label may be */
    char base_[16];
    int error_;
};

}

extern fs::NF2FSFS NF2FS;

#endif
