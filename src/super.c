/* SPDX-License-Identifier: BSD-2-Clause */
#include "super.h"

#define ANCHOR_LEAST 24u        /* bytes of one in any version of the format */
#define FORMAT_REACHES 8u       /* blocks, that a format may write in front of its first anchor */

/* The words of an anchor, by their number: see format.h. */
enum { MAGIC = 0, VERSION, GEOMETRY, BLOCKS, VOLUME, SEQUENCE, WORDS };

#define EPOCH WORDS             /* behind them: of the anchor's slot */

/* Words to bytes of the format, and back. */
static void turn_words(uint32_t *words)
{
    const uint16_t one = 1;

    for (unsigned i = 0; i < WORDS && *(const uint8_t *)&one != 1; i++) {
        words[i] = nf2_get32((const uint8_t *)&words[i]);
    }
}

static NF2_APART void describe(const nf2_t *fs, uint32_t *words)
{
    words[MAGIC] = NF2_MAGIC;
    words[VERSION] = NF2_FORMAT_VERSION;
    words[GEOMETRY] = nf2_geometry(fs) | (fs->in_doubt ? NF2_ANCHOR_DOUBT : 0);
    words[BLOCKS] = (fs->blocks - 1) | (uint32_t)fs->root_head << 16;
    words[VOLUME] = fs->root.volume_id;
    words[SEQUENCE] = fs->root.anchor;
}

/*
 * Takes an anchor that is newer than what is known, also of another geometry: older ones are void,
 * which a format could not erase. Why the newest one does not do is kept in `*result`.
 */
static void consider(nf2_t *fs, uint32_t *words, uint32_t block, int *result)
{
    uint32_t own[WORDS];

    turn_words(words);
    describe(fs, own);
    if (*result != NF2_ERR_BLANK && words[SEQUENCE] <= own[SEQUENCE]) {
        return;
    }
    bool same = words[MAGIC] == own[MAGIC] && (words[BLOCKS] ^ own[BLOCKS]) << 16 == 0 &&
                (words[GEOMETRY] ^ own[GEOMETRY]) << 9 == 0;
    *result = words[VERSION] != own[VERSION] ? NF2_ERR_VERSION : NF2_OK;
    if (*result == NF2_OK &&
        (!same || !nf2_regions_begin(fs, words[GEOMETRY] >> 24 & 15u, words[GEOMETRY] >> 28))) {
        *result = NF2_ERR_GEOMETRY;
    }
    fs->root.anchor = words[SEQUENCE];
    fs->super_block = (uint8_t)block;
    fs->root.volume_id = words[VOLUME];
    fs->root_head = words[BLOCKS] >> 16;
    fs->root_end = (uint16_t)words[EPOCH];
    fs->in_doubt = (words[GEOMETRY] & NF2_ANCHOR_DOUBT) != 0;
}

static int scan_super(nf2_t *fs, uint32_t block, int *result)
{
    uint32_t words[WORDS + 1];
    struct nf2_record record;

    for (uint32_t at = 0; at < nf2_log_bytes(fs); at += NF2_SLOT_BYTES) {
        uint32_t rest = nf2_page_rest(at); /* 0: a page's start, from where it is read whole */
        const uint8_t *slot = nf2_peek(fs, block, at, rest == 0 ? NF2_LOG_PAGE : NF2_SLOT_BYTES);
        NF2_TRY(slot != NULL ? NF2_OK : NF2_ERR_IO);
        words[EPOCH] = nf2_get16(slot);
        if (words[EPOCH] == NF2_LOG_BLANK) {
            continue;
        }
        int found = nf2_record_at(fs, block, at + NF2_PAGE_HEAD, words[EPOCH], &record);
        if (found == NF2_PLACE_RECORD && record.type == NF2_SUPER_ANCHOR &&
            record.length >= ANCHOR_LEAST + NF2_RECORD_OVERHEAD) {
            found = nf2_record_read(fs, block, record.offset, 2, words, NF2_ANCHOR_BYTES);
            consider(fs, words, block, result);
        }
        NF2_TRY(found < NF2_PLACE_INVALID ? found : NF2_OK);
    }
    return NF2_OK;
}

static int scan_supers(nf2_t *fs)
{
    int result = NF2_ERR_BLANK;

    for (uint32_t block = 0; block < NF2_SUPER_BLOCKS; block++) {
        NF2_TRY(scan_super(fs, block, &result));
    }
    return result;
}

static NF2_APART bool is_blank(const uint8_t *bytes, uint32_t length)
{
    return bytes[0] == 0xFF && memcmp(bytes, bytes + 1, length - 1) == 0;
}

/* FOREIGN, if the first page is not blank, or that of a block which a cut format does not reach. */
static NF2_APART int look_for_content(nf2_t *fs)
{
    int result = NF2_ERR_BLANK;

    for (uint32_t block = 0; block < fs->blocks; block += block == 0 ? FORMAT_REACHES : 1) {
        const uint8_t *first = nf2_peek(fs, block, 0, NF2_LOG_PAGE);
        NF2_TRY(first != NULL ? NF2_OK : NF2_ERR_IO);
        if (!is_blank(first, NF2_LOG_PAGE)) {
            result = NF2_ERR_FOREIGN;
        }
    }
    return result;
}

