/* SPDX-License-Identifier: BSD-2-Clause */
/* test_esp.c - the component for ESP-IDF, over a partition on the virtual chip. */
#include "check.h"
#include "nf2_esp.h"
#include "vflash.h"

static struct vflash *chip;
static esp_partition_t partition;

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type,
                                                esp_partition_subtype_t subtype, const char *label)
{
    (void)subtype;
    return type == ESP_PARTITION_TYPE_DATA && strcmp(label, partition.label) == 0 ? &partition
                                                                                  : NULL;
}

esp_err_t esp_partition_read(const esp_partition_t *at, size_t offset, void *data, size_t length)
{
    const struct nf2_flash *flash = vflash_driver(chip);
    return flash->read(flash->context, at->address + (uint32_t)offset, data, (uint32_t)length) == 0
               ? ESP_OK
               : 0x102;
}

esp_err_t esp_partition_write(const esp_partition_t *at, size_t offset, const void *data,
                              size_t length)
{
    const struct nf2_flash *flash = vflash_driver(chip);
    return flash->program(flash->context, at->address + (uint32_t)offset, data, (uint32_t)length)
                   == 0
               ? ESP_OK
               : 0x102;
}

esp_err_t esp_partition_erase_range(const esp_partition_t *at, size_t offset, size_t length)
{
    const struct nf2_flash *flash = vflash_driver(chip);
    return flash->erase(flash->context, at->address + (uint32_t)offset, (uint32_t)length) == 0
               ? ESP_OK
               : 0x102;
}

SemaphoreHandle_t xSemaphoreCreateRecursiveMutexStatic(StaticSemaphore_t *memory)
{
    return memory;
}

int xSemaphoreTakeRecursive(SemaphoreHandle_t mutex, unsigned ticks)
{
    (void)ticks;
    return ++mutex->count;
}

int xSemaphoreGiveRecursive(SemaphoreHandle_t mutex)
{
    return --mutex->count;
}

static void mount_at(uint32_t address, uint32_t large)
{
    static struct nf2_esp volume;
    static nf2_file_t file;
    static uint8_t buffer[NF2_ESP_PAGE_SIZE];
    char text[6] = "";
    chip = vflash_new(vflash_chip_find("w25q80"));
    memset(&volume, 0, sizeof(volume));
    partition = (esp_partition_t){
        .address = address, .size = 512 * 1024, .erase_size = 4096, .label = "storage"};
    CHECK_EQ(nf2_esp_mount(&volume, "other", true), NF2_ERR_NOENT);
    CHECK_EQ(nf2_esp_mount(&volume, "storage", false), NF2_ERR_BLANK);
    CHECK_EQ(nf2_esp_mount(&volume, "storage", true), NF2_OK);
    CHECK_EQ(volume.flash.large_erase_size, large);
    CHECK_EQ(nf2_open(&volume.fs, &file, "/a", NF2_O_RDWR | NF2_O_CREAT, buffer), NF2_OK);
    CHECK_EQ(nf2_write(&volume.fs, &file, "hello", 5), 5);
    CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
    CHECK_EQ(nf2_esp_unmount(&volume), NF2_OK);
    CHECK_EQ(nf2_esp_mount(&volume, "storage", false), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &file, "/a", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_read(&volume.fs, &file, text, 6), 5);
    CHECK_TEXT(text, "hello");
    CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
    CHECK_EQ(nf2_esp_unmount(&volume), NF2_OK);
    CHECK_EQ(volume.mutex_memory.count, 0);
    partition.encrypted = true;
    CHECK_EQ(nf2_esp_mount(&volume, "storage", true), NF2_ERR_INVAL);
    vflash_free(chip);
}

TEST(partitions)
{
    mount_at(0x10000, 65536);
    mount_at(0x11000, 0);
}

int main(void)
{
    RUN(partitions);
    return check_done();
}
