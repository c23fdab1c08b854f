/* SPDX-License-Identifier: BSD-2-Clause */
/* Compressed files of an image. */
#include "nf2_packed.h"

#include <stddef.h>

static int read_entry(nf2_chunks_t *chunks, uint32_t offset, void *data, uint32_t length)
{
    const int32_t result = nf2_packed_read(chunks->volume, chunks->file, offset, data, length);
    return result < 0 ? result : (uint32_t)result == length ? NF2_OK : NF2_ERR_IO;
}

int nf2_packed_open_chunks(nf2_packed_t *image, struct nf2_packed_entry *entry,
                           nf2_chunks_t *chunks, const struct nf2_chunks_config *config)
{
    if (image == NULL || entry == NULL) {
        return NF2_ERR_INVAL;
    }
    if (entry->type == NF2_TYPE_DIR) {
        return NF2_ERR_ISDIR;
    }
    if (entry->codec == NF2_CODEC_NONE) {
        return 0;
    }
    const int result = nf2_chunks_open(chunks, config, read_entry, image, entry, entry->stored);
    return result == 0 || (result == 1 && chunks->size != entry->size) ? NF2_ERR_IO : result;
}
