/* SPDX-License-Identifier: BSD-2-Clause */
/* rig.c - see rig.h. */
#include "rig.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core_traits.h"
#include "inspect/inspect.h"

#define PATH_SIZE (64u * 1024u)

/* Blocks that may stay in use by metadata of a volume that was emptied, beyond those of a fresh one. */
static uint32_t metadata_allowance(uint32_t blocks)
{
    return 4 + blocks / 64;
}

static bool wrong(struct rig *rig, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(rig->failure, sizeof rig->failure, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- set-up -------------------------------------------------------------------------------------- */

static void on_cut(void *context)
{
    struct rig *rig = context;

    rig->off = true;
    if (rig->jump) {
        longjmp(rig->at_cut, 1);
    }
}

bool rig_init(struct rig *rig, const struct vflash_chip *chip, int format_flags)
{
    struct nf2_statfs stat;
    int status;

    memset(rig, 0, sizeof *rig);
    rig->chip = chip;
    rig->flash = vflash_new(chip);
    if (!rig->flash) {
        return wrong(rig, "no chip");
    }
    vflash_on_cut(rig->flash, on_cut, rig);
    rig->config.flash = vflash_driver(rig->flash);
    rig->config.buffer_size = NF2_BUFFER_SIZE(chip->page_size);
    rig->config.wear_age = 1; /* so that idle time moves what rests, after few erases */
    rig->config.wear_spread = 2;
    rig->config.buffer = malloc(rig->config.buffer_size);
    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        rig->page[i] = malloc(chip->page_size);
    }
    model_init(&rig->model, chip->page_size, chip->block_size);
    status = nf2_format(&rig->fs, &rig->config, format_flags);
    if (status != NF2_OK) {
        return wrong(rig, "nf2_format: %d %s", status, nf2_error_text(status));
    }
    if (!rig_mount(rig, NF2_MOUNT_RDWR)) {
        return false;
    }
    rig->free_exact = true;
    status = nf2_statfs(&rig->fs, &stat);
    rig->free_formatted = stat.blocks_free;
    rig->capacity = (uint64_t)stat.blocks_available * stat.block_size;
    return status == NF2_OK || wrong(rig, "nf2_statfs: %d", status);
}

void rig_free(struct rig *rig)
{
    model_free(&rig->model);
    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        free(rig->page[i]);
    }
    free(rig->config.buffer);
    free(rig->scratch);
    vflash_free(rig->flash);
}

static uint64_t changes(const struct vflash *flash)
{
    const struct vflash_counts *counts = vflash_counts(flash);

    return counts->program_calls + counts->erases[0] + counts->erases[1] + counts->erases[2];
}

bool rig_mount(struct rig *rig, int flags)
{
    uint64_t before = changes(rig->flash);
    int status;

    memset(&rig->fs, 0xA5, sizeof rig->fs);     /* nothing of the last session may be needed */
    memset(rig->config.buffer, 0xA5, rig->config.buffer_size);
    memset(rig->file, 0, sizeof rig->file);
    memset(rig->dir, 0, sizeof rig->dir);
    status = nf2_mount(&rig->fs, &rig->config, flags);
    rig->mount_answer = status;
    rig->mounted = status == NF2_OK;
    if (status != NF2_OK) {
        return wrong(rig, "nf2_mount: %d %s", status, nf2_error_text(status));
    }
    bool may_program = !rig->left_clean && flags == NF2_MOUNT_RDWR;     /* it settles what a cut left */
    rig->free_exact = rig->free_exact && rig->left_clean;
    rig->left_clean = false;
    return may_program || changes(rig->flash) == before || wrong(rig, "nf2_mount programmed or erased");
}

/* Did a call of the driver fail in the call at hand? */
static bool has_failed(const struct rig *rig)
{
    return vflash_failed(rig->flash) != rig->failed_before;
}

/* ---- the whole tree ------------------------------------------------------------------------------ */

