# SPDX-License-Identifier: BSD-2-Clause
"""A model of the rules by which one volume would lie on a NOR chip and a NAND chip (docs/DESIGN.md, "NOR and NAND as one volume").

The NOR side is taken for right: a commit there is durable and all or nothing (crash.py looks into that). Here is what the NAND side
adds: cursors and claims, read-back, the walk over both chips, moves, bad and marked blocks, pages that are lost, a promise that
merges can always be made, and cuts in every program, erase and commit. Each rule of RULES can be left out; then a failure is found.

    python3 tests/models/two_chips.py --histories 2000
    python3 tests/models/two_chips.py --without readback
    python3 tests/models/two_chips.py --rules
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

BLOCKS, PAGES = 9, 4        # of the NAND chip
CLAIM = 2                   # pages of a claim
LEFT = 2                    # blocks that live and pending pages leave: those of the two cursors
FILES, SLOTS = 4, 9         # files, and pages of each
NOR_ROOM = 6                # pages of writes that the NOR holds
SPILL = PAGES - 1           # pages that it holds besides, for moves that find no room
HELD = 2                    # pages that a handle has not synced

RULES = {
    "data_first": "a page is on the NAND before a commit on the NOR names it",
    "readback": "a page is read back before the commit gives up the copy on the NOR",
    "compare": "the read-back compares the content; that a read went well does not suffice",
    "use_record": "a block is in use on record before its first page is programmed",
    "claim": "pages are claimed on record before they are programmed",
    "claim_end": "after a cut a cursor goes on after its claim",
    "erase": "a block that is free on record is erased before its first page is programmed",
    "mark": "the mark of a bad block is read before the block is erased",
    "barrier": "a commit behind the walk's cursor counts what it refers to",
    "pin": "pages that a handle has programmed and not synced are in use when a walk ends",
    "opened": "a block that a cursor took while the walk was on is not free at its end",
    "whole_walk": "blocks become free after a walk that saw all files",
    "lost_stays": "a page that is lost while it should move keeps its block in use",
    "still_there": "a merge or a move commits only over the place that it has read",
    "left": "live and pending pages leave the blocks of the two cursors free",
    "spill": "what moves find no room for on the NAND goes to the NOR, which keeps room for that",
    "held": "a page that is not synced counts as a block: nothing of its block is moved",
    "pending": "what waits on the NOR counts as if it lay on the NAND already",
    "partner": "a mount compares the label of the NAND with the volume's",
}

LOST = "lost"               # the result of a read
GARBAGE = -1                # content that nobody wrote


class Cut(Exception):
    """The power is off."""


class Failure(Exception):
    """A rule of the chips was broken, or a promise to the user."""


class NoSpace(Exception):
    """Refused."""


class Io(Exception):
    """The chip does not do what it says: nothing is written any more."""


class Nand:
    """The chip: cells, what was done to them since the last erase, and who it is."""

    def __init__(self, rng, faults):
        self.rng = rng
        self.cells = [[None] * PAGES for _ in range(BLOCKS)]
        self.touched = [[False] * PAGES for _ in range(BLOCKS)]
        self.lost = set()
        self.marked = {rng.randrange(1, BLOCKS)} if faults else set()
        self.bad = set(self.marked)
        self.label = None

    def read(self, place):
        block, page = place
        return LOST if place in self.lost else self.cells[block][page]

    def program(self, place, token, cut, lies):
        block, page = place
        if any(self.touched[block][page:]):
            raise Failure(f"page {place} is programmed twice, out of order, or without an erase")
        self.touched[block][page] = True
        if block in self.bad:
            self.lost.add(place)
            return False
        if cut:
            kind = self.rng.randrange(4)       # reads as blank, as whole, as something else, or not at all
            self.cells[block][page] = (None, token, GARBAGE, GARBAGE)[kind]
            if kind == 3:
                self.lost.add(place)
            return True
        self.cells[block][page] = token
        if lies:
            self.cells[block][page] = self.rng.choice((None, GARBAGE))
            if self.rng.random() < 0.5:
                self.lost.add(place)
        return True

    def erase(self, block, cut):
        if block in self.marked:
            raise Failure(f"block {block} is erased, and the factory's mark on it is lost")
        if block in self.bad:
            return False
        for page in range(PAGES):
            if cut:
                self.touched[block][page] = True
                self.cells[block][page] = self.rng.choice((None, GARBAGE, self.cells[block][page]))
            else:
                self.touched[block][page] = False
                self.cells[block][page] = None
                self.lost.discard((block, page))
        return True


class World:
    """Both chips, what users were promised, and when the power goes."""

    def __init__(self, seed, faults=True):
        self.rng = random.Random(seed)
        self.faults = faults
        self.removes = self.rng.choice((1, 0.1))       # else it never gets full
        self.nand = Nand(self.rng, faults)
        self.tree = {}                         # (file, slot): a token on the NOR, or a place on the NAND
        self.blocks = ["free"] * BLOCKS        # on record; also "used", "bad"
        self.cursors = {"data": None, "moves": None}   # on record: block, next page, end of the claim
        self.clean = True
        self.label = seed
        self.nand.label = seed
        self.cut_in = None
        self.expected = {}                     # (file, slot): token that must be read
        self.decayed = set()                   # tokens of which the chip lost its only copy
        self.tokens = 0
        self.events = Counter()

    def due(self):
        if self.cut_in is None:
            return False
        self.cut_in -= 1
        return self.cut_in == 0

    def commit(self, change):
        if self.due():
            if self.rng.random() < 0.5:
                change()
            raise Cut
        change()

    def program(self, place, token):
        cut = self.due()
        lies = self.faults and self.rng.random() < 0.03
        good = self.nand.program(place, token, cut, lies)
        if cut:
            raise Cut
        self.events["lie"] += lies
        return good

    def erase(self, block):
        cut = self.due()
        good = self.nand.erase(block, cut)
        if cut:
            raise Cut
        return good


class Volume:
    """The code, as it would be: what a session holds in RAM."""

    def __init__(self, world, without=()):
        self.world = world
        self.rules = set(RULES) - set(without)
        self.unsynced = {}                     # (file, slot): (token, place)
        self.walk = None
        self.counted = None                    # live pages of each block, by the last walk
        if "partner" in self.rules and world.nand.label != world.label:
            raise Io
        self.cursors = dict(world.cursors)
        if not world.clean and "claim_end" in self.rules:
            self.cursors = {who: c and (c[0], c[2], c[2]) for who, c in self.cursors.items()}
        world.commit(lambda: setattr(world, "clean", False))

    # ---- pages of the NAND ----

    def good_blocks(self):
        return BLOCKS - self.world.blocks.count("bad")

    def live(self):
        return sum(isinstance(place, tuple) for place in self.world.tree.values())

    def waiting(self):
        return sum(not isinstance(place, tuple) for place in self.world.tree.values())

    def ask_room(self, pages):
        """Refuses what could not be merged, moved and kept any more."""
        left = LEFT if "left" in self.rules else 0
        waits = self.waiting() if "pending" in self.rules else 0
        held = len(self.unsynced) * (PAGES if "held" in self.rules else 1)
        if self.live() + held + waits + pages > (self.good_blocks() - left) * PAGES:
            raise NoSpace

    def record(self, block, state, cursor=None):
        who, place = cursor if cursor else (None, None)

        def change():
            self.world.blocks[block] = state
            if who:
                self.world.cursors[who] = place
        self.world.commit(change)

    def open_block(self, who):
        world = self.world
        for block in range(BLOCKS):
            if world.blocks[block] != "free":
                continue
            free = world.blocks.count("free")
            if who == "data" and free < 2 and "left" in self.rules:
                break                          # room for what is moved out of one block
            marked = "mark" in self.rules and block in world.nand.marked
            if marked or not ("erase" not in self.rules or world.erase(block)):
                self.record(block, "bad")
                world.events["bad"] += 1
                continue
            cursor = (block, 0, 0)
            if "use_record" in self.rules:
                self.record(block, "used", (who, cursor))
            self.cursors[who] = cursor
            if self.walk and "opened" in self.rules:
                self.walk["opened"].add(block)
            return
        raise NoSpace

    def close(self, who):
        block = self.cursors[who][0]
        if "use_record" not in self.rules and self.world.blocks[block] == "free":
            self.record(block, "used")
        self.cursors[who] = None

    def take(self, who):
        if self.cursors[who] and self.cursors[who][1] == PAGES:
            self.close(who)
        if not self.cursors[who]:
            self.open_block(who)
        block, page, claimed = self.cursors[who]
        if page == claimed:
            claimed = min(PAGES, page + CLAIM)
            if "claim" in self.rules:
                self.record(block, self.world.blocks[block], (who, (block, page, claimed)))
        self.cursors[who] = (block, page + 1, claimed)
        return block, page

    def put(self, who, token):
        """Programs a page, and reads it back. Returns its place."""
        for _ in range(4):
            place = self.take(who)
            if not self.world.program(place, token):
                self.record(place[0], "bad", (who, None))
                self.cursors[who] = None
                self.world.events["bad"] += 1
                continue
            found = self.world.nand.read(place)
            if "readback" not in self.rules:
                return place
            if found == token or ("compare" not in self.rules and found != LOST):
                return place
            self.world.events["caught"] += 1
        raise Io

    # ---- commits ----

    def name(self, pieces, over=None):
        """One commit: these places get these contents. `over`: only if that is there still."""
        world = self.world
        for key, place in pieces.items():
            if over is not None and world.tree.get(key) != over and "still_there" in self.rules:
                return False
            if self.walk and key <= self.walk["at"] and isinstance(place, tuple) and "barrier" in self.rules:
                self.walk["seen"][place[0]] += 1

        def change():
            for key, place in pieces.items():
                if place is None:
                    world.tree.pop(key, None)
                else:
                    world.tree[key] = place
        world.commit(change)
        return True

    def small(self, key, token):
        """A synced write of less than a page."""
        self.ask_room(1)
        while self.waiting() >= NOR_ROOM:
            self.merge()
        self.name({key: token})

    def page(self, key, token):
        """A page from a handle, not synced yet."""
        self.ask_room(PAGES if "held" in self.rules else 1)
        self.collect()
        if "data_first" not in self.rules:
            place = self.take("data")
            self.name({key: place})
            self.world.program(place, token)
            return
        self.unsynced[key] = (token, self.put("data", token))

    def sync(self):
        pieces = {key: place for key, (_, place) in self.unsynced.items()}
        self.name(pieces)
        self.unsynced = {}

    def merge(self, between=lambda: None):
        keys = [key for key, place in self.world.tree.items() if not isinstance(place, tuple)]
        if not keys:
            return False
        self.collect()
        key = self.world.rng.choice(keys)
        token = self.world.tree.get(key)
        if isinstance(token, tuple) or token is None:
            return True
        place = self.put("data", token)
        between()                              # another call of the user
        self.name({key: place}, over=token)
        self.world.events["merge"] += 1
        return True

    # ---- the walk ----

    def collect(self):
        """Makes room for a page of data, if need be by whole walks."""
        for _ in range(4 * BLOCKS):
            cursor = self.cursors["data"]
            free = self.world.blocks.count("free")
            if (cursor and cursor[1] < PAGES) or free > 1:
                return
            self.walk = self.walk or self.begin()
            while self.walk:
                self.step()
        # else the next program says so

    def filling(self):
        """Blocks that cursors go on in. One that is full is as any other."""
        return {cursor[0] for cursor in self.cursors.values() if cursor and cursor[1] < PAGES}

    def begin(self):
        world = self.world
        cursors = self.filling()
        pinned = {place[0] for _, place in self.unsynced.values()} if "pin" in self.rules else set()
        used = [b for b in range(BLOCKS) if world.blocks[b] == "used" and b not in cursors | pinned]
        victims = set()
        if self.counted and used:
            best = min(used, key=lambda b: self.counted[b])
            if self.counted[best] < PAGES:
                victims = {best}
        return {"at": (-1, 0), "seen": Counter(), "opened": cursors if "opened" in self.rules else set(), "victims": victims}

    def step(self):
        """One file's page: counts it, or moves it."""
        walk, world = self.walk, self.world
        keys = sorted(key for key in world.tree if key > walk["at"])
        if not keys or ("whole_walk" not in self.rules and len(keys) < 3):
            self.end()
            return
        key = keys[0]
        place = world.tree[key]
        if isinstance(place, tuple):
            found = world.nand.read(place)
            if place[0] in walk["victims"] and found == LOST:
                if "lost_stays" in self.rules:
                    walk["victims"].discard(place[0])
                    walk["seen"][place[0]] += 1
            elif place[0] in walk["victims"]:
                to = self.place_to_move(found)
                if to is None:
                    walk["victims"] = set()
                    return
                if isinstance(to, tuple):
                    walk["seen"][to[0]] += 1
                self.name({key: to}, over=place)
                world.events["move"] += 1
            else:
                walk["seen"][place[0]] += 1
        walk["at"] = key

    def place_to_move(self, token):
        try:
            return self.put("moves", token)
        except NoSpace:
            if "spill" in self.rules and self.waiting() < NOR_ROOM + SPILL:
                self.world.events["spill"] += 1
                return token
            return None

    def end(self):
        walk, self.walk = self.walk, None
        seen = walk["seen"]
        if "pin" in self.rules:
            seen.update(place[0] for _, place in self.unsynced.values())
        held = self.filling() if "opened" in self.rules else set()
        for block in range(BLOCKS):
            if self.world.blocks[block] == "used" and not seen[block] and block not in held | walk["opened"]:
                self.record(block, "free")
                self.world.events["free"] += 1
        self.counted = seen