/* Where no anchor is seen the chip may not be ready, or has lost them; and who calls may format. */
int nf2_super_find(nf2_t *fs)
{
    int result = scan_supers(fs);

    if (result == NF2_ERR_BLANK) {
        int content = look_for_content(fs);
        result = scan_supers(fs);
        result = result == NF2_ERR_BLANK ? content : result;
    }
    return result;
}

/*
 * The slot is looked at before it is programmed, since the last erase of its block may have failed,
 * and before it counts: its block may be worn, or a cut may have met the slot.
 */
static NF2_APART int append(nf2_t *fs, uint32_t block, uint32_t at)
{
    struct nf2_writer writer;
    struct nf2_record record;
    uint32_t words[WORDS];

    NF2_ASSERT(block < NF2_SUPER_BLOCKS && sizeof words == NF2_ANCHOR_BYTES);
    const uint8_t *slot = nf2_peek(fs, block, at, NF2_SLOT_BYTES);
    NF2_TRY(slot != NULL ? NF2_OK : NF2_ERR_IO);
    if (!is_blank(slot, NF2_SLOT_BYTES)) {
        return NF2_FAILED_BLOCK;
    }
    describe(fs, words);
    turn_words(words);
    nf2_writer_begin(&writer, block, at);
    nf2_put16(fs->write_buffer, fs->epoch);
    writer.position += NF2_PAGE_HEAD;
    nf2_writer_record(fs, &writer, NF2_SUPER_ANCHOR, words, sizeof words);
    NF2_TRY(nf2_writer_end(fs, &writer));
    int found = nf2_record_at(fs, block, at + NF2_PAGE_HEAD, fs->epoch, &record);
    return found == NF2_PLACE_RECORD ? NF2_OK :
           found < NF2_PLACE_INVALID ? found : NF2_FAILED_BLOCK;
}

/* The super blocks take anchors in turn. Returns the place of the one of a number in its block. */
static uint32_t place_of(const nf2_t *fs, uint32_t sequence)
{
    return sequence / NF2_SUPER_BLOCKS * NF2_SLOT_BYTES & (nf2_log_bytes(fs) - 1);
}

void nf2_super_reserve(nf2_t *fs)
{
    struct nf2_root *root = &fs->root;

    uint32_t next = root->anchor + (NF2_BROKEN(NF2_FAULT_ANCHOR) ? NF2_SUPER_BLOCKS : 1u);
    root->sequence = nf2_max(root->sequence, next);
}

bool nf2_super_erases(const nf2_t *fs)
{
    return fs->anchor_due || place_of(fs, fs->root.anchor + 1) == 0;
}

/*
 * Writes the anchor of a number. The place follows from that, which is on record before: so no
 * place is programmed that a cut may have torn. Where a cut may have met one unseen, and in a
 * format, the block is erased first; or the next slot is taken, where it has the last anchor, which
 * is never erased. A block that fails is not used again.
 */
static NF2_APART int write_in(nf2_t *fs, uint32_t sequence, bool due)
{
    uint32_t block = sequence % NF2_SUPER_BLOCKS, flag = NF2_BAD_SUPER(block);
    bool last = block == fs->super_block && !NF2_BROKEN(NF2_FAULT_ANCHOR);
    int result = NF2_FAILED_BLOCK;

    sequence += due && last ? NF2_SUPER_BLOCKS : 0;
    uint32_t at = place_of(fs, sequence);
    bool erase = at == 0 || (due && !last) || NF2_BROKEN(NF2_FAULT_ANCHOR);
    bool once = fs->anchor_due && fs->flash->program_unit > 1;
    if ((fs->bad_flags & flag) == 0 && !(last && (erase || once))) {
        fs->root.anchor = sequence;
        result = erase ? nf2_flash_erase(fs, block, 1) : NF2_OK;
        result = result == NF2_OK ? append(fs, block, at) : result;
        if (result == NF2_OK) {
            fs->super_block = (uint8_t)block;
            fs->anchor_due = false;
        } else if (!due) { /* a session's first CHECKPOINT stays what it was when a cut tore it */
            fs->bad_flags |= (uint8_t)flag;
        }
    }
    return result;
}

int nf2_super_write(nf2_t *fs)
{
    bool due = fs->anchor_due || !fs->mounted;
    uint32_t sequence = fs->root.sequence;
    int result = NF2_FAILED_BLOCK;

    for (unsigned i = NF2_SUPER_BLOCKS; i > 0 && result == NF2_FAILED_BLOCK; i--) {
        result = write_in(fs, sequence++, due);
    }
    if (result == NF2_FAILED_BLOCK) {
        fs->broken = fs->mounted; /* a format may do without the anchor that voids others */
        return NF2_ERR_IO;
    }
    return result;
}