static bool read_file(struct rig *rig, const char *path, struct image_entry *entry)
{
    static uint8_t piece[4096];
    nf2_file_t file;
    uint32_t size = 0;
    int32_t got;
    int status;

    memset(&file, 0, sizeof file);
    status = nf2_open(&rig->fs, &file, path, NF2_O_RDONLY, NULL);
    if (status != NF2_OK) {
        return wrong(rig, "verify: nf2_open: %d: %.100s", status, path);
    }
    while ((got = nf2_read(&rig->fs, &file, piece, sizeof piece)) > 0) {
        struct bytes *bytes = &entry->content;

        if (size + (uint32_t)got > bytes->room) {
            bytes->room = 2 * bytes->room + (uint32_t)got;
            bytes->data = realloc(bytes->data, bytes->room);
        }
        memcpy(bytes->data + size, piece, (uint32_t)got);
        size += (uint32_t)got;
        bytes->size = size;
    }
    status = nf2_close(&rig->fs, &file);
    if (got < 0 || status != NF2_OK) {
        return wrong(rig, "verify: nf2_read %d, nf2_close %d: %.100s", (int)got, status, path);
    }
    return true;
}

static bool list_entry(struct rig *rig, const struct nf2_dirent *found, char *path, struct image *image)
{
    struct nf2_stat stat;
    struct image_entry *entry;
    int status = nf2_stat(&rig->fs, path, &stat);

    if (status != NF2_OK || stat.type != found->type || stat.size != found->size) {
        return wrong(rig, "verify: nf2_stat %d: type %d size %lu, listed as type %d size %lu: %.100s", status, (int)stat.type,
                     (unsigned long)stat.size, (int)found->type, (unsigned long)found->size, path);
    }
    entry = image_add(image, path, found->type, NULL, 0);
    entry->size_listed = found->size;
    return found->type == NF2_TYPE_DIR || read_file(rig, path, entry);
}

/* Lists below `path` of `length` bytes, which is a buffer of PATH_SIZE. */
static bool list_tree(struct rig *rig, char *path, uint32_t length, struct image *image)
{
    nf2_dir_t dir;
    struct nf2_dirent entry;
    int status;

    memset(&dir, 0, sizeof dir);
    status = nf2_opendir(&rig->fs, &dir, path);
    if (status != NF2_OK) {
        return wrong(rig, "verify: nf2_opendir: %d: %.100s", status, path);
    }
    while ((status = nf2_readdir(&rig->fs, &dir, &entry)) == 1) {
        uint32_t name = (uint32_t)strlen(entry.name);
        uint32_t at = length;

        if (image->count > 100000 || length + name + 2 > PATH_SIZE) {
            return wrong(rig, "verify: a listing without an end: %.100s", path);
        }
        if (length) {
            path[at++] = '/';
        }
        memcpy(path + at, entry.name, name + 1);
        if (!list_entry(rig, &entry, path, image)
            || (entry.type == NF2_TYPE_DIR && !list_tree(rig, path, at + name, image))) {
            return false;
        }
        path[length] = 0;
    }
    if (status != 0) {
        return wrong(rig, "verify: nf2_readdir: %d: %.100s", status, path);
    }
    status = nf2_closedir(&rig->fs, &dir);
    return status == NF2_OK || wrong(rig, "verify: nf2_closedir: %d: %.100s", status, path);
}

bool rig_image(struct rig *rig, struct image *image)
{
    static char path[PATH_SIZE];

    memset(image, 0, sizeof *image);
    path[0] = 0;
    return list_tree(rig, path, 0, image);
}

bool rig_verify(struct rig *rig)
{
    struct image found, wanted;
    char text[300];
    bool right;

    right = rig_image(rig, &found);
    if (right) {
        model_image(&rig->model, false, &wanted);
        right = image_matches(&found, &wanted, text, sizeof text) || wrong(rig, "verify: %s", text);
        image_free(&wanted);
    }
    image_free(&found);
    if (right && rig->mounted && !rig->off && !core_appends_in_place(&rig->fs)) {
        right = wrong(rig, "verify: a handle appends to frames that are not its file's last ones");
    }
    return right;
}

/* ---- figures ------------------------------------------------------------------------------------- */

/* Idle work; when nothing is left of it, the number of free blocks is exact. */
static int maintain(struct rig *rig, uint32_t budget_us)
{
    int status = nf2_maintain(&rig->fs, budget_us);

    rig->free_exact = rig->free_exact || status == 0;
    return status;
}

