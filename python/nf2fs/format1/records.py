# SPDX-License-Identifier: BSD-2-Clause
"""What the records of a volume's logs say, for people and programs: docs/FORMAT.md, 2 to 7."""

from __future__ import annotations

from collections.abc import Callable

from .. import log_records, show
from ..log_records import (
    NO_BLOCK, Cursor, Key, Readers, Said, block_text, blocks_text, inline_text, quoted, run_text,
    split_key,
)  # fmt: skip
from ..logs import Entry, u16, u24, u32

ANCHOR, HEAD = 1, 1
SUPER, META, NODE, BATCH = "super", "meta", "node", "batch"
FRAMES_BODY, OWN_BODY, CHILD_BODY = 5, 6, 7


def key_text(key: Key, body: str = "") -> str:
    """A name in a directory, or a place in a file, as the kind of the body tells, if known."""
    if body == "OWN" or (len(key.bytes) == 5 and key.bytes[0] == 0):
        number = int.from_bytes(key.bytes[1:], "big")
        return f"file {key.id}" + (f", block {number}" if body == "OWN" else f" at {number}")
    if not key.bytes:
        return f"id {key.id}"
    return f"{quoted(key.bytes)} in directory {key.id}"


# ---- bodies ----


def _flat(rest: bytes) -> str:
    runs = [[u24(rest, at), u16(rest, at + 3)] for at in range(4, len(rest) - 4, 5)]
    return f"a file of {u32(rest, 0)} bytes, {blocks_text(runs)}"


def _piece(rest: bytes) -> str:
    block, within, length = u24(rest, 0), u16(rest, 3), u32(rest, 5)
    if length == 0:
        return "the file ends"
    where = "zeros" if block == NO_BLOCK else f"in block {block} from byte {within} on"
    return f"{length} bytes: {where}"


BODIES: dict[int, tuple[str, int, Callable[[bytes], str]]] = {
    0: ("DIR", 4, lambda rest: f"directory {u32(rest, 0)}"),
    1: ("INLINE", 0, inline_text),
    2: ("FLAT", 4, _flat),
    3: ("INDEXED", 4, lambda rest: f"file {u32(rest, 0)}"),
    4: ("PIECE", 9, _piece),
    FRAMES_BODY: (
        "FRAMES",
        7,
        lambda rest: f"frames in block {u24(rest, 0)}, which begins at {u32(rest, 3)}",
    ),
    OWN_BODY: ("OWN", 2, lambda rest: f"{u16(rest, 0)} in a row are owned"),
    CHILD_BODY: ("CHILD", 3, lambda rest: f"node in block {u24(rest, 0)}"),
}


def body(data: bytes) -> tuple[str, str]:
    """The kind of an entry's body, and what it says."""
    name, least, text = BODIES[data[0]]
    if len(data) - 1 < least:
        raise IndexError
    return name, text(data[1:])


# ---- super log and meta log ----


def _anchor(data: bytes) -> Said:
    fields = {
        "format": data[4],
        "block_size": 1 << data[5],
        "page_size": u16(data, 6),
        "program_unit": data[8],
        "flags": data[9],
        "blocks": u24(data, 10),
        "volume": u32(data, 13),
        "sequence": u32(data, 17),
        "meta_block": u24(data, 21),
        "places": _places(data[26:]),
    }
    text = (
        f"number {fields['sequence']} of volume {fields['volume']:08x}, format {fields['format']}: "
        f"{fields['blocks']} blocks of {fields['block_size']} bytes; "
        f"block {fields['meta_block']} is one of the meta log"
    )
    return Said("ANCHOR", text, fields)


def _places(data: bytes) -> list[list[int]]:
    return [[u24(data, at), u24(data, at + 3)] for at in range(0, len(data) - 5, 6)]


def _meta_head(data: bytes) -> Said:
    fields = {
        "volume": u32(data, 1),
        "sequence": u32(data, 5),
        "previous": u24(data, 9),
        "next": u24(data, 12),
    }
    text = (
        f"block number {fields['sequence']} of the meta log; previous "
        f"{block_text(fields['previous'])}, next {block_text(fields['next'])}"
    )
    return Said("HEAD", text, fields)


STATE_FIELDS = (
    ("flags", 1), ("epoch", 2), ("root", 3), ("free", 3), ("erased", 3), ("next_id", 4),
    ("redo_sequence", 4), ("redo_block", 3), ("unclean_mounts", 2), ("erases", 4), ("tail", 3),
    ("cursor", 3),
)  # fmt: skip
CHANGES = ("freed", "returned", "erased", "unknown")


def state(data: bytes) -> dict:
    """All fields of a STATE record."""
    cursor = Cursor(data)
    found: dict = {name: cursor.take(size) for name, size in STATE_FIELDS}
    slots = [cursor.items(3, 2) for _ in range(cursor.take(1))]
    touched, orphans = cursor.items(3, 2), cursor.items(4)
    changes, stock = cursor.items(3, 2), cursor.items(3)
    found["slots"] = slots
    found["touched"] = touched
    found["orphans"] = [one for (one,) in orphans]
    found["changes"] = [[CHANGES[kind >> 14], start, kind & 0x3FFF] for start, kind in changes]
    found["stock"] = [one for (one,) in stock]
    rest = data[cursor.at :]
    found["bad"] = u16(rest, 0) if len(rest) >= 2 else 0
    found["places"] = _places(rest[2:])
    return found


