# SPDX-License-Identifier: BSD-2-Clause
"""Random histories of the model volume, cut at every program and erase, also inside mounts.

    python3 tests/models/crash.py --cuts 100000          all rules on: must find nothing
    python3 tests/models/crash.py --without barrier      one rule left out: must find a failure
    python3 tests/models/crash.py --rules                each rule left out in turn
"""

import argparse
import copy
import random
import sys
import time

from flash import OUTCOMES, Broken, Flash
from rules import RULES, NoSpace, Shape
from volume import Volume

SHAPES = ((26, 26, 2), (32, 16, 2), (48, 16, 4), (24, 24, 1), (36, 12, 1))
NAMES = "abcdefghijklmnop"
DEPTH = 3   # cuts within one another

# How often each call is made, by the kind of history.
CALLS = ("create", "remove", "rename", "write", "sync", "truncate", "walk", "remount", "close",
         "fill", "small")
KINDS = {
    "mixed": (8, 4, 5, 22, 10, 4, 10, 1.2, 1, 0.6, 4),
    "sessions": (8, 4, 5, 14, 8, 2, 4, 25, 1, 0.3, 4),
    "names": (6, 4, 26, 2, 2, 1, 26, 0.3, 0.5, 0.1, 16),
    "files": (3, 1, 3, 24, 14, 10, 12, 0.5, 0.5, 0.3, 2),
    "full": (8, 5, 8, 24, 6, 1, 8, 1, 1, 4, 4),
}


class Reference:
    """What the volume must hold: the state before and after the call that runs."""

    def __init__(self):
        self.now = {}       # name -> token of a small file, or list of tokens
        self.then = None    # after the running call, if that changes anything
        self.open = {}      # name -> unsynced: offset -> token

    def states(self):
        return [self.now] if self.then is None else [self.now, self.then]

    def done(self):
        if self.then is not None:
            self.now, self.then = self.then, None


def same(found, wanted):
    if isinstance(found, list) and isinstance(wanted, list):
        size = max(len(found), len(wanted))
        found = found + [0] * (size - len(found))
        wanted = wanted + [0] * (size - len(wanted))
    return found == wanted


