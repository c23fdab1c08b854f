/* SPDX-License-Identifier: BSD-2-Clause */
/* renew.c - REGION pages of the meta log's oldest block are written anew one by one, while the head fills: a turn finds fewer of them to write. */
#include "flash.h"
#include "region.h"

/* The first region from fs->renew_from on that has a REGION page in the oldest block, which goes next; NF2_NONE if there is none. */
static int find_oldest(nf2_t *fs, uint32_t *number)
{
    struct nf2_scan scan;
    struct nf2_record record;
    uint8_t payload[2];
    int found;

    *number = NF2_NONE;
    nf2_scan_begin(&scan, fs->meta_tail);
    scan.gaps = true;
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        if (record.type == NF2_META_REGION) {
            NF2_TRY(nf2_record_read(fs, fs->meta_tail, record.offset, 2, payload, sizeof payload));
            uint32_t region = nf2_get16(payload);
            *number = region >= fs->renew_from ? nf2_min(*number, region) : *number;
        }
    }
    return found;
}

int nf2_meta_renew(nf2_t *fs)
{
    uint32_t page = fs->meta_end / nf2_page(fs), number, end;
    struct nf2_region region;

    if (fs->renew_from >= nf2_regions(fs) || page == fs->renew_page || nf2_meta_window(fs) < nf2_meta_limit(fs) ||
        nf2_log_place(fs, fs->meta_end, NF2_REGION_PAYLOAD + NF2_RECORD_OVERHEAD, nf2_log_bytes(fs), &end) >= nf2_log_bytes(fs)) {
        return NF2_OK;
    }
    fs->renew_page = (uint8_t)page;
    NF2_TRY(find_oldest(fs, &number));
    fs->renew_from = (uint16_t)nf2_min(number, UINT16_MAX - 1u);
    if (number < nf2_regions(fs)) {
        fs->renew_from++;
        NF2_TRY(nf2_region_read(fs, number, &region));
        if (region.block == fs->meta_tail) {
            end = fs->meta_end;
            int result = nf2_meta_write_region(fs, &region, fs->meta_head, &end);
            if (result < 0) {
                return nf2_meta_head_bad(fs, result) ? NF2_OK : result;
            }
            fs->meta_end = (uint16_t)end;
        }
    }
    return NF2_OK;
}
