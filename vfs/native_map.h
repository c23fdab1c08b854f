/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_map.h - the name table and block map of the raw-flash reference, all in RAM.
 *
 * This is what an ideal file system that never writes metadata would do. It is the yardstick for
 * creates, appends and reads; updates in place pay read block + erase + program.
 */
#ifndef NATIVE_MAP_H
#define NATIVE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/flash.h"

#define NATIVE_BUCKETS 4096u
#define NATIVE_NO_BLOCK UINT32_MAX

struct native_node {
    struct native_node *next;
    char *path;
    bool directory;
    uint32_t stored;            /* bytes of the file that are on flash */
    uint32_t size;              /* with the bytes in the open file's buffer */
    uint32_t *blocks;
    uint32_t block_count, block_room;
};

struct native_map {
    const struct nf2_flash *flash;
    struct native_node *buckets[NATIVE_BUCKETS];
    uint8_t *used;              /* one a block: holds file data */
    uint8_t *dirty;             /* one a block: must be erased before its next use */
    uint8_t *scratch;           /* one block, for updates in place */
    uint32_t blocks, blocks_used, next_block;
};

/* Both return 0 or a VFS error. */
int native_map_open(struct native_map *map, const struct nf2_flash *flash);
void native_map_close(struct native_map *map);

/* Forgets all names and erases what is dirty. */
int native_map_clear(struct native_map *map);

struct native_node *native_find(const struct native_map *map, const char *path);
/* A new node, or NULL without memory. */
struct native_node *native_add(struct native_map *map, const char *path, bool directory);
/* Takes the name away and frees its blocks. */
void native_delete(struct native_map *map, struct native_node *node);
/* Gives the node another name. */
int native_move(struct native_map *map, struct native_node *node, const char *path);
bool native_has_children(const struct native_map *map, const char *path);

/* Frees all blocks of a file: its size is 0 then. */
void native_empty(struct native_map *map, struct native_node *node);

/* Writes `length` bytes that lie in one block at `position` of the file; returns 0 or an error. */
int native_store(struct native_map *map, struct native_node *node, uint32_t position, const uint8_t *data, uint32_t length);
/* Reads `length` stored bytes. */
int native_load(struct native_map *map, const struct native_node *node, uint32_t position, uint8_t *data, uint32_t length);

#endif