class History:
    """One volume and the calls made to it."""

    def __init__(self, rng, shape, kind, off, tally, depth=0):
        self.rng, self.shape, self.off, self.tally, self.depth = rng, shape, off, tally, depth
        self.kind = kind
        self.token = 0
        self.reference = Reference()
        self.cut_rate = 0.0

    def start(self):
        self.flash = Flash(self.shape.blocks, self.shape.pages, self.shape.same_bits)
        self.volume = Volume.format(self.flash, self.shape, self.off)
        self.watch()

    def watch(self):
        self.flash.before = self.maybe_cut

    def maybe_cut(self, kind, block, page, content):
        if self.tally.cuts >= self.tally.limit or self.rng.random() >= self.cut_rate:
            return
        outcome = self.rng.choice(OUTCOMES[kind])
        image = self.flash.cut(kind, block, page, content, outcome, self.rng)
        self.tally.cuts += 1
        after = History(random.Random(self.rng.random()), self.shape, self.kind, self.off,
                        self.tally, self.depth + 1)
        after.token = self.token + 1000 * (self.depth + 1) + 1_000_000 * self.tally.cuts
        after.survive(image, self.reference.states())

    def survive(self, image, states):
        """Mounts what a cut left: one of the states must be there, and work on."""
        self.flash = image
        self.cut_rate = 0.06 if self.depth < DEPTH else 0.0
        self.reference.now = states[0]
        self.reference.then = states[-1] if len(states) > 1 else None
        self.watch()
        self.mount()
        matching = [s for s in states if self.differs(s) is None]
        if not matching:
            raise Broken("after a cut: " + self.differs(states[-1]))
        self.reference.now, self.reference.then = copy.deepcopy(matching[-1]), None
        self.look()
        self.cut_rate = 0.02 if self.depth < DEPTH else 0.0
        if self.rng.random() < 0.5:
            self.run(self.rng.choice((3, 8, 20)))

    def mount(self):
        self.reference.open = {}
        self.volume = Volume.mount(self.flash, self.shape, self.off)

    def differs(self, wanted):
        """What is wrong, or None."""
        names = self.volume.names()
        if sorted(names) != sorted(wanted):
            return f"names {sorted(names)} instead of {sorted(wanted)}"
        for name, content in wanted.items():
            found = self.volume.content(name)
            if not same(found, content):
                return f"file {name} holds {found} instead of {content}"
        return None

    def look(self):
        wrong = self.differs(self.reference.now)
        if wrong:
            raise Broken(wrong)
        for name, unsynced in self.reference.open.items():
            found = self.volume.unsynced(name)
            if found != unsynced:
                raise Broken(f"unsynced data of {name}: {found} instead of {unsynced}")
        volume = self.volume
        used = volume.reach() | set(volume.claims)
        if volume.free > self.shape.blocks - len(used):
            raise Broken(f"{volume.free} free blocks, but {self.shape.blocks - len(used)}")
        self.look_for_lost_ids()

    def look_for_lost_ids(self):
        volume = self.volume
        ids, named = set(), set(volume.orphans)
        for body in volume.entries(volume.root).values():
            for key, entry in volume.entries(body[1]).items():
                ids.add(key[0])
                if entry[0] == "map":
                    named.add(entry[1])
        if ids - named - {1}:
            raise Broken(f"entries of ids {sorted(ids - named - {1})}, which nothing names")

    # ---- calls ----

    def run(self, calls):
        for _ in range(calls):
            self.call()
            if self.depth == 0 or self.rng.random() < 0.2:
                self.look()
            self.tally.events.update(self.volume.events)
        self.look()

    def call(self):
        call = getattr(self, self.rng.choices(CALLS, KINDS[self.kind])[0])
        self.reference.then = None
        try:
            call()
        except NoSpace as full:
            self.full(full.need)
            self.reference.then = None
        self.reference.done()

    def full(self, need):
        """Was NoSpace true?"""
        self.tally.events.add("no space")
        volume = self.volume
        left = self.shape.blocks - len(volume.reach())
        if left > need or not need:
            raise Broken(f"no space for {need} blocks, but {left} are free")

    def fresh(self):
        self.token += 1
        return self.token

    def some(self, names):
        return self.rng.choice(sorted(names)) if names else None

    def will(self):
        self.reference.then = copy.deepcopy(self.reference.now)
        return self.reference.then

    def create(self):
        name = self.rng.choice(NAMES)
        if name in self.reference.open:
            return
        token = f"t{self.fresh()}"
        self.will()[name] = token
        self.volume.create(name, token)

    def remove(self):
        name = self.some(set(self.reference.now) - set(self.reference.open))
        if name:
            self.will().pop(name)
            self.volume.remove(name)

    def rename(self):
        source = self.some(self.reference.now)
        target = self.rng.choice(NAMES)
        if source is None or target in self.reference.open or target == source:
            return
        then = self.will()
        then[target] = then.pop(source)
        self.volume.rename(source, target)
        if source in self.reference.open:
            self.reference.open[target] = self.reference.open.pop(source)

    def write(self):
        names = self.reference.open
        if len(names) < 2 and self.rng.random() < 0.2:
            name = self.some(set(self.reference.now) - set(names))
            if name:
                self.volume.open(name)
                names[name] = {}
        name = self.some(names)
        if name is None:
            return
        content = self.reference.now[name]
        size = len(content) if isinstance(content, list) else 0
        offset = self.rng.randrange(min(size + 3, 24))
        tokens = [self.fresh() for _ in range(self.rng.choice((1, 1, 2, 3, 6)))]
        before = set(self.volume.handles[name].pieces)
        try:
            self.volume.write(name, offset, tokens)
        finally:
            if set(self.volume.handles[name].pieces) != before or self.volume.handles[name].shadow:
                found = self.volume.unsynced(name)
                wrote = {offset + i: t for i, t in enumerate(tokens)}
                if all(found.get(o) == t for o, t in wrote.items()):
                    names[name].update(wrote)

    def small(self):
        """A file of one piece, written and synced."""
        name = self.rng.choice(NAMES)
        if name in self.reference.open or isinstance(self.reference.now.get(name), list):
            return
        if name not in self.reference.now:
            self.will()[name] = "new"
            self.volume.create(name, "new")
            self.reference.done()
        tokens = [self.fresh() for _ in range(self.rng.choice((1, 2, 4)))]
        self.will()[name] = tokens
        self.volume.open(name)
        try:
            self.volume.write(name, 0, tokens)
            self.volume.sync(name)
        finally:
            self.volume.close(name)

    def sync(self):
        name = self.some(self.reference.open)
        if name is None or not self.reference.open[name]:
            return
        unsynced = self.reference.open[name]
        then = self.will()
        content = list(then[name]) if isinstance(then[name], list) else []
        content += [0] * (max(unsynced) + 1 - len(content))
        for offset, token in unsynced.items():
            content[offset] = token
        then[name] = content
        self.volume.sync(name)
        self.reference.open[name] = {}

    def truncate(self):
        files = [n for n, c in self.reference.now.items() if isinstance(c, list) and len(c) > 1]
        name = self.some(set(n for n in files if not self.reference.open.get(n)))
        if name:
            size = self.rng.randrange(len(self.reference.now[name]))
            then = self.will()
            then[name] = then[name][:size]
            self.volume.truncate(name, size)

    def close(self):
        name = self.some(self.reference.open)
        if name:
            self.volume.close(name)
            del self.reference.open[name]

    def walk(self):
        """Idle time: some steps of the walk."""
        self.volume.begin()
        for _ in range(self.rng.choice((1, 1, 2, 4))):
            if self.volume.cursor != (1 << 30,):
                self.volume.walk_step()
            elif self.volume.nxt_w is None or len(self.volume.claims) < 3:
                self.volume.advance()

    def remount(self):
        if self.rng.random() < 0.7:
            self.volume.unmount()
            self.reference.open = {}
            self.tally.events.add("left cleanly")
        self.mount()
        if self.rng.random() < 0.3:
            self.mount()

    def fill(self):
        """Writes until the volume is full, then removes."""
        name = self.some(self.reference.open)
        if name is None:
            return
        try:
            for _ in range(60):
                offset, token = self.rng.randrange(40), self.fresh()
                self.volume.write(name, offset, [token])
                self.reference.open[name][offset] = token
        finally:
            self.reference.open[name] = self.volume.unsynced(name)


