/* SPDX-License-Identifier: BSD-2-Clause */
#include "bad.h"

int nf2_bad_record(nf2_t *fs)
{
    while (fs->bads >= NF2_BAD_MAX / 2 && nf2_space_stock(fs) >= nf2_space_kept(fs)) {
        struct nf2_op op;
        fs->bad_flags |= NF2_BAD_KEYS;
        NF2_TRY(nf2_journal_checkpoint(fs)); /* else it would be free there, after a cut */
        uint32_t block = fs->root.bad[0];
        nf2_op_put_system(&op, NF2_KEY_BAD, block);
        NF2_TRY(nf2_change_one(fs, &op));
        nf2_space_bad_done(fs, block);
    }
    return NF2_OK;
}

int nf2_system_next(nf2_t *fs, uint8_t kind, uint32_t from, uint32_t *number)
{
    struct nf2_entry entry;
    struct nf2_key key;

    nf2_key_make(&key, NF2_SYSTEM_ID, kind, from);
    int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);
    NF2_TRY(found);
    if (found == 0 || entry.key.id != NF2_SYSTEM_ID || entry.key.bytes[0] != kind) {
        return 0;
    }
    *number = nf2_key_value(&entry.key);
    /* one out of order would be found again, for ever */
    return *number < from ? NF2_ERR_IO : 1;
}

int nf2_bad_count(nf2_t *fs, uint32_t *count)
{
    uint32_t block = 0;
    int found = (int)(fs->bad_flags & NF2_BAD_KEYS);

    *count = fs->bads;
    for (; found > 0 && (found = nf2_system_next(fs, NF2_KEY_BAD, block, &block)) > 0; block++) {
        *count += !nf2_space_bad_listed(fs, block);
    }
    return found;
}