static bool check_statfs(struct rig *rig, struct nf2_statfs *stat)
{
    int status = nf2_statfs(&rig->fs, stat);

    if (status != NF2_OK) {
        return wrong(rig, "nf2_statfs: %d", status);
    }
    if (stat->blocks != rig->chip->size / rig->chip->block_size || stat->block_size != rig->chip->block_size
        || stat->blocks_free > stat->blocks || stat->blocks_available > stat->blocks_free
        || stat->blocks_erased > stat->blocks_free || stat->blocks_bad > rig->breaks) {
        return wrong(rig, "nf2_statfs: %lu blocks, free %lu, erased %lu, available %lu, bad %lu", (unsigned long)stat->blocks,
                     (unsigned long)stat->blocks_free, (unsigned long)stat->blocks_erased, (unsigned long)stat->blocks_available,
                     (unsigned long)stat->blocks_bad);
    }
    return true;
}

static bool block_is_erased(struct rig *rig, uint32_t block)
{
    const uint8_t *memory = vflash_memory(rig->flash) + (size_t)block * rig->chip->block_size;

    for (uint32_t i = 0; i < rig->chip->block_size; i++) {
        if (memory[i] != 0xFF) {
            return wrong(rig, "block %lu is said to be erased, byte %lu is %02X", (unsigned long)block, (unsigned long)i, memory[i]);
        }
    }
    return true;
}

static bool recount(struct rig *rig)
{
    struct nf2_statfs stat;
    uint32_t states[4] = { 0 };

    if (!check_statfs(rig, &stat)) {
        return false;
    }
    uint8_t *all = malloc(stat.blocks);
    int looked = all != NULL ? nf2_block_states(&rig->fs, 0, stat.blocks, all) : NF2_ERR_IO;
    if (looked < 0) {
        free(all);
        return wrong(rig, "nf2_block_states: %d", looked);
    }
    for (uint32_t block = 0; block < stat.blocks; block++) {
        int state = all[block];
        states[state]++;
        /* Where blocks failed in a turn of the log and a cut came, a session learns of it with its first program. */
        bool known = rig->breaks < 2 || rig->fs.opened;
        if (state == NF2_BLOCK_ERASED && known && !block_is_erased(rig, block)) {
            free(all);
            return false;
        }
    }
    free(all);
    uint32_t free_blocks = states[NF2_BLOCK_DIRTY] + states[NF2_BLOCK_ERASED], erased = states[NF2_BLOCK_ERASED];
    bool right = stat.blocks_free <= free_blocks && stat.blocks_erased <= erased;
    if (!right || states[NF2_BLOCK_BAD] != stat.blocks_bad) {
        return wrong(rig, "recount: dirty %lu, erased %lu, used %lu, bad %lu; nf2_statfs: free %lu, erased %lu, bad %lu", (unsigned long)states[0],
                     (unsigned long)states[1], (unsigned long)states[2], (unsigned long)states[3], (unsigned long)stat.blocks_free,
                     (unsigned long)stat.blocks_erased, (unsigned long)stat.blocks_bad);
    }
    return true;
}

static void on_report(void *context, const struct nf2_finding *finding)
{
    struct rig *rig = context;

    if (rig->failure[0] == 0) {
        snprintf(rig->failure, sizeof rig->failure, "nf2_check: %s: block %ld, id %lu, number %lu", nf2_finding_text(finding->kind),
                 (long)(int32_t)finding->block, (unsigned long)finding->id, (unsigned long)finding->number);
    }
}

bool rig_check(struct rig *rig)
{
    int wrongs;

    rig->failure[0] = 0;
    wrongs = nf2_check(&rig->fs, on_report, rig);
    if (wrongs != 0) {
        return rig->failure[0] ? false : wrong(rig, "nf2_check: %d", wrongs);
    }
    if (vflash_counts(rig->flash)->violations) {
        return wrong(rig, "the chip was misused %llu times", (unsigned long long)vflash_counts(rig->flash)->violations);
    }
    return recount(rig);
}