def check(world):
    """Everything that was promised can be read; what the chip lost by itself is an error, not something else."""
    for key, token in world.expected.items():
        place = world.tree.get(key)
        found = world.nand.read(place) if isinstance(place, tuple) else place
        if found == LOST and token in world.decayed:
            continue
        if found != token:
            raise Failure(f"{key} should have {token}, and has {found} at {place}")


def decay(world):
    """A page of the NAND, in use, is lost."""
    keys = [key for key, place in world.tree.items() if isinstance(place, tuple)]
    if keys:
        key = world.rng.choice(keys)
        world.nand.lost.add(world.tree[key])
        world.decayed.add(world.expected.get(key))


def settle(world, before, after):
    """After a cut each page of the call has what it had before or what it should have, all of them alike."""
    states = []
    for key in after:
        place = world.tree.get(key)
        states.append(world.nand.read(place) if isinstance(place, tuple) else place)
    for wanted in ({key: before.get(key) for key in after}, after):
        if all(found == wanted[key] or (found == LOST and wanted[key] in world.decayed) for key, found in zip(after, states)):
            for key, token in wanted.items():
                world.expected.pop(key, None)
                if token is not None:
                    world.expected[key] = token
            return
    raise Failure(f"after a cut {after} is {states}, and was {before}")


