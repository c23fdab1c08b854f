/* SPDX-License-Identifier: BSD-2-Clause */
/* esp_nf2fs.c - the table of registered volumes; nf2_esp_vfs.c has the calls on a volume. */
#ifdef ESP_PLATFORM             /* Arduino and PlatformIO compile every file for every board */

#include "esp_nf2fs.h"

#include <stdlib.h>
#include <string.h>

#include "esp_log.h"
#include "nf2_esp_vfs.h"

static const char *const TAG = "nf2fs";

/*
 * A place is taken by its partition before the volume is mounted, so that no other task mounts it.
 */
struct place {
    const esp_partition_t *partition;
    struct nf2_esp_vfs *volume;         /* NULL: it is being mounted or unmounted */
};

static struct place places[CONFIG_NF2FS_MAX_PARTITIONS];
static portMUX_TYPE guard = portMUX_INITIALIZER_UNLOCKED;

static esp_err_t esp_error(int error)
{
    switch (error) {
    case NF2_OK:
        return ESP_OK;
    case NF2_ERR_BLANK:
        return ESP_ERR_NF2FS_BLANK;
    case NF2_ERR_FOREIGN:
        return ESP_ERR_NF2FS_FOREIGN;
    case NF2_ERR_CORRUPT:
        return ESP_ERR_NF2FS_CORRUPT;
    case NF2_ERR_GEOMETRY:
        return ESP_ERR_NF2FS_GEOMETRY;
    case NF2_ERR_VERSION:
        return ESP_ERR_NF2FS_VERSION;
    case NF2_ERR_NOSPC:
        return ESP_ERR_INVALID_SIZE;
    case NF2_ERR_ROFS:
        return ESP_ERR_NOT_ALLOWED;
    default:
        return ESP_FAIL;
    }
}

static bool same(const esp_partition_t *a, const esp_partition_t *b)
{
    return a != NULL && b != NULL && a->address == b->address && a->flash_chip == b->flash_chip;
}

/* Takes a place. NULL with the reason in `error`. */
static struct place *take(const esp_partition_t *partition, esp_err_t *error)
{
    struct place *free = NULL;
    *error = ESP_ERR_NO_MEM;
    portENTER_CRITICAL(&guard);
    for (size_t i = 0; i < CONFIG_NF2FS_MAX_PARTITIONS; i++) {
        if (same(places[i].partition, partition)) {
            *error = ESP_ERR_INVALID_STATE;
            free = NULL;
            break;
        }
        if (places[i].partition == NULL && free == NULL) {
            free = &places[i];
        }
    }
    if (free != NULL) {
        free->partition = partition;
    }
    portEXIT_CRITICAL(&guard);
    return free;
}

static void set(struct place *place, const esp_partition_t *partition, struct nf2_esp_vfs *volume)
{
    portENTER_CRITICAL(&guard);
    place->partition = partition;
    place->volume = volume;
    portEXIT_CRITICAL(&guard);
}

static const esp_partition_t *labelled(const char *label)
{
    return label == NULL ? NULL
                         : esp_partition_find_first(ESP_PARTITION_TYPE_DATA,
                                                    ESP_PARTITION_SUBTYPE_ANY, label);
}

/* The registered volume; `remove` takes it out of the table, and leaves its place taken. */
static struct nf2_esp_vfs *find(const esp_partition_t *partition, bool remove, struct place **at)
{
    struct nf2_esp_vfs *volume = NULL;
    portENTER_CRITICAL(&guard);
    for (size_t i = 0; i < CONFIG_NF2FS_MAX_PARTITIONS; i++) {
        if (same(places[i].partition, partition)) {
            volume = places[i].volume;
            *at = &places[i];
            places[i].volume = remove ? NULL : volume;
        }
    }
    portEXIT_CRITICAL(&guard);
    return volume;
}

