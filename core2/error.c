/* SPDX-License-Identifier: BSD-2-Clause */
#include "core.h"

const char *nf2_error_text(int error)
{
    static const uint8_t errors[] = {
        -NF2_ERR_NOENT, -NF2_ERR_IO, -NF2_ERR_BADF, -NF2_ERR_BUSY, -NF2_ERR_EXIST, -NF2_ERR_NOTDIR,
        -NF2_ERR_ISDIR, -NF2_ERR_INVAL, -NF2_ERR_MFILE, -NF2_ERR_FBIG, -NF2_ERR_NOSPC, -NF2_ERR_ROFS,
        -NF2_ERR_NAMETOOLONG, -NF2_ERR_NOTEMPTY, -NF2_ERR_BLANK, -NF2_ERR_FOREIGN, -NF2_ERR_CORRUPT, -NF2_ERR_GEOMETRY,
        -NF2_ERR_VERSION,
    };
    static const char texts[] =
        "no such file or directory\0"
        "the flash failed, or data on it fail their check\0"
        "the handle is closed, or was not opened for this\0"
        "the file is open\0"
        "the name exists\0"
        "a part of the path is not a directory\0"
        "it is a directory\0"
        "invalid argument\0"
        "too many files are open for writing\0"
        "the file would become too large\0"
        "no space left\0"
        "mounted read-only\0"
        "the name is too long\0"
        "the directory is not empty\0"
        "the chip is blank: there is no volume\0"
        "the chip holds something else\0"
        "the volume is damaged\0"
        "the volume was made for another geometry, or the geometry cannot be used\0"
        "the volume has an unknown format version\0";
    const char *text = texts;

    if (error >= 0) {
        return "no error";
    }
    for (unsigned i = 0; i < sizeof errors; i++, text += strlen(text) + 1u) {
        if (errors[i] == (uint8_t)-error && error > -256) {
            return text;
        }
    }
    return "unknown error";
}