def write_meanwhile(world, volume, after, before):
    volume.name(after)
    world.expected.update(after)
    before.update(after)


def call(world, volume, without):
    """One call of the user. `world.expected` is what it says afterwards."""
    rng = world.rng
    world.tokens += 1
    token, key = world.tokens, (rng.randrange(FILES), rng.randrange(SLOTS))
    kind = rng.choices(("small", "page", "sync", "remove", "merge", "step"), (4, 4, 2, world.removes, 3, 8))[0]
    if kind == "page" and len(volume.unsynced) == HELD:
        kind = "sync"
    after = {}
    before = dict(world.expected)
    try:
        if kind == "small" and key not in volume.unsynced:
            after = {key: token}
            volume.small(key, token)
        elif kind == "page":
            if "data_first" in without:
                after = {key: token}
            volume.page(key, token)
        elif kind == "sync":
            after = {key: value for key, (value, _) in volume.unsynced.items()}
            volume.sync()
        elif kind == "remove":
            after = {key: None for key in list(world.expected) if key[0] == rng.randrange(FILES) and key not in volume.unsynced}
            volume.name({key: None for key in after})
        elif kind == "merge":
            waiting = [key for key, place in world.tree.items() if not isinstance(place, tuple)]
            if waiting and rng.random() < 0.5:     # a write of a page while one is merged
                after = {rng.choice(waiting): token}
                volume.merge(lambda: write_meanwhile(world, volume, after, before))
            else:
                volume.merge()
        else:
            volume.walk = volume.walk or volume.begin()
            volume.step()
    except NoSpace:
        world.events["nospace"] += 1
        if kind == "merge" and not world.faults:    # what goes bad takes room away
            raise Failure("what was taken cannot be merged: there is no room") from None
        settle(world, before, after)
        return
    except Cut:
        settle(world, before, after)
        raise
    if kind != "merge":
        for changed, value in after.items():
            world.expected.pop(changed, None)
            if value is not None:
                world.expected[changed] = value