bool rig_empty(struct rig *rig)
{
    static char path[PATH_SIZE];
    struct nf2_statfs stat;
    int status = 1;

    while (rig->model.root->children) {
        struct node *node = rig->model.root->child[0];
        struct call call = { .op = OP_REMOVE, .path = path };

        while (node->children) {
            node = node->child[node->children - 1];
        }
        model_path(node, path, sizeof path);
        if (rig_call(rig, &call) != RIG_OK) {
            return false;
        }
        if (rig->answer != NF2_OK) {
            return wrong(rig, "nf2_remove: %d: %.100s", (int)rig->answer, path);
        }
    }
    for (unsigned i = 0; status == 1 && i < 100000; i++) {
        status = maintain(rig, 1000000000u);
    }
    if (status != 0) {
        return wrong(rig, "nf2_maintain finds no end: %d", status);
    }
    if (!rig_check(rig) || !check_statfs(rig, &stat)) {
        return false;
    }
    if (stat.blocks_free + metadata_allowance(stat.blocks) + rig->breaks < rig->free_formatted) {
        return wrong(rig, "emptied, yet only %lu blocks are free (%lu after format)", (unsigned long)stat.blocks_free,
                     (unsigned long)rig->free_formatted);
    }
    return true;
}

/* ---- calls --------------------------------------------------------------------------------------- */

/* A buffer of exactly `length` bytes, kept until the next one is asked for (a call may be left by longjmp). */
static uint8_t *scratch(struct rig *rig, uint32_t length)
{
    free(rig->scratch);
    rig->scratch = malloc(length ? length : 1);
    return rig->scratch;
}

static bool do_read(struct rig *rig, const struct call *call, int32_t *answer)
{
    uint32_t length = (uint32_t)call->number;
    struct handle *handle = &rig->model.handle[call->handle];
    uint8_t *data = scratch(rig, length);
    uint32_t first = 0;

    *answer = nf2_read(&rig->fs, &rig->file[call->handle], data, length);
    if (*answer > 0 && handle->open && handle->node) {
        const struct bytes *view = model_view(handle);
        uint32_t end = handle->position + (uint32_t)*answer;

        while (end <= view->size && first < (uint32_t)*answer && data[first] == view->data[handle->position + first]) {
            first++;
        }
        if (first < (uint32_t)*answer) {
            wrong(rig, "read: byte %lu of the file (size %lu) is %02X, not %02X", (unsigned long)(handle->position + first),
                  (unsigned long)view->size, data[first], end <= view->size ? view->data[handle->position + first] : 0);
            return false;
        }
    }
    return true;
}

static int32_t do_write(struct rig *rig, const struct call *call)
{
    uint32_t length = (uint32_t)call->number;
    uint8_t *data = scratch(rig, length);

    call_data(data, length, call->extra);
    return nf2_write(&rig->fs, &rig->file[call->handle], data, length);
}

static bool do_stat(struct rig *rig, const struct call *call, int32_t *answer)
{
    struct nf2_stat stat;
    const struct node *node = model_find(&rig->model, call->path);

    *answer = nf2_stat(&rig->fs, call->path, &stat);
    if (*answer == NF2_OK && node) {
        uint32_t pending = node->writer ? model_view(node->writer)->size : node->synced.size;

        if (stat.type != node->type || (stat.size != node->synced.size && stat.size != pending)) {
            return wrong(rig, "nf2_stat: type %d, size %lu; not %d, %lu", (int)stat.type, (unsigned long)stat.size, (int)node->type,
                         (unsigned long)node->synced.size);
        }
    }
    return true;
}

static bool do_readdir(struct rig *rig, const struct call *call, int32_t *answer)
{
    struct list *list = &rig->model.list[call->handle];

    *answer = NF2_OK;
    for (int64_t i = 0; i < call->number; i++) {
        struct nf2_dirent entry;
        const char *fault;
        int got;

        memset(&entry, 0, sizeof entry);
        got = nf2_readdir(&rig->fs, &rig->dir[call->handle], &entry);
        if (rig->off) {
            return true;
        }
        if (!list->open || (got < 0 && has_failed(rig))) {
            *answer = got;
            return true;
        }
        fault = model_listed(&rig->model, (unsigned)call->handle, got, &entry);
        if (fault) {
            return wrong(rig, "nf2_readdir %d: %s (%.100s)", got, fault, entry.name);
        }
        if (got <= 0) {
            return true;
        }
    }
    return true;
}

static bool do_unmount(struct rig *rig, const struct call *call, int32_t *answer)
{
    *answer = NF2_OK;
    if (call->op == OP_UNMOUNT) {
        *answer = nf2_unmount(&rig->fs);
        if (rig->off) {
            return true;
        }
        if (*answer != NF2_OK) {
            rig->mounted = false;
            return wrong(rig, "nf2_unmount: %d", (int)*answer);
        }
        rig->left_clean = true;
    }
    return rig_mount(rig, NF2_MOUNT_RDWR);
}

