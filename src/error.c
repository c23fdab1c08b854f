/* SPDX-License-Identifier: BSD-2-Clause */
#include "core.h"

const char *nf2_error_text(int error)
{
    static const struct {
        int error;
        const char *text;
    } table[] = {
        {NF2_ERR_NOENT, "no such file or directory"},
        {NF2_ERR_IO, "the flash failed, or data on it fail their check"},
        {NF2_ERR_BADF, "the handle is closed, or was not opened for this"},
        {NF2_ERR_BUSY, "the file is open"},
        {NF2_ERR_EXIST, "the name exists"},
        {NF2_ERR_NOTDIR, "a part of the path is not a directory"},
        {NF2_ERR_ISDIR, "it is a directory"},
        {NF2_ERR_INVAL, "invalid argument"},
        {NF2_ERR_MFILE, "too many files are open for writing"},
        {NF2_ERR_FBIG, "the file would become too large"},
        {NF2_ERR_NOSPC, "no space left"},
        {NF2_ERR_ROFS, "mounted read-only"},
        {NF2_ERR_NAMETOOLONG, "the name is too long"},
        {NF2_ERR_NOTEMPTY, "the directory is not empty"},
        {NF2_ERR_BLANK, "the chip is blank: there is no volume"},
        {NF2_ERR_FOREIGN, "the chip holds something else"},
        {NF2_ERR_CORRUPT, "the volume is damaged"},
        {NF2_ERR_GEOMETRY, "the volume was made for another geometry, or the geometry cannot be used"},
        {NF2_ERR_VERSION, "the volume has an unknown format version"},
    };

    if (error >= 0) {
        return "no error";
    }
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].error == error) {
            return table[i].text;
        }
    }
    return "unknown error";
}
