/* SPDX-License-Identifier: BSD-2-Clause */
/* test_esp32.cpp - NF2FS as an fs::FS of the ESP32, over partitions in memory. */
#include <NF2FS.h>

#include <fcntl.h>

#include "check.h"
#include "esp_nf2fs.h"
#include "esp_vfs.h"
#include "freertos/FreeRTOS.h"
#include "vfs_api.h"

extern "C" {
#include "freertos/semphr.h"
}

/* ---- the board ------------------------------------------------------------------------------- */

static uint8_t memory[2][512 * 1024];
static esp_partition_t partitions[2];

const esp_partition_t *esp_partition_find_first(esp_partition_type_t, esp_partition_subtype_t,
                                                const char *label)
{
    for (const esp_partition_t &at : partitions) {
        if (strcmp(at.label, label) == 0) {
            return &at;
        }
    }
    return nullptr;
}

static uint8_t *bytes(const esp_partition_t *at, size_t offset)
{
    return memory[at - partitions] + offset;
}

esp_err_t esp_partition_read(const esp_partition_t *at, size_t offset, void *data, size_t length)
{
    memcpy(data, bytes(at, offset), length);
    return ESP_OK;
}

esp_err_t esp_partition_write(const esp_partition_t *at, size_t offset, const void *data,
                              size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bytes(at, offset)[i] &= ((const uint8_t *)data)[i];
    }
    return ESP_OK;
}

esp_err_t esp_partition_erase_range(const esp_partition_t *at, size_t offset, size_t length)
{
    memset(bytes(at, offset), 0xFF, length);
    return ESP_OK;
}

extern "C" SemaphoreHandle_t xSemaphoreCreateRecursiveMutexStatic(StaticSemaphore_t *at)
{
    return at;
}
extern "C" int xSemaphoreTakeRecursive(SemaphoreHandle_t, unsigned) { return 1; }
extern "C" int xSemaphoreGiveRecursive(SemaphoreHandle_t) { return 1; }

static char prefix[16];
static esp_vfs_t calls;
static void *context;

esp_err_t esp_vfs_register(const char *base_path, const esp_vfs_t *vfs, void *given)
{
    strcpy(prefix, base_path);
    calls = *vfs;
    context = given;
    return ESP_OK;
}

esp_err_t esp_vfs_unregister(const char *base_path)
{
    CHECK_TEXT(base_path, prefix);
    prefix[0] = '\0';
    return ESP_OK;
}

class VFSFile : public fs::FileImpl {
public:
    VFSFile(int fd) : fd(fd) { }
    size_t write(const uint8_t *data, size_t size) override
    {
        ssize_t result = calls.write_p(context, fd, data, size);
        return result > 0 ? (size_t)result : 0;
    }
    size_t read(uint8_t *data, size_t size) override
    {
        ssize_t result = calls.read_p(context, fd, data, size);
        return result > 0 ? (size_t)result : 0;
    }
    void close() override { calls.close_p(context, fd); }

private:
    int fd;
};

fs::FileImplPtr VFSImpl::open(const char *path, const char *mode, const bool)
{
    if (_mountpoint == nullptr || strcmp(_mountpoint, prefix) != 0) {
        return fs::FileImplPtr();
    }
    int flags = mode[0] == 'r' ? O_RDONLY :
                mode[0] == 'w' ? O_WRONLY | O_CREAT | O_TRUNC :
                                 O_WRONLY | O_CREAT | O_APPEND;
    int fd = calls.open_p(context, path, flags, 0);
    return fd < 0 ? fs::FileImplPtr() : fs::FileImplPtr(new VFSFile(fd));
}

static void start(int fill)
{
    static const char *const labels[] = {"spiffs", "other"};
    for (size_t i = 0; i < 2; i++) {
        memset(memory[i], fill, sizeof(memory[i]));
        partitions[i] = esp_partition_t();
        partitions[i].address = 0x290000 + (uint32_t)i * 0x100000;
        partitions[i].size = sizeof(memory[i]);
        partitions[i].erase_size = 4096;
        strcpy(partitions[i].label, labels[i]);
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(begins)
{
    start(0xFF);
    CHECK(!NF2FS.open("/a") && NF2FS.totalBytes() == 0 && NF2FS.usedBytes() == 0 &&
          !NF2FS.maintain(1000));
    NF2FS.end();
    CHECK(!NF2FS.begin() && NF2FS.lastError() == ESP_ERR_NF2FS_BLANK);
    CHECK(!NF2FS.begin(true, "/nf2fs", 10, "none") && NF2FS.lastError() == ESP_ERR_NOT_FOUND);
    CHECK(!NF2FS.begin(true, "/nf2fs", 10, "a_label_that_is_too_long"));
    CHECK(!NF2FS.begin(true, "/a_base_that_is_too_long") &&
          !NF2FS.begin(true, "/nf2fs", 10, nullptr));
    CHECK(NF2FS.begin(true) && NF2FS.begin());
    CHECK_TEXT(prefix, "/nf2fs");
    CHECK(NF2FS.totalBytes() == 512 * 1024 && NF2FS.usedBytes() > 0 &&
          NF2FS.usedBytes() < 100 * 1024);
    CHECK(!NF2FS.begin(true, "/nf2fs", 10, "other") && NF2FS.lastError() == ESP_ERR_INVALID_STATE);
    CHECK(NF2FS.totalBytes() == 512 * 1024); /* the first one is still there */
    for (int i = 0; i < 100 && NF2FS.maintain(1000000); i++) { }
    CHECK(!NF2FS.maintain(1000000));
    NF2FS.end();
    CHECK(NF2FS.begin(false, "/files"));
    CHECK_TEXT(prefix, "/files");
    NF2FS.end();

    start(0x5A); /* as if LittleFS were there */
    CHECK(!NF2FS.begin(true) && NF2FS.lastError() == ESP_ERR_NF2FS_FOREIGN &&
          memory[0][5000] == 0x5A);
    CHECK(NF2FS.format() && NF2FS.begin());
    File file = NF2FS.open("/a", "w");
    CHECK_EQ(file.print("x"), 1);
    file.close();
    CHECK(NF2FS.open("/a"));
    CHECK(NF2FS.format() && !NF2FS.open("/a")); /* and it is mounted again */
    NF2FS.open("/b", "w").close();
    CHECK(NF2FS.open("/b"));
    NF2FS.end();
    CHECK(!NF2FS.open("/b"));
}

int main()
{
    RUN(begins);
    return check_done();
}