static esp_err_t mount_at(struct place *place, const esp_vfs_nf2fs_conf_t *conf)
{
    struct nf2_esp_vfs *volume = calloc(1, sizeof(*volume));
    if (volume == NULL) {
        return ESP_ERR_NO_MEM;
    }
    int flags = (conf->format_if_mount_failed ? NF2_ESP_FORMAT : 0)
                | (conf->format_foreign ? NF2_ESP_FORMAT_FOREIGN : 0)
                | (conf->read_only ? NF2_ESP_READ_ONLY : 0)
                | (conf->keep_times ? NF2_ESP_KEEP_TIMES : 0);
    volume->read_only = conf->read_only || nf2_esp_is_readonly(place->partition);
    int result = nf2_esp_mount_partition(&volume->esp, place->partition, flags);
    if (result != NF2_OK) {
        ESP_LOGE(TAG, "%s: %s", place->partition->label, nf2_error_text(result));
        free(volume);
        return esp_error(result);
    }
    esp_err_t error = nf2_esp_vfs_register(volume, conf->base_path);
    if (error != ESP_OK) {
        ESP_LOGE(TAG, "%s can't be registered: 0x%x", conf->base_path, (unsigned)error);
        (void)nf2_esp_unmount(&volume->esp);
        free(volume);
        return error;
    }
    set(place, place->partition, volume);
    return ESP_OK;
}

esp_err_t esp_vfs_nf2fs_register(const esp_vfs_nf2fs_conf_t *conf)
{
    if (conf == NULL || conf->base_path == NULL
        || strlen(conf->base_path) >= sizeof(((struct nf2_esp_vfs *)NULL)->base_path)
        || (conf->partition_label == NULL && conf->partition == NULL)) {
        return ESP_ERR_INVALID_ARG;
    }
    const esp_partition_t *partition =
        conf->partition_label != NULL ? labelled(conf->partition_label) : conf->partition;
    if (partition == NULL) {
        ESP_LOGE(TAG, "there is no data partition \"%s\"", conf->partition_label);
        return ESP_ERR_NOT_FOUND;
    }
    if (partition->encrypted) {
        ESP_LOGE(TAG, "%s is encrypted, which NF2FS does not support", partition->label);
        return ESP_ERR_NOT_SUPPORTED;
    }
    esp_err_t error;
    struct place *place = take(partition, &error);
    if (place == NULL) {
        return error;
    }
    error = mount_at(place, conf);
    if (error != ESP_OK) {
        set(place, NULL, NULL);
    }
    return error;
}

esp_err_t esp_vfs_nf2fs_unregister_partition(const esp_partition_t *partition)
{
    struct place *place = NULL;
    struct nf2_esp_vfs *volume = find(partition, true, &place);
    if (volume == NULL) {
        return ESP_ERR_INVALID_STATE;
    }
    int result = nf2_esp_vfs_unregister(volume);
    int unmounted = nf2_esp_unmount(&volume->esp);
    result = result != NF2_OK ? result : unmounted;
    if (result != NF2_OK) {
        ESP_LOGE(TAG, "%s: %s", partition->label, nf2_error_text(result));
    }
    free(volume);
    set(place, NULL, NULL);
    return result == NF2_OK ? ESP_OK : ESP_FAIL;
}

esp_err_t esp_vfs_nf2fs_unregister(const char *label)
{
    return esp_vfs_nf2fs_unregister_partition(labelled(label));
}

nf2_t *esp_nf2fs_volume(const char *label)
{
    struct place *place = NULL;
    struct nf2_esp_vfs *volume = find(labelled(label), false, &place);
    return volume != NULL ? &volume->esp.fs : NULL;
}

bool esp_nf2fs_mounted(const char *label)
{
    return esp_nf2fs_volume(label) != NULL;
}

esp_err_t esp_nf2fs_format(const char *label)
{
    const esp_partition_t *partition = labelled(label);
    if (partition == NULL) {
        return ESP_ERR_NOT_FOUND;
    }
    if (partition->encrypted) {
        return ESP_ERR_NOT_SUPPORTED;
    }
    esp_err_t error;
    struct place *place = take(partition, &error);
    if (place == NULL) {
        return error;
    }
    struct nf2_esp *scratch = calloc(1, sizeof(*scratch));
    error = scratch != NULL ? esp_error(nf2_esp_format(scratch, partition)) : ESP_ERR_NO_MEM;
    free(scratch);
    set(place, NULL, NULL);
    return error;
}

esp_err_t esp_nf2fs_info(const char *label, size_t *total_bytes, size_t *used_bytes)
{
    struct nf2_statfs space;
    nf2_t *fs = esp_nf2fs_volume(label);
    if (fs == NULL) {
        return ESP_ERR_INVALID_STATE;
    }
    int result = nf2_statfs(fs, &space);
    if (result == NF2_OK && total_bytes != NULL) {
        *total_bytes = (size_t)space.blocks * space.block_size;
    }
    if (result == NF2_OK && used_bytes != NULL) {
        *used_bytes = (size_t)(space.blocks - space.blocks_available) * space.block_size;
    }
    return esp_error(result);
}

#endif