class Tally:
    """What was tried."""

    def __init__(self, limit):
        self.limit, self.cuts, self.histories, self.events = limit, 0, 0, set()


def explore(seed, histories, cuts, off=frozenset(), calls=120, first=0, seconds=None):
    """Runs histories until `cuts` are made or the time is up. Returns (tally, failure or None)."""
    tally = Tally(cuts)
    end = time.monotonic() + seconds if seconds else None
    for index in range(first, first + histories):
        if tally.cuts >= cuts or end and time.monotonic() > end:
            break
        rng = random.Random(f"{seed}.{index}")
        blocks, window, group = SHAPES[index % len(SHAPES)]
        shape = Shape(blocks, window, group, same_bits=index % 3 != 2)
        kind = list(KINDS)[index // len(SHAPES) % len(KINDS)]
        history = History(rng, shape, kind, frozenset(off), tally)
        tally.histories += 1
        try:
            history.start()
            history.cut_rate = 0.25
            history.run(calls)
        except (Broken, NoSpace) as failure:
            return tally, f"history {seed}.{index}: {type(failure).__name__} {failure}"
    return tally, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cuts", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, help="begin no history after so long")
    parser.add_argument("--histories", type=int, default=1_000_000)
    parser.add_argument("--without", action="append", choices=sorted(RULES), default=[])
    parser.add_argument("--rules", action="store_true", help="leave out each rule in turn")
    arguments = parser.parse_args()
    if arguments.rules:
        missed = 0
        for rule in RULES:
            tally, failure = explore(arguments.seed, arguments.histories, arguments.cuts, {rule})
            print(f"{rule:15} {tally.histories:5} histories, {tally.cuts:6} cuts:"
                  f" {failure or 'NOTHING FOUND'}", flush=True)
            missed += failure is None
        return min(missed, 1)
    begun = time.monotonic()
    tally, failure = explore(arguments.seed, arguments.histories, arguments.cuts,
                             arguments.without, seconds=arguments.seconds)
    print(f"{tally.histories} histories, {tally.cuts} cuts, {time.monotonic() - begun:.0f} s;"
          f" met: {', '.join(sorted(tally.events))}")
    print(failure or "nothing found")
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
