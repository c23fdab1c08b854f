/* SPDX-License-Identifier: BSD-2-Clause */
/* native_map.c - names, block map and raw accesses of the raw-flash reference. */
#include "native_map.h"

#include <stdlib.h>
#include <string.h>

#include "vfs.h"

/* ---- names -------------------------------------------------------------------------------------- */

static uint32_t bucket_of(const char *path)
{
    uint32_t hash = 2166136261u;
    for (; *path != '\0'; path++) {
        hash = (hash ^ (uint8_t)*path) * 16777619u;
    }
    return hash % NATIVE_BUCKETS;
}

struct native_node *native_find(const struct native_map *map, const char *path)
{
    struct native_node *node = map->buckets[bucket_of(path)];
    while (node != NULL && strcmp(node->path, path) != 0) {
        node = node->next;
    }
    return node;
}

static void link_node(struct native_map *map, struct native_node *node)
{
    uint32_t bucket = bucket_of(node->path);
    node->next = map->buckets[bucket];
    map->buckets[bucket] = node;
}

static void unlink_node(struct native_map *map, struct native_node *node)
{
    struct native_node **link = &map->buckets[bucket_of(node->path)];
    while (*link != node) {
        link = &(*link)->next;
    }
    *link = node->next;
}

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

struct native_node *native_add(struct native_map *map, const char *path, bool directory)
{
    struct native_node *node = calloc(1, sizeof(*node));
    if (node == NULL) {
        return NULL;
    }
    node->path = copy_text(path);
    if (node->path == NULL) {
        free(node);
        return NULL;
    }
    node->directory = directory;
    link_node(map, node);
    return node;
}

void native_empty(struct native_map *map, struct native_node *node)
{
    for (uint32_t i = 0; i < node->block_count; i++) {
        map->used[node->blocks[i]] = 0;
    }
    map->blocks_used -= node->block_count;
    node->block_count = 0;
    node->stored = 0;
    node->size = 0;
}

static void free_node(struct native_node *node)
{
    free(node->blocks);
    free(node->path);
    free(node);
}

void native_delete(struct native_map *map, struct native_node *node)
{
    unlink_node(map, node);
    native_empty(map, node);
    free_node(node);
}

int native_move(struct native_map *map, struct native_node *node, const char *path)
{
    char *copy = copy_text(path);
    if (copy == NULL) {
        return VFS_ERR_NOMEM;
    }
    unlink_node(map, node);
    free(node->path);
    node->path = copy;
    link_node(map, node);
    return 0;
}

bool native_has_children(const struct native_map *map, const char *path)
{
    size_t length = strlen(path);
    for (uint32_t i = 0; i < NATIVE_BUCKETS; i++) {
        for (const struct native_node *node = map->buckets[i]; node != NULL; node = node->next) {
            if (strncmp(node->path, path, length) == 0 && node->path[length] == '/') {
                return true;
            }
        }
    }
    return false;
}

/* ---- the map ------------------------------------------------------------------------------------ */

int native_map_open(struct native_map *map, const struct nf2_flash *flash)
{
    memset(map, 0, sizeof(*map));
    map->flash = flash;
    map->blocks = flash->chip_size / flash->block_size;
    map->used = calloc(map->blocks, 1);
    map->dirty = calloc(map->blocks, 1);
    map->scratch = malloc(flash->block_size);
    if (map->used == NULL || map->dirty == NULL || map->scratch == NULL) {
        native_map_close(map);
        return VFS_ERR_NOMEM;
    }
    return 0;
}

static void forget_names(struct native_map *map)
{
    for (uint32_t i = 0; i < NATIVE_BUCKETS; i++) {
        while (map->buckets[i] != NULL) {
            native_delete(map, map->buckets[i]);
        }
    }
}

void native_map_close(struct native_map *map)
{
    forget_names(map);
    free(map->used);
    free(map->dirty);
    free(map->scratch);
    memset(map, 0, sizeof(*map));
}

static int erase_block(struct native_map *map, uint32_t block)
{
    const struct nf2_flash *flash = map->flash;
    int result = flash->erase(flash->context, block * flash->block_size, flash->block_size);
    map->dirty[block] = 0;
    return result < 0 ? VFS_ERR_IO : 0;
}

int native_map_clear(struct native_map *map)
{
    forget_names(map);
    map->next_block = 0;
    for (uint32_t block = 0; block < map->blocks; block++) {
        if (map->dirty[block] != 0 && erase_block(map, block) != 0) {
            return VFS_ERR_IO;
        }
    }
    return 0;
}