static int32_t do_save(struct rig *rig, const struct call *call)
{
    uint8_t *data = scratch(rig, (uint32_t)call->number);

    call_data(data, (uint32_t)call->number, call->extra);
    return nf2_save(&rig->fs, call->path, data, (uint32_t)call->number);
}

/* Compares what is read with the synced content; what lies behind it must stay as it was. */
static bool do_load(struct rig *rig, const struct call *call, int32_t *answer)
{
    struct node *node = model_find(&rig->model, call->path);

    uint8_t *data = scratch(rig, (uint32_t)call->number);

    memset(data, 0x5A, (size_t)call->number);
    *answer = nf2_load(&rig->fs, call->path, data, (uint32_t)call->number);
    uint32_t got = *answer > 0 ? (uint32_t)*answer : 0;
    if (has_failed(rig) || !node || got > call->number) {
        return true;            /* the answer is judged */
    }
    if (got > 0 && got == node->synced.size && memcmp(data, node->synced.data, got) != 0) {
        return wrong(rig, "nf2_load: other content: %.100s", call->path);
    }
    for (uint32_t i = got; i < call->number; i++) {
        if (data[i] != 0x5A) {
            return wrong(rig, "nf2_load: byte %lu behind the content was changed: %.100s", (unsigned long)i, call->path);
        }
    }
    return true;
}

/* The call on the volume alone; false: something is wrong besides its answer. */
static bool do_call(struct rig *rig, const struct call *call, int32_t *answer)
{
    nf2_t *fs = &rig->fs;
    nf2_file_t *file = &rig->file[call->handle % MODEL_HANDLES];
    nf2_dir_t *dir = &rig->dir[call->handle % MODEL_LISTS];
    uint32_t number = (uint32_t)call->number;
    struct nf2_statfs stat;

    *answer = NF2_OK;
    switch (call->op) {
    case OP_OPEN: *answer = nf2_open(fs, file, call->path, (int)call->number, rig->page[call->handle]); break;
    case OP_CLOSE: *answer = call->extra != 0 ? nf2_discard(fs, file) : nf2_close(fs, file); break;
    case OP_READ: return do_read(rig, call, answer);
    case OP_WRITE: *answer = do_write(rig, call); break;
    case OP_SEEK: *answer = nf2_seek(fs, file, (int32_t)call->number, (int)call->extra); break;
    case OP_TELL: *answer = nf2_tell(fs, file); break;
    case OP_SIZE: *answer = nf2_size(fs, file); break;
    case OP_TRUNCATE: *answer = nf2_truncate(fs, file, number); break;
    case OP_PREALLOCATE: *answer = nf2_preallocate(fs, file, number); break;
    case OP_SYNC: *answer = nf2_sync(fs, file); break;
    case OP_STAT: return do_stat(rig, call, answer);
    case OP_MKDIR: *answer = nf2_mkdir(fs, call->path); break;
    case OP_REMOVE: *answer = nf2_remove(fs, call->path); break;
    case OP_RENAME: *answer = nf2_rename(fs, call->path, call->path2); break;
    case OP_SAVE: *answer = do_save(rig, call); break;
    case OP_LOAD: return do_load(rig, call, answer);
    case OP_OPENDIR: *answer = nf2_opendir(fs, dir, call->path); break;
    case OP_READDIR: return do_readdir(rig, call, answer);
    case OP_REWINDDIR: *answer = nf2_rewinddir(fs, dir); break;
    case OP_CLOSEDIR: *answer = nf2_closedir(fs, dir); break;
    case OP_MAINTAIN: *answer = maintain(rig, number); break;
    case OP_STATFS: return check_statfs(rig, &stat);
    case OP_CHECK: return rig_check(rig);
    case OP_VERIFY: return rig_verify(rig);
    case OP_UNMOUNT: case OP_ABANDON: return do_unmount(rig, call, answer);
    default: return wrong(rig, "no such call");
    }
    return true;
}