def _state(data: bytes) -> Said:
    found = state(data)
    parts = [
        "clean" if found["flags"] & 1 else "in use",
        f"epoch {found['epoch'] & 0xFFF}",
        f"root {found['root']}",
        f"{found['free']} blocks free, {found['erased']} of them erased",
        f"{found['erases']} erases",
        f"{found['unclean_mounts']} unclean mounts",
        f"ids from {found['next_id']} on unused",
    ]
    if found["redo_block"] != NO_BLOCK:
        parts.append(f"batch {found['redo_sequence']} in block {found['redo_block']} to be applied")
    runs = [run for slot in found["slots"] for run in slot]
    parts += [f"claimed {blocks_text(runs)}"] * bool(runs)
    parts += [f"touched nodes {', '.join(str(node) for node, _ in found['touched'])}"] * bool(
        found["touched"]
    )
    parts += [f"orphans {', '.join(map(str, found['orphans']))}"] * bool(found["orphans"])
    parts += [f"{kind} {run_text(start, count)}" for kind, start, count in found["changes"]]
    parts += [f"stock {', '.join(map(str, found['stock']))}"] * bool(found["stock"])
    parts += [f"{found['bad']} bad blocks"] * bool(found["bad"])
    return Said("STATE", "; ".join(parts), found)


def _claim(data: bytes) -> Said:
    slot, start, count = data[0], u24(data, 1), u16(data, 4)
    dirty = bool(count & 0x8000)
    fields = {"slot": slot, "start": start, "count": count & 0x7FFF, "dirty": dirty}
    text = f"{blocks_text([[start, count & 0x7FFF]])} for slot {slot}" + ", to be erased" * dirty
    return Said("CLAIM", text, fields)


def _touch(data: bytes) -> Said:
    fields = {"node": u24(data, 0), "end": u16(data, 3)}
    return Said("TOUCH", f"node {fields['node']} from byte {fields['end']} on", fields)


def _region(data: bytes) -> Said:
    number, base = u16(data, 0), u24(data, 2)
    states = [data[5 + index // 4] >> index % 4 * 2 & 3 for index in range(128)]
    wear = [base + count for count in data[37:165]]
    fields: dict = {"region": number, "erases": wear}
    fields["states"] = [show.STATES[one] for one in states]
    counts = [f"{states.count(one)} {show.STATES[one]}" for one in range(4) if one in states]
    text = (
        f"{number}, {blocks_text([[number * 128, 128]])}: {', '.join(counts)}; "
        f"erased up to {max(wear)} times"
    )
    return Said("REGION", text, fields)


def _redo(data: bytes) -> Said:
    fields = {"sequence": u32(data, 0), "block": u24(data, 4), "owned": bool(data[7])}
    text = f"batch {fields['sequence']} in block {fields['block']} is committed"
    return Said("REDO", text, fields)


def _orphan(data: bytes) -> Said:
    return Said("ORPHAN", f"id {u32(data, 0)} has no name yet", {"id": u32(data, 0)})


# ---- nodes and batches ----


def _node_head(data: bytes) -> Said:
    fields = {"level": data[1], "block": u24(data, 2), "volume": u32(data, 5)}
    kind = "leaf" if data[1] == 0 else f"inner node of level {data[1]}"
    return Said("HEAD", f"{kind} in block {fields['block']}", fields)


def _put(name: str, data: bytes, kill: int | None = None) -> Said:
    key, rest = split_key(data)
    kind, text = body(rest)
    fields: dict = {"key": key.as_json(), "body": kind, "body_bytes": rest.hex()}
    if kill is not None:
        fields["kill"] = kill
    instead = "" if kill is None else f", in place of {kill:#x}"
    return Said(name, f"{key_text(key, kind)}: {text}{instead}", fields)


def _delete(data: bytes) -> Said:
    return Said("DEL", f"removes {u16(data, 0):#x}", {"kill": u16(data, 0)})


def _moved(data: bytes) -> Said:
    kill, sequence = u16(data, 0), u32(data, 2)
    if kill:
        text = f"removes {kill:#x}, whose blocks have another owner now"
    else:
        text = f"batch {sequence} is applied" if sequence else "ends the packed group"
    return Said("MOV", text, {"kill": kill, "sequence": sequence})


def _rename(data: bytes) -> Said:
    source, victim = u16(data, 0), u16(data, 2)
    key, _ = split_key(data[4:])
    fields = {"source": source, "victim": victim, "key": key.as_json()}
    instead = f", in place of {victim:#x}" if victim else ""
    return Said("REN", f"{source:#x} is now {key_text(key)}{instead}", fields)


def _batch_delete(data: bytes) -> Said:
    key, _ = split_key(data[2:])
    return Said("DEL", f"remove {key_text(key)}", {"key": key.as_json()})


def _batch_move(data: bytes) -> Said:
    key, _ = split_key(data[4:])
    return Said("MOVE_OUT", f"remove {key_text(key)}: it has another owner", {"key": key.as_json()})


def _link(data: bytes) -> Said:
    return Said("LINK", f"goes on in block {u32(data, 2)}", {"block": u32(data, 2)})


READERS: dict[str, Readers] = {
    SUPER: {ANCHOR: (26, _anchor)},
    META: {
        HEAD: (15, _meta_head),
        2: (40, _state),
        3: (6, _claim),
        4: (5, _touch),
        5: (165, _region),
        6: (8, _redo),
        7: (4, _orphan),
    },
    NODE: {
        HEAD: (9, _node_head),
        2: (3, lambda data: _put("PUT", data)),
        3: (5, lambda data: _put("PUTK", data[2:], u16(data, 0))),
        4: (2, _delete),
        5: (6, _moved),
        6: (6, _rename),
    },
    BATCH: {
        2: (3, lambda data: _put("PUT", data)),
        3: (4, _batch_delete),
        5: (6, _link),
        6: (6, _batch_move),
    },
}


def read(log: str, entry: Entry) -> Said:
    """What a record says in a log of this kind."""
    return log_records.read(READERS[log], entry)