/* Round robin over the chip, as any log would go: the next block that holds nothing, erased where it must be. */
static int take_block(struct native_map *map, uint32_t *block)
{
    if (map->blocks_used == map->blocks) {
        return VFS_ERR_NOSPC;
    }
    while (map->used[map->next_block] != 0) {
        map->next_block = (map->next_block + 1) % map->blocks;
    }
    *block = map->next_block;
    map->next_block = (map->next_block + 1) % map->blocks;
    map->used[*block] = 1;
    map->blocks_used++;
    return map->dirty[*block] != 0 ? erase_block(map, *block) : 0;
}

static int add_block(struct native_map *map, struct native_node *node)
{
    if (node->block_count == node->block_room) {
        uint32_t room = node->block_room == 0 ? 4 : 2 * node->block_room;
        uint32_t *grown = realloc(node->blocks, room * sizeof(*grown));
        if (grown == NULL) {
            return VFS_ERR_NOMEM;
        }
        node->blocks = grown;
        node->block_room = room;
    }
    uint32_t block;
    int result = take_block(map, &block);
    if (result == 0) {
        node->blocks[node->block_count++] = block;
    }
    return result;
}

/* ---- raw accesses ------------------------------------------------------------------------------- */

/* Programs a range of one block page by page; ends are filled up to whole program units with 0xFF. */
static int program_range(struct native_map *map, uint32_t address, const uint8_t *data, uint32_t length)
{
    const struct nf2_flash *flash = map->flash;
    uint8_t page[4096];
    while (length > 0) {
        uint32_t piece = flash->page_size - address % flash->page_size;
        piece = piece < length ? piece : length;
        uint32_t padded = (piece + flash->program_unit - 1) / flash->program_unit * flash->program_unit;
        memset(page, 0xFF, padded);
        memcpy(page, data, piece);
        map->dirty[address / flash->block_size] = 1;
        if (flash->program(flash->context, address, page, padded) < 0) {
            return VFS_ERR_IO;
        }
        address += piece;
        data += piece;
        length -= piece;
    }
    return 0;
}

static int read_range(struct native_map *map, uint32_t address, uint8_t *data, uint32_t length)
{
    const struct nf2_flash *flash = map->flash;
    uint32_t skip = address % flash->read_unit;
    uint32_t whole = (skip + length + flash->read_unit - 1) / flash->read_unit * flash->read_unit;
    if (whole == length) {
        return flash->read(flash->context, address, data, length) < 0 ? VFS_ERR_IO : 0;
    }
    uint8_t *bounce = malloc(whole);
    if (bounce == NULL) {
        return VFS_ERR_NOMEM;
    }
    int result = flash->read(flash->context, address - skip, bounce, whole) < 0 ? VFS_ERR_IO : 0;
    memcpy(data, bounce + skip, length);
    free(bounce);
    return result;
}

/* Read the used part of the block, erase it, program it with the change. */
static int update_block(struct native_map *map, uint32_t block, uint32_t fill, uint32_t offset, const uint8_t *data, uint32_t length)
{
    uint32_t address = block * map->flash->block_size;
    int result = fill > 0 ? read_range(map, address, map->scratch, fill) : 0;
    if (result != 0) {
        return result;
    }
    memcpy(map->scratch + offset, data, length);
    result = erase_block(map, block);
    if (result != 0) {
        return result;
    }
    return program_range(map, address, map->scratch, fill > offset + length ? fill : offset + length);
}

int native_store(struct native_map *map, struct native_node *node, uint32_t position, const uint8_t *data, uint32_t length)
{
    const struct nf2_flash *flash = map->flash;
    uint32_t index = position / flash->block_size;
    uint32_t offset = position % flash->block_size;
    if (position > node->stored || offset + length > flash->block_size) {
        return VFS_ERR_INVAL;
    }
    if (index == node->block_count) {
        int result = add_block(map, node);
        if (result != 0) {
            return result;
        }
    }
    uint32_t fill = node->stored - index * flash->block_size;
    fill = fill < flash->block_size ? fill : flash->block_size;
    uint32_t programmed = (fill + flash->program_unit - 1) / flash->program_unit * flash->program_unit;
    int result = offset >= programmed ? program_range(map, node->blocks[index] * flash->block_size + offset, data, length)
                                      : update_block(map, node->blocks[index], fill, offset, data, length);
    if (result == 0 && position + length > node->stored) {
        node->stored = position + length;
    }
    return result;
}

int native_load(struct native_map *map, const struct native_node *node, uint32_t position, uint8_t *data, uint32_t length)
{
    const struct nf2_flash *flash = map->flash;
    while (length > 0) {
        uint32_t offset = position % flash->block_size;
        uint32_t piece = flash->block_size - offset;
        piece = piece < length ? piece : length;
        uint32_t address = node->blocks[position / flash->block_size] * flash->block_size + offset;
        int result = read_range(map, address, data, piece);
        if (result != 0) {
            return result;
        }
        position += piece;
        data += piece;
        length -= piece;
    }
    return 0;
}
