/* SPDX-License-Identifier: BSD-2-Clause */
/* core_traits.c - see core_traits.h. */
#include "core_traits.h"

#include <string.h>

#include "inspect/inspect.h"
#include "src/content.h"
#include "src/victims.h"

uint32_t core_stock(const nf2_t *fs)
{
    return nf2_space_stock(fs);
}

bool core_erased_on_record(const nf2_t *fs, uint32_t block)
{
    return nf2_region_state(fs, nf2_region_of(fs, block)) == NF2_REGION_ERASED;
}

/* ---- regions --------------------------------------------------------------------------------- */

uint32_t core_region_blocks(const nf2_t *fs)
{
    return nf2_region_blocks(fs);
}

uint32_t core_region_shift(const nf2_t *fs)
{
    return fs->space.shift;
}

uint32_t core_regions(const nf2_t *fs)
{
    return fs->space.regions;
}

uint32_t core_region_of(const nf2_t *fs, uint32_t block)
{
    return nf2_region_of(fs, block);
}

uint32_t core_region_first(const nf2_t *fs, uint32_t region)
{
    return nf2_region_first(fs, region);
}

uint32_t core_region_end(const nf2_t *fs, uint32_t region)
{
    return nf2_region_end(fs, region);
}

bool core_region_free(const nf2_t *fs, uint32_t region)
{
    return nf2_region_free(fs, region);
}

uint32_t core_claimed(const nf2_t *fs)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < NF2_WRITERS; i++) {
        sum += fs->space.claim[i].count;
    }
    return sum;
}

uint32_t core_free_in_session(const nf2_t *fs)
{
    return fs->freed_count + fs->space.hand_count + nf2_holes_left(fs);
}

/* Does a claim, or what follows it in its region, have this block? */
static bool claimed(const struct nf2_space *space, const nf2_t *fs, uint32_t block)
{
    for (unsigned i = 0; i < NF2_WRITERS; i++) {
        if (block - space->claim[i].start < nf2_claim_rest(fs, &space->claim[i])) {
            return true;
        }
    }
    return false;
}

int core_free_but_used(nf2_t *fs)
{
    struct nf2_space space = fs->space;
    int sum = 0, result = NF2_OK;
    uint8_t states[256];

    for (uint32_t region = 0; region < space.regions; region++) {
        nf2_region_set(fs, region, NF2_REGION_USED);
    }
    memset(fs->space.claim, 0, sizeof fs->space.claim);
    fs->space.hand_count = 0;
    for (uint32_t first = 0, count; first < fs->blocks && result >= 0; first += count) {
        count = fs->blocks - first < sizeof states ? fs->blocks - first : (uint32_t)sizeof states;
        result = nf2_block_states(fs, first, count, states);
        for (uint32_t i = 0; i < count && result >= 0; i++) {
            uint32_t region = nf2_region_of(fs, first + i);
            bool was_free = ((uint32_t)space.state[region / 4] >> region % 4 * 2 & 3u) >= NF2_REGION_FREE;
            sum += was_free && (states[i] == NF2_BLOCK_USED || states[i] == NF2_BLOCK_BAD || claimed(&space, fs, first + i));
        }
    }
    fs->space = space;
    return result < 0 ? result : sum;
}

void core_choose(nf2_t *fs, const uint8_t *live, enum core_need need, unsigned holes_found, struct core_choice *choice)
{
    static const uint8_t needs[] = { NF2_NEED_LITTLE, NF2_NEED_NONE, NF2_NEED_SCARCE, NF2_NEED_LAST };
    struct nf2_space space = fs->space;
    struct nf2_walk walk = fs->walk;
    struct nf2_choice made = {0, 0, 0, 0};

    fs->walk.need = needs[need];
    fs->walk.leaves_before = fs->blocks / 64;   /* so many that pieces are short */
    fs->walk.grain = 0;
    fs->space.holes_found = (uint16_t)holes_found;
    nf2_holes_forget(&fs->space.marked);
    for (uint32_t region = 0; region < space.regions; region++) {
        fs->space.live[region] = live[region];
        nf2_region_set(fs, region, live[region] == 0 ? NF2_REGION_FREE : NF2_REGION_USED);
    }
    nf2_victims_choose(fs, true, &made);
    choice->victims = 0;
    for (uint32_t region = 0; region < space.regions; region++) {
        choice->victims += nf2_region_state(fs, region) == NF2_REGION_VICTIM;
    }
    choice->looked = fs->space.marked.count;
    choice->grain = fs->walk.grain;
    fs->space = space;
    fs->walk = walk;
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
    return fs->walk.moves;
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
