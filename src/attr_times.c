/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attr_times.c - times of modification: another table of what calls need of writing. So whoever
 * keeps no times links nothing of it.
 */
#include "attr_set.h"
#include "data.h"
#include "lock.h"
#include "writing.h"

static int commit_timed(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_given given = {.list = NULL, .count = 0};

    return nf2_attr_commit(fs, file, &given);
}

/* A handle is closed: the time of syncs that did not touch the entry. Nobody is told of errors. */
static void end_timed(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_given given = {.list = NULL, .count = 0};
    bool due = (file->flags & (NF2_TIME_DUE | NF2_O_SYNC)) != 0;

    if (due && !file->failed && !fs->broken && file->kind != 0) {
        nf2_given_time(fs, &given);
        (void)nf2_attr_put(fs, &file->key, &given);
    }
    nf2_file_end(fs, file);
}

static const struct nf2_writing with_times = {
    .begin = nf2_file_begin,
    .commit = commit_timed,
    .end = end_timed,
    .find = nf2_data_find,
    .leave = nf2_volume_leave,
};

static int keep_times(nf2_t *fs)
{
    if (fs->writing == NULL) {
        return NF2_ERR_ROFS;
    }
    NF2_TRY(fs->config->time_s != NULL ? NF2_OK : NF2_ERR_INVAL);
    fs->writing = &with_times;
    return NF2_OK;
}

int nf2_keep_times(nf2_t *fs)
{
    NF2_LOCKED(fs, keep_times(fs));
}
