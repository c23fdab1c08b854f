/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NF2FS_esp32.cpp - an fs::FS over the virtual file system, which has NF2FS registered: files are
 * those of Arduino's VFSImpl.
 */
#if defined(ARDUINO_ARCH_ESP32)

#include "NF2FS.h"

#include <string.h>

#include "esp_nf2fs.h"
#include "vfs_api.h"

namespace fs {

NF2FSFS::NF2FSFS() : FS(FSImplPtr(new VFSImpl())), label_(), base_(), error_(ESP_OK)
{
}

bool NF2FSFS::begin(bool formatOnFail, const char *basePath, uint8_t maxOpenFiles,
                    const char *partitionLabel)
{
    (void)maxOpenFiles;
    if (partitionLabel == nullptr || strlen(partitionLabel) >= sizeof(label_)
        || basePath == nullptr || strlen(basePath) >= sizeof(base_)) {
        error_ = ESP_ERR_INVALID_ARG;
        return false;
    }
    if (esp_nf2fs_mounted(label_)) { /* one at a time: end() comes first */
        error_ = strcmp(label_, partitionLabel) == 0 ? ESP_OK : ESP_ERR_INVALID_STATE;
        return error_ == ESP_OK;
    }
    strcpy(label_, partitionLabel);
    strcpy(base_, basePath);
    esp_vfs_nf2fs_conf_t conf = {};
    conf.base_path = base_;
    conf.partition_label = label_;
    conf.format_if_mount_failed = formatOnFail;
    error_ = esp_vfs_nf2fs_register(&conf);
    _impl->mountpoint(error_ == ESP_OK ? base_ : nullptr);
    return error_ == ESP_OK;
}

void NF2FSFS::end()
{
    if (esp_nf2fs_mounted(label_)) {
        error_ = esp_vfs_nf2fs_unregister(label_);
        _impl->mountpoint(nullptr);
    }
}

bool NF2FSFS::format()
{
    const char *label = label_[0] != '\0' ? label_ : "spiffs";
    bool mounted = esp_nf2fs_mounted(label);
    if (mounted) {
        end();
    }
    error_ = esp_nf2fs_format(label);
    return error_ == ESP_OK && (!mounted || begin(false, base_, 0, label_));
}

size_t NF2FSFS::totalBytes()
{
    size_t total = 0;
    return esp_nf2fs_info(label_, &total, nullptr) == ESP_OK ? total : 0;
}

size_t NF2FSFS::usedBytes()
{
    size_t used = 0;
    return esp_nf2fs_info(label_, nullptr, &used) == ESP_OK ? used : 0;
}

bool NF2FSFS::maintain(uint32_t budgetMicros)
{
    nf2_t *volume = esp_nf2fs_volume(label_);
    return volume != nullptr && nf2_maintain(volume, budgetMicros) == 1;
}

}

fs::NF2FSFS NF2FS;

#endif
