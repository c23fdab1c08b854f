/* SPDX-License-Identifier: BSD-2-Clause */
/* content.c - what files consist of, piece by piece: FORMAT.md, sections 5 and 6. */
#include "inside.h"

/* A piece of a file as an entry has it. */
struct piece {
    uint8_t kind;               /* NF2_PIECE_* */
    bool open;                  /* as long as its frames */
    uint32_t at, length;        /* in the file */
    uint32_t block, within;     /* of FRAMES: base */
};

/* A file that is being read. */
struct reading {
    struct repair *r;
    struct item *item;
    uint32_t id;                /* for findings: of its map, or of the directory */
    bool orphan;
};

/* ---- pieces as bytes ------------------------------------------------------------------------- */

static bool lies_inside(const struct repair *r, const struct piece *piece)
{
    uint64_t room = (uint64_t)(r->blocks - piece->block) * r->block_size;

    return piece->length <= NF2_FILE_MAX &&
           (piece->kind == NF2_PIECE_ZEROS ||
            (piece->block < r->blocks &&
             (piece->kind == NF2_PIECE_FRAMES ||
              (piece->within < r->block_size && piece->length > 0 &&
               piece->length <= room - piece->within))));
}

/* Its bytes; 0: none, or one that lies outside of the volume. */
static uint32_t load_piece(const struct repair *r, const uint8_t *p, uint32_t room,
                           struct piece *piece)
{
    static const uint8_t fronts[] = {6, 8, 1}; /* what is in front of the length, by kind */
    uint32_t kind = room > 0 ? (uint32_t)p[0] - NF2_PIECE_DATA : REP_NONE;

    if (kind >= sizeof fronts || room <= fronts[kind]) {
        return 0;
    }
    uint32_t at = fronts[kind], used;
    *piece = (struct piece){.kind = p[0]};
    used = rep_varint(p + at, room - at, &piece->length);
    if (piece->kind != NF2_PIECE_ZEROS) {
        piece->block = rep_get24(p + 1);
        piece->within = piece->kind == NF2_PIECE_DATA ? rep_get16(p + 4) : rep_get32(p + 4);
    }
    piece->open = piece->kind == NF2_PIECE_FRAMES && piece->length == 0;
    return used != 0 && lies_inside(r, piece) ? at + used : 0;
}

/* Where an entry's body goes on behind the rest of a long name. */
static uint32_t rest_of(const struct rep_entry *entry)
{
    return !rep_has_rest(&entry->key) ? 0 : entry->body_length > 0 ? 1u + entry->body[0] : 1;
}

/* An entry's body behind the rest of a long name, and behind fields; NULL: no entry of a name. */
static const uint8_t *body_of(const struct rep_entry *entry, uint32_t *length)
{
    uint32_t rest = rest_of(entry);

    while (rest + 1 < entry->body_length && entry->body[rest] == NF2_BODY_FIELDS) {
        rest += 2u + entry->body[rest + 1];
    }
    *length = rest < entry->body_length ? entry->body_length - rest : 0;
    return *length > 0 ? entry->body + rest : NULL;
}

void rep_fields_read(const struct rep_entry *entry, struct item *item)
{
    uint32_t length;

    if (body_of(entry, &length) != NULL) {
        item->fields = entry->body + rest_of(entry);
        item->fields_length = entry->body_length - length - rest_of(entry);
    }
}

uint32_t rep_name_id(const struct rep_entry *entry, uint8_t *kind)
{
    uint32_t length;
    bool name = entry->key.id != NF2_SYSTEM_ID && !rep_is_piece(entry);
    const uint8_t *body = name ? body_of(entry, &length) : NULL;

    *kind = body != NULL && body[0] <= NF2_BODY_MAP ? body[0] : 0;
    bool has = *kind == NF2_BODY_DIR || *kind == NF2_BODY_MAP;
    uint32_t id = has && length >= 5 ? rep_get32(body + 1) : 0;
    *kind = has && id == 0 ? 0 : *kind;
    return id;
}

bool rep_is_piece(const struct rep_entry *entry)
{
    return entry->key.length == 4 && entry->key.id >= NF2_FIRST_ID && entry->body_length > 0 &&
           entry->body[0] >= NF2_PIECE_DATA && entry->body[0] <= NF2_PIECE_ZEROS;
}

