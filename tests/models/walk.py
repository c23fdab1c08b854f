# SPDX-License-Identifier: BSD-2-Clause
"""The walk: marks a window, moves what lies in victims, drops what is dead."""

from rules import DATA, END, ENTRIES, RESERVE, data_blocks, visible
from tree import Tree


class Walk(Tree):
    """The collector of a volume."""

    # ---- the walk ----

    def mark(self, block):
        if block // self.shape.window == self.mark_w:
            self.mark_used.add(block)

    def refs(self, body):
        if body[0] == "child":
            return (body[1],)
        if body[0] == "piece":
            return data_blocks(body[1], body[2])
        if body[0] == "list":
            return [b for _, a, n in body[1] for b in data_blocks(a, n)]
        return ()

    def barrier(self, key, body):
        if key >= self.cursor:
            return
        for block in self.refs(body):
            if self.rule("barrier"):
                self.mark(block)
            if self.rule("unvictim"):
                self.victims.discard(self.group_of(block))

    def begin_walk(self):
        """Marks the window behind the next one; on a fresh chip there is nothing to be met."""
        last = self.now_w if self.nxt_w is None else self.nxt_w
        self.mark_w = (last + 1) % self.shape.windows
        self.mark_used, self.live = set(), {}
        self.cursor = END if self.mark_w > self.hi else ()
        if not self.rule("whole_walk") and self.cursor == ():
            bounds = sorted(self.entries(self.root))
            self.cursor = bounds[len(bounds) // 2]

    def advance(self):
        """The walk has ended: its window becomes the next one, the next one is allocated from."""
        assert self.cursor == END
        if self.nxt_w is not None:
            if self.rule("carry"):
                self.carry()
            self.events.add("switch")
            self.now_w, self.now_used = self.nxt_w, self.nxt_used
            self.mask = set(self.mask if not self.rule("mask") else ())
            if self.now_w > self.hi:
                self.mask |= self.span(self.now_w)
                self.hi = self.now_w
            if self.rule("switch"):
                self.append_log(self.ckpt(False))
        self.nxt_w, self.nxt_used = self.mark_w, self.mark_used
        self.choose_victims()
        self.begin_walk()

    def carry(self):
        """The last free blocks of a window are kept, claimed."""
        left = [b for b in self.now_free() if b not in self.known][:RESERVE + 3]
        if left:
            erased = [b for b in left if b in self.mask]
            for block in left:
                self.set_bits(block)
                self.mask.discard(block)
            self.count_claim(left)
            self.append_log(("claim", tuple(left)))
            for block in left:
                if block not in erased:
                    self.erase(block)
            self.claims += left

    def choose_victims(self):
        self.victims = set()
        if self.nxt_w > self.hi:
            return
        pinned = {self.group_of(b) for b in self.pinned()}
        first = self.nxt_w * self.shape.window // self.shape.group
        groups = range(first, first + self.shape.window // self.shape.group)
        room = DATA * self.shape.group * 3 // 4
        fit = [(self.live.get(g, 0), g) for g in groups if g not in pinned]
        used = {self.group_of(b) for b in self.nxt_used}
        self.victims = {g for n, g in sorted(fit) if n <= room and g in used and g != 0}
        self.victims = set(sorted(self.victims, key=lambda g: self.live.get(g, 0))[:2])

    def alive(self, number):
        if number not in self.orphans:
            return True
        if not self.rule("shadow"):
            return False
        shadows = [h.shadow for h in self.handles.values()]
        named = self.pending[4] or () if self.pending else ()
        return number in shadows or number in named

    def pinned(self):
        pins = {0, 1, self.root}
        if self.rule("pin_claims"):
            pins |= set(self.claims)
        if self.rule("pin_log"):
            pins |= {self.head, self.next}
        if self.rule("pin_runs"):
            pins |= self.held()
        for op in self.pending[1] if self.pending and not self.done_due else ():
            if op[0] == "put":
                pins |= set(self.refs(op[2]))
        return pins

    def held(self):
        """Blocks that handles and the collector have in hand."""
        held = set(data_blocks(self.gc[0], self.gc[1] - self.gc[0]))
        for handle in self.handles.values():
            held |= set(data_blocks(handle.run[0], handle.run[1] - handle.run[0]))
            for _, address, length in handle.pieces:
                held |= set(data_blocks(address, length))
        return held

    def walk_step(self):
        """One leaf: marks what it refers to, moves what lies in victims, drops dead entries."""
        low, block, high = self.leaf(self.cursor)
        mark_only = self.tight or self.pending is not None and not self.done_due
        behind = high if high is not None else END
        if self.rule("cursor"):
            self.cursor = behind
        self.mark(self.root)
        self.mark(block)
        self.count_live(block, DATA)
        if self.group_of(block) in self.victims and self.may_move(block, mark_only):
            self.move_node(low, block)
        for key in sorted(self.entries(block)):
            self.visit(key, mark_only)
        if self.group_of(self.root) in self.victims:
            self.victims.discard(self.group_of(self.root))
        if not mark_only and behind != END:
            behind = self.merge_leaves(low, behind)
        self.cursor = behind
        if behind == END:
            self.end_walk()

    def may_move(self, block, mark_only):
        if not mark_only and self.avail() > RESERVE + 1:
            return True
        self.victims.discard(self.group_of(block))
        return False

    def move_node(self, low, block):
        self.before_move()
        self.events.add("node moved")
        self.rewrite(low, block, dict(self.entries(block)))

    def before_move(self):
        if self.rule("done_moves"):
            self.settle()

    def count_live(self, block, pages):
        group = self.group_of(block)
        self.live[group] = self.live.get(group, 0) + pages

    def visit(self, key, mark_only):
        body = self.lookup(key)
        if body is None:
            return
        if body[0] == "piece":
            if not self.alive(key[0]):
                if not mark_only and self.avail() > RESERVE:
                    self.change([("del", key)], other=self.rule("done_moves"))
                return
            pieces = [p for p in visible(self.scan(key[0])) if p[0] == key[1]]
        elif body[0] == "list":
            pieces = body[1]
        else:
            return
        victim = False
        for _, address, length in pieces:
            for block in data_blocks(address, length):
                self.mark(block)
                self.count_live(block, min(length, DATA))
                if self.group_of(block) in self.victims and self.may_move(block, mark_only):
                    victim = True
        if victim:
            self.move(key, body, pieces)

    def move(self, key, body, pieces):
        """Copies the pieces of an entry that lie in victims."""
        self.before_move()
        self.events.add("move")
        moved = []
        for offset, address, length in pieces:
            if any(self.group_of(b) in self.victims for b in data_blocks(address, length)):
                parts = self.copy(offset, address, length)
                if body[0] == "list" and len(parts) > 1:
                    self.victims -= {self.group_of(b) for b in data_blocks(address, length)}
                    parts = [(offset, address, length)]
                moved += parts
            else:
                moved.append((offset, address, length))
        other = self.rule("done_moves")
        if body[0] == "list":
            self.change([("put", key, ("list", tuple(moved)))], other)
            return
        for offset, address, length in reversed(moved):
            self.change([("put", (key[0], offset), ("piece", address, length))], other)

    def copy(self, offset, address, length):
        parts = []
        for index in range(length):
            to = self.next_page(self)
            block, page = divmod(address + index, DATA)
            self.flash.program(to // DATA, to % DATA, self.flash.blocks[block][page])
            self.add_part(parts, offset + index, to)
        return parts

    @staticmethod
    def add_part(parts, offset, address):
        if parts and parts[-1][1] + parts[-1][2] == address:
            parts[-1] = (parts[-1][0], parts[-1][1], parts[-1][2] + 1)
        else:
            parts.append((offset, address, 1))

    def next_page(self, owner):
        """Next claimed page of a handle's run, or of the collector's."""
        run = owner.gc if owner is self else owner.run
        if run[0] == run[1]:
            block = self.alloc()
            run[:] = [block * DATA, block * DATA + DATA]
        run[0] += 1
        return run[0] - 1

    def merge_leaves(self, low, high):
        """Joins two sparse leaves. Returns where the walk goes on."""
        low, block, high = self.leaf(low)
        if high is None or self.avail() <= RESERVE:
            return END if high is None else high
        _, other, behind = self.leaf(high)
        both = {**self.entries(block), **self.entries(other)}
        if len(both) > ENTRIES - 2:
            return high
        self.before_move()
        self.events.add("leaves merged")
        self.rewrite(low, block, both, gone=(high,))
        self.give_back(other)
        return high

    def end_walk(self):
        for block in self.pinned():
            self.mark(block)
            self.victims.discard(self.group_of(block))
        won = {b for b in self.nxt_used if self.group_of(b) in self.victims}
        self.nxt_used -= won
        self.cursor = END
        if self.nxt_w in self.lap_seen:
            self.lap_free += len(won - set(self.known))
        self.count_lap()
        dead = [i for i in self.orphans if not self.alive(i) and not self.scan(i)]
        self.orphans = [i for i in self.orphans if i not in dead]

    def count_lap(self):
        """Adds the marked window to the lap's count of free blocks."""
        if self.mark_w in self.lap_seen or self.lap_start is None:
            self.lap_start, self.lap_free, self.lap_seen = self.mark_w, 0, set()
        self.lap_seen.add(self.mark_w)
        self.lap_free += len(self.span(self.mark_w) - self.mark_used)
        if len(self.lap_seen) == self.shape.windows:
            self.free = self.lap_free
