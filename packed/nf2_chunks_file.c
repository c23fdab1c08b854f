/* SPDX-License-Identifier: BSD-2-Clause */
/* Compressed files on an ordinary volume. */
#include "nf2_chunks.h"

static int read_file(nf2_chunks_t *chunks, uint32_t offset, void *data, uint32_t length)
{
    int32_t result = nf2_seek(chunks->volume, chunks->file, (int32_t)offset, NF2_SEEK_SET);
    if (result < 0) {
        return result;
    }
    result = nf2_read(chunks->volume, chunks->file, data, length);
    return result < 0 ? result : (uint32_t)result == length ? NF2_OK : NF2_ERR_IO;
}

int nf2_chunks_open_file(nf2_chunks_t *chunks, const struct nf2_chunks_config *config, nf2_t *fs,
                         nf2_file_t *file)
{
    const int32_t size = nf2_size(fs, file);
    if (size < 0) {
        return size;
    }
    const int result = nf2_chunks_open(chunks, config, read_file, fs, file, (uint32_t)size);
    if (result == 0) {          /* an ordinary file is then read from its beginning */
        const int32_t position = nf2_seek(fs, file, 0, NF2_SEEK_SET);
        return position < 0 ? position : 0;
    }
    return result;
}
