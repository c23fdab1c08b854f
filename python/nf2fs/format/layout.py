# SPDX-License-Identifier: BSD-2-Clause
"""Which blocks of a volume hold its logs and its tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from .. import layout, log_records, logs
from ..logs import Entry, u16
from . import records as said

FORMAT = 3  # that this module knows


class Layout(layout.Layout):
    """What the logs of a volume say of its blocks."""

    def __init__(self, chip: layout.Chip):
        self.frames: dict[int, dict[int, str]] = defaultdict(dict)  # by base: of whom
        self.supers = 3
        super().__init__(chip)

    def pieces(self, block: int) -> list[logs.Piece]:
        return list(logs.slots(self.chip.block(block))) if block < self.supers else super().pieces(block)

    def kind(self, block: int, pieces: list[logs.Piece]) -> str | None:
        found = [piece for piece in pieces if isinstance(piece, Entry)]
        if not found:
            return None
        if block < self.supers:
            return said.SUPER if found[0].type == said.ANCHOR else None
        if self._state(found) is not None or block in self.log:
            return said.ROOT
        own = self._is_node_head(found[0]) and logs.u24(found[0].payload, 2) == block
        return said.NODE if own else None

    def say(self, log: str, entry: Entry) -> log_records.Said:
        return said.read(log, entry)

    def frame_pieces(self, block: int) -> tuple[str, dict, list[logs.Piece]] | None:
        """Records of a log, whose places are counted from the base."""
        for base, whose in sorted(self.frames.get(block, {}).items()):
            found = self.pieces(block)
            head = found[0] if found else None
            if isinstance(head, Entry) and self._is_head(head, b"F", 9, 5):
                frames = [frame(piece, base) for piece in found[1:]]
                return whose, {"file": whose, "base": base}, [head, *frames]
        return None

    def _is_node_head(self, entry: Entry) -> bool:
        return self._is_head(entry, b"N", 13, 5)

    # ---- from the anchor to the tree ----

    def _read(self) -> None:
        anchors = [
            said.read(said.SUPER, entry).fields
            for block in range(self.supers)
            for entry in self.entries(block)
            if entry.type == said.ANCHOR
        ]
        anchors = [one for one in anchors if one.get("format") == FORMAT]
        if not anchors:
            return
        newest = max(anchors, key=lambda one: one["sequence"])
        self.volume = newest["volume"]
        head = self._last_head(newest["head"])
        self.log |= {*range(self.supers), head}
        records = [said.read(said.ROOT, one) for one in self.entries(head)]
        places = [at for at, one in enumerate(records) if one.name == "CHECKPOINT"]
        if not places:
            return
        state = records[places[-1]].fields
        self.log.add(state["next"])
        for start, count, _ in state["claims"]:
            self.set_aside |= set(range(start, min(start + count, self.chip.blocks)))
        self._tree(state["root"])

    def _state(self, entries: list[Entry]) -> dict | None:
        """The fields of the CHECKPOINT of this volume that a log of the root begins with."""
        first = said.read(said.ROOT, entries[0]) if entries else None
        if first is None or first.name != "CHECKPOINT" or first.fields["volume"] != self.volume:
            return None
        return first.fields

    def _last_head(self, head: int) -> int:
        """From the head that an anchor names on: each log names the block of the next one."""
        block, erases = head, 0
        for _ in range(self.chip.blocks):
            entries = self.entries(block) if block < self.chip.blocks else []
            state = self._state(entries)
            if state is None or state["erases"] < erases:
                break
            head, block = block, state["next"]
            erases = state["erases"] + ("next suspect" in state["flags"])
        return head

    def _tree(self, root: int) -> None:
        pending = [root]
        while pending:
            block = pending.pop()
            entries = self.entries(block) if block < self.chip.blocks else []
            if block in self.nodes or not entries or not self._is_node_head(entries[0]):
                continue
            self.nodes.add(block)
            pending += self._bodies(entries)

    def _bodies(self, entries: list[Entry]) -> Iterator[int]:
        """The children that a node names; where frames are is kept."""
        gone = dropped(entries)
        for entry in entries:
            found = key_and_body(entry)
            if found is None:
                continue
            key, data = found
            if data[:1] == bytes([said.CHILD_BODY]):
                if entry.offset not in gone:
                    yield logs.u24(data, 1)
                continue
            try:
                body = said.take_body(key, data)
            except (IndexError, KeyError):
                continue
            for piece in body.pieces:
                if piece.kind == "FRAMES" and piece.block is not None:
                    self.frames[piece.block][piece.place] = whose(key, body)


def frame(piece: logs.Piece, base: int) -> logs.Piece:
    if not isinstance(piece, Entry):
        return piece
    if piece.type != said.FRAME or len(piece.payload) < 2:
        return logs.Unreadable(piece.offset, piece.length)
    at = base + u16(piece.payload, 0)
    return logs.Frame(
        piece.offset, piece.length, piece.epoch, piece.more, at, len(piece.payload) - 2
    )


def whose(key: log_records.Key, body: said.Body) -> str:
    return f"file {key.id}" if body.kind == "FRAMES" else said.key_text(key, body)


def dropped(entries: list[Entry]) -> set[int]:
    """The places of the entries of a node that later records replace or remove."""
    found: set[int] = set()
    for entry in entries:
        if entry.type in (3, 4) and len(entry.payload) >= 2:
            found.add(u16(entry.payload, 0))
        if entry.type == 5 and len(entry.payload) >= 6:
            found |= {u16(entry.payload, 2), u16(entry.payload, 4)}
    return found


def key_and_body(entry: Entry) -> tuple[log_records.Key, bytes] | None:
    """Of a PUT, PUTK or ADD record."""
    in_front = {2: 0, 3: 3, 6: 1}.get(entry.type)
    if in_front is None:
        return None
    try:
        return log_records.split_key(entry.payload[in_front:])
    except IndexError:
        return None
