/* SPDX-License-Identifier: BSD-2-Clause */
/* host_trace.c - what a volume asks of its chip, written down: see host.h. */
#include <stdio.h>

#include "image.h"

nf2h_trace *nf2h_trace_start(nf2h_image *image, const char *path)
{
    FILE *file = image->flash ? fopen(path, "a") : NULL;
    if (!file)
        return NULL;
    (void)setvbuf(file, NULL, _IOLBF, BUFSIZ); /* others may follow it as it grows */
    vflash_trace(image->flash, file);
    return (nf2h_trace *)file;
}

int nf2h_trace_stop(nf2h_image *image, nf2h_trace *trace)
{
    vflash_trace(image->flash, NULL);
    return fclose((FILE *)trace) == 0 ? NF2_OK : NF2_ERR_IO;
}