def drain(world, volume):
    """Everything that waits on the NOR can be merged."""
    try:
        while volume.merge():
            pass
    except NoSpace:
        raise Failure("what was taken cannot be merged: there is no room") from None


def history(seed, without=(), calls=160):
    """Runs one history. Returns the world; raises Failure."""
    faults = seed % 3 != 0
    world = World(seed, faults)
    volume = None
    for _ in range(calls if faults else 3 * calls):
        try:
            if volume is None:
                world.cut_in = world.rng.choice((None, None, world.rng.randrange(1, 60)))
                stranger = world.rng.random() < 0.02
                if stranger:                   # another chip of the same kind is on the board
                    own, world.nand = world.nand, Nand(world.rng, False)
                    try:
                        Volume(world, without)
                        check(world)
                        raise Failure("a strange chip was taken for the volume's")
                    except (Io, Cut):
                        pass
                    world.nand = own
                    world.clean = False
                    continue
                volume = Volume(world, without)
            call(world, volume, without)
            check(world)
            if world.rng.random() < 0.01 and faults:
                decay(world)
            if world.rng.random() < 0.01 and faults and len(world.nand.bad) < 3:
                world.nand.bad.add(world.rng.randrange(1, BLOCKS))
            if world.rng.random() < 0.02:      # an unmount
                if not faults:
                    drain(world, volume)
                    check(world)
                cursors = dict(volume.cursors)
                world.commit(lambda c=cursors: (setattr(world, "cursors", c), setattr(world, "clean", True)))
                volume = None
        except Cut:
            world.events["cut"] += 1
            world.cut_in = None
            volume = None
            check(world)
        except Io:
            world.events["io"] += 1
            volume = None                      # nothing is written until the next mount
            check(world)
    return world


def explore(histories, without=(), first=0):
    """The number of the first history that fails, and why; and what happened in all of them."""
    events = Counter()
    for seed in range(first, first + histories):
        try:
            events += history(seed, without).events
        except Failure as failure:
            return (seed, str(failure)), events
    return None, events


def main(arguments=None):
    parser = argparse.ArgumentParser(description="A model of one volume on a NOR chip and a NAND chip.")
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--without", choices=RULES, action="append", default=[])
    parser.add_argument("--rules", action="store_true", help="leave out each rule in turn")
    options = parser.parse_args(arguments)
    missed = []
    for without in [[rule] for rule in RULES] if options.rules else [options.without]:
        failure, events = explore(options.histories, without)
        what = f"history {failure[0]}: {failure[1]}" if failure else "nothing was found"
        print(f"{', '.join(without) or 'all rules'}: {what}")
        if not without:
            print(", ".join(f"{name} {count}" for name, count in sorted(events.items())))
        if bool(failure) != bool(without):
            missed.append(without)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