bool rep_is_orphan(const struct repair *r, uint32_t id)
{
    const struct rep_key key = {NF2_SYSTEM_ID, 5, {NF2_KEY_ORPHAN, (uint8_t)(id >> 24),
                                (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id}};

    return rep_entry_there(r, &key);
}

/* ---- pieces of a file ------------------------------------------------------------------------ */

static void add(struct reading *f, uint32_t length, const uint8_t *data, bool lost)
{
    struct item *item = f->item;
    size_t count = item->parts.count;

    if (length > 0 && lost && count > 0 && item->parts.list[count - 1].lost) {
        item->parts.list[count - 1].length += length;
    } else if (length > 0) {
        REP_ADD(f->r, &item->parts, (struct rep_part){item->out.size, length, data, lost});
    }
    item->out.size += length;
    item->out.lost += lost ? length : 0;
}

static bool is_frame(const struct rep_record *record)
{
    return record->type == NF2_FRAME && record->length >= 2;
}

static bool is_head(const struct repair *r, const struct rep_record *record)
{
    return record->type == NF2_FRAMES_HEAD && record->length == NF2_FRAMES_HEAD_BYTES &&
           record->payload[0] == 'F' && rep_get32(record->payload + 5) == r->volume_id;
}

/*
 * Where a block's frames are damaged, 0: nowhere. The first record is their head; each frame begins
 * where the one before ends.
 */
static uint32_t frames_damage(const struct repair *r, const struct rep_log *log)
{
    uint32_t end = 0;

    for (size_t i = 0; i < log->whole && log->damage == 0; i++) {
        const struct rep_record *record = &log->records.list[i];
        if (i == 0 && is_head(r, record)) {
            continue;
        }
        if (i == 0 || !is_frame(record) || rep_get16(record->payload) != end) {
            return record->at;
        }
        end += record->length - 2u;
    }
    return log->damage;
}

/* A block's frames; where they are damaged, also those behind that. */
static const struct rep_log *read_frames(struct reading *f, uint32_t block)
{
    struct repair *r = f->r;
    bool clean = r->state.clean;

    /* a failed write ends a block's use */
    r->state.clean = clean && !rep_on_record(r, block, REP_BAD);
    const struct rep_log *log = rep_log_read(r, block, false);
    uint32_t damage = frames_damage(r, log);
    if (damage == 0 && log->whole == 0) {
        rep_find(r, REPAIR_FRAMES, block, 0, 0, f->id, "There is no valid frame in this block.");
    } else {
        rep_log_report(r, log, REPAIR_FRAMES, f->id, damage);
    }
    log = damage != 0 ? rep_log_read(r, block, true) : log;
    r->state.clean = clean;
    f->item->out.lost_end = f->item->out.lost_end || damage != 0 || log->whole == 0;
    return log;
}

/* Of the bytes of a file from `start` to `stop` those that are next, below `end`. */
static void add_shown(struct reading *f, uint64_t start, uint64_t stop, uint64_t end,
                      const uint8_t *data)
{
    uint32_t at = f->item->out.size;

    stop = stop < end ? stop : end;
    if (start <= at && at < stop) {
        add(f, (uint32_t)(stop - at), data != NULL ? data + (at - start) : NULL, data == NULL);
    }
}

/* What a piece shows of the frames of a block; what is missing between them is lost. */
static void add_frames(struct reading *f, const struct piece *piece)
{
    const struct rep_log *log = read_frames(f, piece->block);
    uint64_t end = piece->open ? NF2_FILE_MAX : (uint64_t)piece->at + piece->length,
             last = piece->within;

    for (size_t i = 0; i < log->whole; i++) {
        const struct rep_record *record = &log->records.list[i];
        uint32_t place = is_frame(record) ? rep_get16(record->payload) : REP_NONE;
        uint64_t start = (uint64_t)piece->within + place;
        if (place <= f->r->log_bytes && start >= last) {
            add_shown(f, last, start, end, NULL);
            last = start + record->length - 2u;
            add_shown(f, start, last, end, record->payload + 2);
        }
    }
    if (!piece->open && f->item->out.size < end) {
        rep_find(f->r, REPAIR_FRAMES, piece->block, 0, f->item->out.size, f->id,
                 "The frames of this block end before the file's data do.");
        add(f, (uint32_t)(end - f->item->out.size), NULL, true);
    }
}

/* Copies are no part of the volume: what they show is not theirs. */
static void add_extent(struct reading *f, const struct rep_entry *entry, const struct piece *piece)
{
    bool frames = piece->kind == NF2_PIECE_FRAMES;
    uint64_t start = (uint64_t)piece->block * f->r->block_size + (frames ? 0 : piece->within),
             end = start + (frames ? f->r->block_size : piece->length);

    if (piece->kind != NF2_PIECE_ZEROS && entry->trust < REPAIR_COPY) {
        REP_ADD(f->r, &f->r->extents,
                (struct rep_extent){start, end, entry, piece->within, frames, f->orphan});
    }
}

/*
 * What lies between the pieces of a map is lost; an orphan may have holes. False: the file is too
 * long, and nothing behind the piece is looked at.
 */
static bool add_piece(struct reading *f, const struct rep_entry *entry, const struct piece *piece)
{
    uint32_t size = f->item->out.size;

    if (piece->at > NF2_FILE_MAX || piece->length > NF2_FILE_MAX - piece->at) {
        rep_find(f->r, REPAIR_HOLE, entry->block, entry->at, 0, f->id,
                 "A file is longer than a file can be.");
        return false;
    }
    if (piece->at > size) {
        if (!f->orphan) {
            rep_find(f->r, REPAIR_HOLE, entry->block, entry->at, size, f->id,
                     "A file has a hole in front of this piece.");
        }
        add(f, piece->at - size, NULL, true);
    }
    add_extent(f, entry, piece);
    if (piece->kind == NF2_PIECE_FRAMES) {
        add_frames(f, piece);
    } else if (piece->kind == NF2_PIECE_DATA) {
        add(f, piece->length, rep_at(f->r, piece->block, piece->within), false);
        f->item->out.unchecked += piece->length;
    } else {
        add(f, piece->length, NULL, false);
    }
    return true;
}

static void read_list(struct reading *f, const struct rep_entry *entry, const uint8_t *p,
                      uint32_t room)
{
    struct piece piece;
    unsigned count = 0;

    for (uint32_t used; room > 0 && (used = load_piece(f->r, p, room, &piece)) != 0; count++) {
        piece.at = f->item->out.size;
        if (!add_piece(f, entry, &piece) || (piece.open && room > used)) {
            break;
        }
        p += used;
        room -= used;
    }
    if (room > 0 || count == 0 || count > NF2_LIST_MAX) {
        rep_find(f->r, REPAIR_PIECE, entry->block, entry->at, count, f->id,
                 "A list of a file's pieces has a piece that is none, or a wrong number of them.");
        f->item->out.lost_end = f->item->out.lost_end || room > 0;
    }
}

/* Where the piece behind an entry begins; REP_NONE: there is none. */
static uint32_t next_piece(const struct repair *r, size_t i)
{
    const struct rep_entry *entry = &r->entries.list[i], *end = &r->entries.list[r->entries.count];
    uint32_t id = entry->key.id;

    do { /* other keys are no offsets of a map */
        entry++;
    } while (entry < end && entry->key.id == id && entry->key.length != 4);
    return entry < end && entry->key.id == id ? rep_key_value(&entry->key) : REP_NONE;
}

/* One entry of a map: its piece ends where the next one begins. False: as of add_piece. */
static bool read_entry(struct reading *f, size_t i)
{
    const struct rep_entry *entry = &f->r->entries.list[i];
    uint32_t next = next_piece(f->r, i);
    struct piece piece;

    f->item->trust = (uint8_t)rep_max(f->item->trust, entry->trust);
    if (!rep_is_piece(entry) || load_piece(f->r, entry->body, entry->body_length, &piece) == 0) {
        rep_find(f->r, REPAIR_PIECE, entry->block, entry->at, 0, f->id,
                 "An entry of a file's map is no piece, or lies outside of the volume.");
        f->item->out.lost_end = f->item->out.lost_end || next == REP_NONE;
        return true;
    }
    piece.at = rep_key_value(&entry->key);
    if (next != REP_NONE) {
        piece.length = rep_min(piece.open ? REP_NONE : piece.length, next - piece.at);
        piece.open = false;
    }
    return add_piece(f, entry, &piece);
}

static void read_map(struct reading *f, uint32_t id)
{
    struct repair *r = f->r;
    const struct rep_key any = {id, 0, {0}}, first = {id, 4, {0}},
                         last = {id, 4, {255, 255, 255, 255}};

    f->orphan = rep_is_orphan(r, id);
    f->item->out.lost_end = rep_ranges_touch(&r->lost_leaves, &first, &last);
    if (rep_ranges_touch(&r->lost, &first, &last)) {
        f->item->trust = (uint8_t)rep_max(f->item->trust, REPAIR_UNSURE);
    }
    size_t i = rep_entry_at(r, &any);
    if ((i == r->entries.count || r->entries.list[i].key.id != id) && !r->summary.complete) {
        f->item->out.lost_end = true; /* a file without a piece has no map, as a rule */
    }
    while (i < r->entries.count && r->entries.list[i].key.id == id && read_entry(f, i)) {
        i++;
    }
}

void rep_content_read(struct repair *r, const struct rep_entry *entry, struct item *item)
{
    struct reading f = {.r = r, .item = item, .id = item->id != 0 ? item->id : entry->key.id};
    uint32_t length = 0;
    const uint8_t *body = item->id == 0 ? body_of(entry, &length) : NULL;

    if (body == NULL) {
        read_map(&f, item->id);
    } else if (body[0] == NF2_BODY_INLINE) {
        add(&f, length - 1, body + 1, false);
    } else {
        read_list(&f, entry, body + 1, length - 1);
    }
}
