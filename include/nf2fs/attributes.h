/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2fs/attributes.h - attributes of files and directories: small values beside the content. Part
 * of nf2fs.h, which includes it. A program that makes none of these calls links nothing of them.
 *
 * An attribute is an id and 0 to NF2_ATTR_ROOM - 2 bytes. All attributes of one name share
 * NF2_ATTR_ROOM bytes, in which each takes two more than its value. They lie in the entry of the
 * name: a rename takes them along, a removal removes them, and a file that replaces another one by
 * a rename keeps its own. The root has none.
 */
#ifndef NF2FS_ATTRIBUTES_H
#define NF2FS_ATTRIBUTES_H

#define NF2_ATTR_ROOM 255u

/* Ids. Others are reserved: to set one of them is INVAL. */
enum nf2_attr_id {
    NF2_ATTR_MODE = 0x01,       /* the mode of POSIX u16; then, or not, owner u16 and group u16;
                                   little endian. The library does not look at it */
    NF2_ATTR_TIME = 0x10,       /* of modification: seconds since 1970-01-01 UTC, 5 bytes, little
                                   endian. Void when the content was changed since by a program that
                                   keeps no times, as far as that is seen: see nf2_keep_times */
    NF2_ATTR_USER = 0x20,       /* from here on 32 ids are for applications: 0x20 to 0x3F */
    NF2_ATTR_USER_LAST = 0x3F,
    NF2_ATTR_CHECKSUM = 0x51    /* reserved: no call sets it yet */
};

/* An attribute that is to be set; `data` NULL: it is to be removed, if it is there. */
struct nf2_attr {
    uint8_t id;
    uint8_t length;             /* bytes at `data` */
    const void *data;
};

/*
 * Copies the value of an attribute, at most `room` bytes of it, to `data`, and returns its length,
 * which may be more than `room`. Works in a volume that is mounted for reading only, and links none
 * of the code for writing.
 * Errors: NOENT (there is no such file, or it has no such attribute: nf2_stat tells which); INVAL
 * (the root; `data` NULL and `room` not 0); VERSION.
 */
int32_t nf2_getattr(nf2_t *fs, const char *path, uint8_t id, void *data, uint32_t room);

/*
 * Puts the ids of all attributes into `ids`, at most `room` of them, in descending order, and
 * returns how many there are. Errors: INVAL (the root), VERSION.
 */
int nf2_listattr(nf2_t *fs, const char *path, uint8_t *ids, uint32_t room);

/*
 * Sets or removes `count` attributes of a file or directory, all of them with one change: durable
 * when it returns NF2_OK, all or nothing when it is cut; one program as a rule. The other
 * attributes and the content stay as they are. Values that are there already program nothing. Open
 * readers notice nothing.
 * A file that has attributes, and that a handle writes, has its content outside of its entry from
 * then on, also if it is small: so each sync takes one program more, and the content no longer has
 * a checksum. nf2_save_attr, and handles under nf2_keep_times, leave it in the entry.
 * Errors: NOENT; NOSPC; FBIG (they do not fit into NF2_ATTR_ROOM); BUSY (a handle writes the file:
 * see nf2_sync_attr); INVAL (the root; an id that is not for setting, or given twice; `data` NULL
 * with a length); VERSION (a newer library left what this one cannot keep). After any of them
 * nothing has changed.
 */
int nf2_setattr(nf2_t *fs, const char *path, const struct nf2_attr *attributes, uint32_t count);

/*
 * nf2_save, and sets attributes with the same call. Content of a short name that fits into its
 * entry beside all attributes goes there with them in one program as a rule, all or nothing: the
 * name has at most 23 bytes, and content and attributes, with two more bytes for each of these,
 * take at most NF2_ATTR_INLINE. Other content comes first, and then the attributes: a cut in
 * between leaves the new content with the attributes of before, of which NF2_ATTR_TIME is void.
 * Where content and attributes are what is there, nothing is programmed.
 * Errors: those of nf2_save and nf2_setattr. After FBIG and INVAL nothing has changed; after a
 * NOSPC the content may be the new one, without the attributes.
 */
int nf2_save_attr(nf2_t *fs, const char *path, const void *data, uint32_t length,
                  const struct nf2_attr *attributes, uint32_t count);
#define NF2_ATTR_INLINE 213u

/*
 * nf2_sync of a handle that writes, and sets attributes of its file: with one change, as in
 * nf2_save_attr, where all of the content is in the handle's buffer and fits. Else content first.
 * Errors: those of nf2_sync and nf2_setattr.
 */
int nf2_sync_attr(nf2_t *fs, nf2_file_t *file, const struct nf2_attr *attributes, uint32_t count);

/*
 * From now on until nf2_unmount the time of modification of files is kept, by `time_s` of the
 * configuration. It is set
 *   - by nf2_sync, nf2_close, nf2_save and nf2_save_attr that made new content durable: in the same
 *     program where the content fits into the entry (see nf2_save_attr), else by one more change
 *     behind it. Attributes that are given there go before it.
 *   - Where a sync appended or overwrote a part of a file of some blocks, and so did not touch its
 *     entry, the time is set when the handle is closed, and only then: one program for all syncs.
 *     nf2_discard sets it, too. A handle with NF2_O_SYNC sets it when it is closed, in any case.
 * A cut before that leaves the time of before: that of a content which is older. A close that finds
 * no room for the time leaves it, and succeeds. Where `time_s` returns 0, or more than 40 bits, the
 * time is not known and not set. Directories have no time, but by nf2_setattr.
 * Errors: INVAL (`time_s` is NULL), ROFS.
 */
int nf2_keep_times(nf2_t *fs);

#endif
