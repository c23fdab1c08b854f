/* SPDX-License-Identifier: BSD-2-Clause */
/* core_traits.c - see core_traits.h. */
#include "core_traits.h"

#include <string.h>

#include "src/content.h"

static bool is_free(const nf2_t *fs, uint32_t at)
{
    return at < fs->window_blocks && (fs->space.now[at / 8] >> at % 8 & 1) == 0;
}

bool core_erased_in_part(const nf2_t *fs, uint32_t block)
{
    uint32_t at = block - fs->now_window * fs->window_blocks;
    return at < fs->ahead && is_free(fs, at) && at / fs->group_blocks == (fs->ahead - 1u) / fs->group_blocks;
}

bool core_erased_on_record(const nf2_t *fs, uint32_t block)
{
    uint32_t at = block - fs->now_window * fs->window_blocks;
    return core_erased_in_part(fs, block) || (is_free(fs, at) && (fs->erased_groups >> at / fs->group_blocks & 1) != 0);
}

bool core_broken(const nf2_t *fs)
{
    return fs->broken;
}

bool core_change_waits(const nf2_t *fs)
{
    return fs->group_busy;
}

bool core_emptying(const nf2_t *fs)
{
    return fs->victims != 0;
}

int core_root_level(nf2_t *fs)
{
    return fs->root_level;
}

/* What stands in a key for a name of more than 23 bytes: its first 20 bytes, then 3 bytes of its CRC-32, the lowest first. */
static void key_of(const char *name, unsigned char key[24])
{
    size_t length = strlen(name);
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < 8 * length; i++) {
        uint32_t bit = (crc ^ (uint32_t)((unsigned char)name[i / 8] >> i % 8)) & 1u;
        crc = crc >> 1 ^ (bit ? 0xEDB88320u : 0);
    }
    memset(key, 0, 24);
    memcpy(key, name, length > 23 ? 20 : length);
    for (int i = 0; i < 3 && length > 23; i++) {
        key[20 + i] = (unsigned char)(~crc >> 8 * i);
    }
}

int core_name_order(const char *a, const char *b)
{
    unsigned char first[24], second[24];

    key_of(a, first);
    key_of(b, second);
    int order = memcmp(first, second, sizeof first);
    return order != 0 ? order : strcmp(a, b);
}

bool core_appends_in_place(nf2_t *fs)
{
    struct nf2_piece last;

    for (nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        bool appends = file->frames_block != 0 && !file->changed && !file->cut && !file->failed;
        if (appends && file->synced > 0 && nf2_content_base(fs, file, file->synced - 1, &last) >= 0 &&
            !(last.kind == NF2_PIECE_FRAMES && last.open && last.block == file->frames_block)) {
            return false;
        }
    }
    return true;
}
