# SPDX-License-Identifier: BSD-2-Clause
"""Which blocks of a volume of format 1 hold its logs and its tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from .. import layout, log_records, logs
from ..logs import Entry, Piece, u16, u24, u32
from . import records as said
from .frames import frames

FORMAT = 1  # that this module knows
CHAIN_MAX = 65536


class Layout(layout.Layout):
    """What the logs of a volume say of its blocks."""

    def __init__(self, chip: layout.Chip):
        self.places: dict[int, int] = {}  # bad block: the one in its place
        self.frames: dict[int, set[tuple[int, int]]] = defaultdict(set)  # (file, base)
        super().__init__(chip)

    # ---- what is in a block ----

    def kind(self, block: int, pieces: list[Piece]) -> str | None:
        """Which log of this volume a block is; None: it is none."""
        found = [piece for piece in pieces if isinstance(piece, Entry)]
        if block < 2:
            return said.SUPER if found and found[0].type == said.ANCHOR else None
        for entry in found:
            if self._is_meta_head(entry):
                return said.META
        if found and self._is_node_head(found[0]):
            return said.NODE if self._place(u24(found[0].payload, 2)) == block else None
        batch = {entry.type for entry in found} <= said.READERS[said.BATCH].keys()
        return said.BATCH if found and batch and found[0].offset == 2 else None

    def say(self, log: str, entry: Entry) -> log_records.Said:
        return said.read(log, entry)

    def frame_pieces(self, block: int) -> tuple[str, dict, list[Piece]] | None:
        chip, data = self.chip, self.chip.block(block)
        for file, base in sorted(self.frames.get(block, ())):
            found = list(frames(data, chip.page_size, chip.program_unit, file, base))
            if found and isinstance(found[0], logs.Frame):
                return f"file {file}", {"file": file}, found
        return None

    def _is_meta_head(self, entry: Entry) -> bool:
        return self._is_head(entry, b"M", 15, 1)

    def _is_node_head(self, entry: Entry) -> bool:
        return self._is_head(entry, b"N", 9, 5)

    # ---- from the super log to the tree ----

    def _read(self) -> None:
        anchors = [
            said.read(said.SUPER, piece).fields
            for block in (0, 1)
            for piece in self.pieces(block)
            if isinstance(piece, Entry) and piece.type == said.ANCHOR
        ]
        anchors = [one for one in anchors if one.get("format") == FORMAT]
        if not anchors:
            return
        self.log |= {0, 1}
        newest = max(anchors, key=lambda one: one["sequence"])
        self.volume, self.places = newest["volume"], dict(newest["places"])
        state = self._meta(newest["meta_block"])
        if state is not None:
            self._tree(state["root"])

    def _meta(self, block: int) -> dict | None:
        """Follows the meta log to its head; the last STATE there."""
        found = None
        for _ in range(CHAIN_MAX):
            place = self._place(block)
            entries = [one for one in self.pieces(place) if isinstance(one, Entry)]
            heads = [one for one in entries if self._is_meta_head(one)]
            if not heads:
                break
            records = [said.read(said.META, one) for one in entries]
            states = [one.fields for one in records if one.name == "STATE" and one.fields]
            if not states:
                break
            found, head = (states[-1], records), said.read(said.META, heads[0]).fields
            self.log |= {block, place}
            if head["next"] >= self.chip.blocks:
                break
            following, block = block, head["next"]
            if not self._goes_on(block, head["sequence"] + 1):
                self.log |= {block, self._place(block)}
                block = following
                break
        if found is None:
            return None
        state, records = found
        self.places |= dict(state["places"])
        self._window(state["tail"], block)
        self._claims(state, records)
        return state

    def _place(self, block: int) -> int:
        return self.places.get(block, block)

    def _goes_on(self, block: int, sequence: int) -> bool:
        for one in self.pieces(self._place(block)):
            if isinstance(one, Entry) and self._is_meta_head(one):
                return said.read(said.META, one).fields["sequence"] == sequence
        return False

    def _window(self, block: int, head: int) -> None:
        """The blocks of the meta log from its tail to its head."""
        for _ in range(CHAIN_MAX):
            if block == head or block >= self.chip.blocks:
                break
            self.log |= {block, self._place(block)}
            heads = [
                one
                for one in self.pieces(self._place(block))
                if isinstance(one, Entry) and self._is_meta_head(one)
            ]
            if not heads:
                break
            block = said.read(said.META, heads[0]).fields["next"]

    def _claims(self, state: dict, records: list[log_records.Said]) -> None:
        runs = [run for slot in state["slots"] for run in slot]
        runs += [
            [one.fields["start"], one.fields["count"]] for one in records if one.name == "CLAIM"
        ]
        self.set_aside |= set(state["stock"])
        for start, count in runs:
            self.set_aside |= set(range(start, min(start + count, self.chip.blocks)))
        self.set_aside |= {self._place(block) for block in self.set_aside}

    def _tree(self, root: int) -> None:
        pending = [root]
        while pending:
            block = pending.pop()
            place = self._place(block)
            if block >= self.chip.blocks or place in self.nodes:
                continue
            entries = [one for one in self.pieces(place) if isinstance(one, Entry)]
            if not entries or not self._is_node_head(entries[0]):
                continue
            self.nodes |= {block, place}
            pending += self._bodies(entries)

    def _bodies(self, entries: list[Entry]) -> Iterator[int]:
        """The children that a node names; where its frames are is kept."""
        gone = dropped(entries)
        for entry in entries:
            key, body = key_and_body(entry)
            if key is None or not body:
                continue
            if body[0] == said.CHILD_BODY and entry.offset not in gone:
                yield u24(body, 1)
            if body[0] == said.OWN_BODY and entry.offset not in gone:
                first = int.from_bytes(key.bytes[1:], "big")
                self.owned |= set(range(first, min(first + u16(body, 1), self.chip.blocks)))
            if body[0] == said.FRAMES_BODY:
                self.frames[self._place(u24(body, 1))].add((key.id, u32(body, 4)))


def dropped(entries: list[Entry]) -> set[int]:
    """The places of the entries of a node that later records replace or remove."""
    found: set[int] = set()
    for entry in entries:
        if entry.type in (3, 4, 5, 6):
            found.add(u16(entry.payload, 0))
        if entry.type == 6:
            found.add(u16(entry.payload, 2))
    return found


def key_and_body(entry: Entry) -> tuple[log_records.Key | None, bytes]:
    """Of a PUT or PUTK record."""
    if entry.type not in (2, 3):
        return None, b""
    try:
        return log_records.split_key(entry.payload[2 if entry.type == 3 else 0 :])
    except IndexError:
        return None, b""
