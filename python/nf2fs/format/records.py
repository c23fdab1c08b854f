# SPDX-License-Identifier: BSD-2-Clause
"""What the records of a volume's logs say: docs/FORMAT.md, sections 2 to 5."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from .. import log_records
from ..log_records import (
    Cursor, Key, Readers, Said, blocks_text, inline_text, quoted, split_key,
)  # fmt: skip
from ..logs import Entry, u16, u24, u32, varint

ANCHOR, HEAD, CHECKPOINT = 1, 1, 2
SUPER, ROOT, NODE, FRAMES = "super", "root", "node", "frames"
NAME_KEY, NAME_PART = 24, 20  # bytes of the key of a long name; of these the name's first ones
RESTS = (NAME_KEY, NAME_KEY + 4)  # with keys of so many bytes the rest of a name is in front
OPERATIONS = ("PUT", "DEL", "RANGE")
FIELDS_BODY, CHILD_BODY = 5, 12
KEEP = 0x80  # of the level of a node: for snapshots
WEAR_REGIONS = 32
FRAME = 6  # the type of a record in a block of frames: place 2, data


# ---- pieces of files ----


@dataclass(frozen=True)
class Piece:
    kind: str  # "DATA", "FRAMES", "ZEROS"
    length: int  # 0: open, as far as the frames go
    block: int | None = None
    place: int = 0  # of DATA: byte in the block; of FRAMES: offset in the file of its first byte

    @property
    def text(self) -> str:
        length = f"{self.length} bytes" if self.length else "to their end"
        if self.kind == "ZEROS":
            return f"{length} of zeros"
        if self.kind == "FRAMES":
            return f"frames in block {self.block}, which begins at {self.place}, {length}"
        return f"{length} in block {self.block} from byte {self.place} on"


def take_piece(data: bytes, at: int) -> tuple[Piece, int]:
    """A piece, and the place behind it."""
    kind, least = {8: ("DATA", 5), 9: ("FRAMES", 7), 10: ("ZEROS", 0)}[data[at]]
    length, end = varint(data, at + 1 + least)
    if kind == "ZEROS":
        return Piece(kind, length), end
    place = u32(data, at + 4) if kind == "FRAMES" else u16(data, at + 4)
    return Piece(kind, length, u24(data, at + 1), place), end


def pieces(data: bytes) -> list[Piece]:
    found, at = [], 0
    while at < len(data):
        piece, at = take_piece(data, at)
        found.append(piece)
    return found


# ---- entries ----


@dataclass(frozen=True)
class Body:
    """Of an entry: what it is, what it says, and the pieces of a file in it."""

    kind: str
    text: str = ""
    pieces: tuple[Piece, ...] = ()
    rest: bytes = b""  # of a long name
    fields: tuple[tuple[int, bytes], ...] = ()  # tags and bytes; of an older content behind (5, b"")
    counts: tuple[int, ...] = ()  # of WEAR: erases of each region as a whole


def take_body(key: Key, data: bytes) -> Body:
    if key.id == 0 and key.bytes[:1] == b"W" and len(data) == 1 + 3 * WEAR_REGIONS:
        counts = tuple(u24(data, at) for at in range(1, len(data), 3))
        text = f"{1 << (data[0] & 15)} blocks each, erased {min(counts)} to {max(counts)} times"
        return Body("WEAR", text, counts=counts)
    if key.id == 0 and key.bytes and data[:1] != bytes([CHILD_BODY]):
        return Body("NONE")
    rest = b""
    if len(key.bytes) in RESTS and data[0] != CHILD_BODY:
        rest, data = data[1 : 1 + data[0]], data[1 + data[0] :]
    if key.id and data[0] == FIELDS_BODY:
        return behind_fields(key, data, rest)
    kind = data[0]
    if kind == 1:
        return Body("DIR", f"directory {number(data)}", rest=rest)
    if kind == 2:
        return Body("INLINE", inline_text(data[1:]), rest=rest)
    if kind == 3:
        found = tuple(pieces(data[1:]))
        return Body("LIST", "a file: " + "; ".join(one.text for one in found), found, rest)
    if kind == 4:
        return Body("MAP", f"file {number(data)}", rest=rest)
    if kind == CHILD_BODY:
        end = Cursor(data, 4).take(2)
        return Body("CHILD", f"node in block {u24(data, 1)}, sorted up to byte {end}")
    piece, _ = take_piece(data, 0)
    return Body(piece.kind, piece.text, (piece,))


def take_fields(data: bytes) -> list[tuple[int, bytes]]:
    """Tags and bytes."""
    fields, at = [], 0
    while at < len(data):
        fields.append((data[at], data[at + 2 : at + 2 + data[at + 1]]))
        at += 2 + data[at + 1]
    if at > len(data):
        raise IndexError
    return fields


def behind_fields(key: Key, data: bytes, rest: bytes) -> Body:
    """The content that fields stand in front of."""
    length = 2 + data[1]
    if length >= len(data):
        raise IndexError
    fields = take_fields(data[2:length])
    body = take_body(Key(key.id, b""), data[length:])  # the rest of a long name is not there
    tags = ", ".join(f"{tag:#04x}" for tag, _ in fields) or "none since the content changed"
    return replace(
        body,
        text=f"{body.text}; fields {tags}",
        rest=rest,
        fields=(*(fields or [(FIELDS_BODY, b"")]), *body.fields),
    )


def number(data: bytes) -> int:
    return Cursor(data, 1).take(4)


def key_text(key: Key, body: Body | None = None) -> str:
    """A name in a directory, a place in a file, or what the system keeps."""
    value = int.from_bytes(key.bytes[-4:], "big")
    if key.id == 0 and key.bytes:
        if key.bytes[:1] == b"W":
            return f"wear of regions {value} to {value + WEAR_REGIONS - 1}"
        word = {b"B": "bad block", b"O": "orphan: file"}[key.bytes[:1]]
        return f"{word} {value}"
    if body is not None and body.kind in ("DATA", "FRAMES", "ZEROS"):
        return f"file {key.id} at {value}"
    if not key.bytes:
        return f"id {key.id}"
    name = key.bytes
    if len(name) == NAME_KEY:
        name = name[:NAME_PART] + (b"..." if body is None else body.rest)
    return f"{quoted(name)} in directory {key.id}"


def entry_said(name: str, key: Key, data: bytes, behind: str = "", **fields) -> Said:
    body = take_body(key, data)
    facts = {"key": key.as_json(), "body": body.kind, "body_bytes": data.hex()} | fields
    if body.counts:
        facts["counts"] = list(body.counts)
    if body.fields:
        facts["fields"] = [[tag, data.hex()] for tag, data in body.fields]
    return Said(name, ": ".join(filter(None, (key_text(key, body), body.text))) + behind, facts)


# ---- super blocks and root log ----


ANCHOR_FIELDS = ("magic", "format", "geometry", "blocks", "head", "volume", "sequence")


def _anchor(data: bytes) -> Said:
    fields = dict(zip(ANCHOR_FIELDS, struct.unpack_from("<IIIHHII", data)))
    fields["blocks"] += 1
    text = (
        f"number {fields['sequence']} of volume {fields['volume']:08x}, format {fields['format']}: "
        f"{fields['blocks']} blocks; the root log is in block {fields['head']}"
    )
    return Said("ANCHOR", text, fields)


CHECKPOINT_BYTES = 120
# Fields in their order; several numbers of one size are a list.
STATE_FIELDS = (
    ("volume", 4, 1), ("id_limit", 4, 1), ("next", 2, 1), ("root", 2, 1), ("base_end", 2, 1),
    ("group_place", 2, 1), ("unclean_mounts", 2, 1), ("bad", 2, 4), ("level", 1, 1), ("flags", 1, 1),
    ("serial", 4, 1), ("erases", 4, 1), ("regions", 1, 64), ("nodes", 1, 4), ("data", 1, 4), ("moves", 1, 4),
    ("taken", 1, 5), ("geometry", 1, 1), ("sequence", 2, 1),
)  # fmt: skip
FLAGS = (
    "clean", "next suspect", "leaky", "bad keys",
    "super block 0 failed", "super block 1 failed", "super block 2 failed",
)  # fmt: skip
REGION_STATES = "uvfe"  # in use, victim, free, free and erased: a letter for each region


def _checkpoint(data: bytes) -> Said:
    cursor = Cursor(data)
    found: dict = {}
    for name, size, count in STATE_FIELDS:
        numbers = [cursor.take(size) for _ in range(count)]
        found[name] = numbers if count > 1 else numbers[0]
    flags, geometry = found.pop("flags"), found.pop("geometry")
    found["flags"] = [name for bit, name in enumerate(FLAGS) if flags >> bit & 1]
    found["bad"] = found["bad"][: found["level"] >> 4]
    found["level"] &= 15
    found["region_blocks"], found["region_shift"] = 1 << (geometry & 15), geometry >> 4
    states = "".join(REGION_STATES[byte >> at & 3] for byte in found["regions"] for at in (0, 2, 4, 6))
    found["regions"] = states
    runs = map(found.pop, ("nodes", "data", "moves"))
    found["claims"] = [[run[0] | run[1] << 8, *run[2:]] for run in runs]
    found["taken"] = found["taken"][: min(found["taken"][4], 4)]
    claims = [run[:2] for run in found["claims"] if run[1]]
    parts = [
        ", ".join(["in use"] * ("clean" not in found["flags"]) + found["flags"]),
        f"goes on in block {found['next']}",
        f"root {found['root']} of level {found['level']}",
        f"regions of {found['region_blocks']} blocks: {states.count('f')} free, {states.count('e')} erased",
        f"{found['erases']} erases",
        f"{found['unclean_mounts']} unclean mounts",
        f"ids from {found['id_limit']} on unused",
    ]
    if found["group_place"]:
        parts.append(f"group at {found['group_place']:#x}")
    parts += [f"claimed {blocks_text(claims)}"] * bool(claims)
    parts += [f"bad blocks {', '.join(map(str, found['bad']))}"] * bool(found["bad"])
    return Said("CHECKPOINT", "; ".join(parts), found)


def operations(data: bytes) -> list[Said]:
    """The changes of a GROUP."""
    found = []
    while data:
        name, size = OPERATIONS[data[0]], u16(data, 1)  # an IndexError for any other
        key, rest = split_key(data[3:])
        body, data = rest[:size], rest[size:]
        if len(body) < size:
            raise IndexError
        if name == "PUT":
            found.append(entry_said(name, key, body))
            continue
        text, fields = key_text(key), {"key": key.as_json(), "body_bytes": body.hex()}
        if name == "RANGE":
            place = int.from_bytes(key.bytes, "big")
            text = f"file {key.id} from {place} up to {Cursor(body).take(4)}"
        found.append(Said(name, text, fields))
    return found


def _volume(data: bytes) -> Said:
    found = take_fields(data)
    text = ", ".join(f"{tag:#04x}: {len(data)} bytes" for tag, data in found)
    return Said(
        "VOLUME",
        f"fields {text}" if found else "no fields",
        {"fields": [[tag, data.hex()] for tag, data in found]},
    )


def _group(data: bytes) -> Said:
    found = operations(data)
    fields = {"operations": [{"type": one.name} | one.fields for one in found]}
    return Said("GROUP", "; ".join(f"{one.name} {one.text}" for one in found), fields)


# ---- nodes ----


def _node_head(data: bytes) -> Said:
    fields = {
        "level": data[1] & ~KEEP,
        "block": u24(data, 2),
        "volume": u32(data, 5),
        "serial": u32(data, 9),
        "keep": data[1] & KEEP != 0,
    }
    kind = "leaf" if fields["level"] == 0 else f"inner node of level {fields['level']}"
    kept = ", kept" * fields["keep"]
    return Said("HEAD", f"{kind} in block {fields['block']}, serial {fields['serial']}{kept}", fields)


def _frames_head(data: bytes) -> Said:
    fields = {"serial": u32(data, 1), "volume": u32(data, 5)}
    return Said("HEAD", f"frames, serial {fields['serial']}", fields)


def _put(data: bytes) -> Said:
    return entry_said("PUT", *split_key(data))


def _put_over(data: bytes) -> Said:
    kill = u16(data, 0)
    return entry_said("PUTK", *split_key(data[3:]), f", in place of {kill:#x}", kill=kill)


def _add(data: bytes) -> Said:
    return entry_said("ADD", *split_key(data[1:]))


def _delete(data: bytes) -> Said:
    return Said("DEL", f"removes {u16(data, 0):#x}", {"kill": u16(data, 0)})


def _rename(data: bytes) -> Said:
    body, source, victim = u16(data, 0), u16(data, 2), u16(data, 4)
    key, _ = split_key(data[7:])
    fields = {"body": body, "source": source, "victim": victim, "key": key.as_json()}
    instead = f", in place of {victim:#x}" if victim else ""
    return Said("REN", f"{source:#x} is now {key_text(key)}{instead}", fields)


READERS: dict[str, Readers] = {
    SUPER: {ANCHOR: (24, _anchor)},
    ROOT: {CHECKPOINT: (CHECKPOINT_BYTES, _checkpoint), 3: (0, _volume), 4: (0, _group)},
    NODE: {
        HEAD: (13, _node_head),
        2: (2, _put),
        3: (5, _put_over),
        4: (2, _delete),
        5: (9, _rename),
        6: (3, _add),
    },
    FRAMES: {HEAD: (9, _frames_head)},
}


def read(log: str, entry: Entry) -> Said:
    """What a record says in a log of this kind."""
    return log_records.read(READERS[log], entry)