/* Whether a NOSPC is fair: the content at worst, and what the call needs, do not fit. */
static bool judge_nospc(struct rig *rig, const struct expect *expect)
{
    uint64_t space = model_space(&rig->model);
    struct nf2_statfs stat;

    rig->nospc++;
    if (space + expect->need + rig->breaks * (uint64_t)rig->chip->block_size > rig->capacity) {
        return true;
    }
    memset(&stat, 0, sizeof stat);
    (void)nf2_statfs(&rig->fs, &stat);
    return wrong(rig, "false NOSPC: the content takes at most %llu of %llu bytes, the call at most %llu; nf2_statfs: free %lu, "
                 "available %lu of %lu blocks", (unsigned long long)space, (unsigned long long)rig->capacity,
                 (unsigned long long)expect->need, (unsigned long)stat.blocks_free, (unsigned long)stat.blocks_available,
                 (unsigned long)stat.blocks);
}

static bool judge(struct rig *rig, const struct expect *expect)
{
    char text[200];
    unsigned length = 0;

    if (expect_allows(expect, rig->answer)) {
        return rig->answer != NF2_ERR_NOSPC || expect->anything || !expect->nospc || judge_nospc(rig, expect);
    }
    text[0] = 0;
    for (unsigned i = 0; i < expect->error_count && length < sizeof text - 16; i++) {
        length += (unsigned)snprintf(text + length, sizeof text - length, " %d", expect->errors[i]);
    }
    if (expect->success) {
        return wrong(rig, "answered %d (%s), not %d%s%s", (int)rig->answer, rig->answer < 0 ? nf2_error_text((int)rig->answer) : "",
                     (int)expect->value, expect->error_count ? " or one of" : "", text);
    }
    return wrong(rig, "answered %d (%s), not one of%s", (int)rig->answer, rig->answer < 0 ? nf2_error_text((int)rig->answer) : "", text);
}

bool rig_emptying(const struct rig *rig)
{
    return rig->mounted && core_emptying(&rig->fs);
}

/* The driver failed in the call. RIG_OK: it was not needed, and the answer is judged as ever. */
static enum rig_result judge_failed(struct rig *rig, const struct call *call, bool right)
{
    bool mounts = call->op == OP_UNMOUNT || call->op == OP_ABANDON, looks = call->op == OP_CHECK || call->op == OP_VERIFY;

    if (rig->answer == NF2_ERR_IO || (looks && !right) || (mounts && !rig->mounted && rig->mount_answer == NF2_ERR_IO)) {
        return RIG_FAILED;
    }
    /* A change that was committed and could not be applied is tried again by any call: one that needs no driver itself answers as ever. */
    bool needs_none = looks || call->op == OP_SEEK || call->op == OP_TELL || call->op == OP_SIZE || call->op == OP_PREALLOCATE ||
                      rig->answer == NF2_ERR_BADF || rig->answer == NF2_ERR_BUSY;
    if (core_broken(&rig->fs) && right && needs_none) {
        return RIG_FAILED;
    }
    if (core_broken(&rig->fs)) {
        wrong(rig, "the driver failed for good, and the call answered %d", (int)rig->answer);
        return RIG_WRONG;
    }
    return right ? RIG_OK : RIG_WRONG;
}

enum rig_result rig_do(struct rig *rig, const struct call *call)
{
    if (rig->jump && setjmp(rig->at_cut)) {
        return RIG_CUT;
    }
    (void)do_call(rig, call, &rig->answer);
    return rig->off ? RIG_CUT : RIG_OK;
}

enum rig_result rig_call(struct rig *rig, const struct call *call)
{
    struct expect expect;
    bool right;

    model_expect(&rig->model, call, &expect);
    if (expect.skip) {
        rig->answer = NF2_OK;
        return RIG_OK;
    }
    rig->emptying += rig_emptying(rig);
    rig->failed_before = vflash_failed(rig->flash);
    if (rig->jump && setjmp(rig->at_cut)) {
        vflash_fail_at(rig->flash, 0);
        return RIG_CUT;
    }
    right = do_call(rig, call, &rig->answer);
    bool failed = has_failed(rig);
    vflash_fail_at(rig->flash, 0);
    if (rig->off || (rig->breaks && core_broken(&rig->fs))) {
        return RIG_CUT;
    }
    if (failed) {
        enum rig_result result = judge_failed(rig, call, right);

        if (result != RIG_OK) {
            return result;
        }
    }
    if (!right || !judge(rig, &expect)) {
        return RIG_WRONG;
    }
    if (rig->answer >= 0) {
        model_apply(&rig->model, call);
    } else {
        model_failed(&rig->model, call, (int)rig->answer);
    }
    return RIG_OK;
}
