# SPDX-License-Identifier: BSD-2-Clause
"""Root log, mounts, and the space of the model volume."""

from flash import Broken, Torn, reads_blank
from rules import END, RESERVE, NoSpace, logged


class Root:
    """What a volume knows besides its tree."""

    def __init__(self, flash, shape, off=frozenset()):
        self.flash, self.shape, self.off = flash, shape, off
        self.claims, self.known, self.handles, self.gc = [], [], {}, [0, 0]
        self.pending, self.done_due, self.started = None, False, False
        self.nxt_w, self.nxt_used, self.victims, self.live = None, set(), set(), {}
        self.lap_start, self.lap_free, self.lap_seen = None, 0, set()
        self.behind, self.tight = False, False
        self.events = set()

    def rule(self, name):
        return name not in self.off

    # ---- format and mount ----

    @classmethod
    def format(cls, flash, shape, off=frozenset()):
        self = cls(flash, shape, off)
        self.epoch, self.root, self.next_id, self.id_limit = 0, 4, 2, 2
        self.now_w, self.hi, self.now_used = 0, 0, set(range(6))
        self.mask = set(range(6, shape.window))
        self.orphans, self.head, self.seq, self.next = [], 2, 1, 3
        self.suspect, self.anchor_block, self.anchor_seq = False, 0, 1
        self.free = shape.blocks - 6
        flash.program(5, 0, (0, (("node", 0, 5, ()),)))
        flash.program(4, 0, (0, (("node", 1, 4, (((), ("child", 5)),)),)))
        flash.program(2, 0, (0, (("head", 1, 3, False), self.ckpt(True))))
        flash.program(0, 0, (0, (("anchor", 1, 2),)))
        self.begin_walk()
        return self

    @classmethod
    def mount(cls, flash, shape, off=frozenset()):
        """Mounts for writing: settles what a cut left."""
        self = cls(flash, shape, off)
        best = None
        for block in (0, 1):
            for page in flash.blocks[block]:
                if logged(page) and (best is None or page[1][0][1] > best[1]):
                    best = (block, page[1][0][1], page[1][0][2])
        if best is None:
            raise Broken("no anchor")
        self.anchor_block, self.anchor_seq, self.head = best
        self.find_head()
        clean = self.scan_head()
        self.now_used |= {0, 1, self.head, self.next} & self.span(self.now_w)
        if not clean:
            self.claims = []
            self.suspect = self.suspect or self.rule("suspect")
            if self.rule("epoch"):
                self.epoch += 1
        if not shape.same_bits:
            self.suspect = True
        self.begin_walk()
        if not clean:
            self.begin()
            if self.pending:
                self.events.add("redo")
                self.apply_group()
        return self

    def find_head(self):
        page = self.flash.blocks[self.head][0]
        if not logged(page) or page[1][0][0] != "head":
            raise Broken("the anchor names no head")
        while True:
            _, self.seq, self.next, self.suspect = page[1][0]
            page = self.flash.blocks[self.next][0]
            if not logged(page) or page[1][0][0] != "head" or page[1][0][1] != self.seq + 1:
                return
            self.head = self.next
            self.behind = True
            self.events.add("chain")

    def scan_head(self):
        """Takes the state from the head of the log. Was the volume left cleanly?"""
        dirty, epochs = False, []
        for page in self.flash.blocks[self.head]:
            if isinstance(page, Torn):
                dirty = True
                epochs.append(page.epoch)
            elif logged(page):
                if page[0] in epochs:
                    raise Broken("a record behind a torn one of its epoch looks like damage")
                for record in page[1]:
                    dirty = self.take(record, dirty)
        torn_next = self.flash.blocks[self.next][0]
        if not reads_blank(torn_next) and isinstance(torn_next, Torn):
            dirty = dirty or self.rule("next_looked_at")
            epochs.append(torn_next.epoch)
        if self.rule("torn_epoch"):
            seen = [e for e in epochs if isinstance(e, int)]
            self.epoch = max([self.epoch] + seen)
        clean = self.was_clean and not dirty
        self.claims = list(self.listed) if clean else []
        return clean

    def take(self, record, dirty):
        kind = record[0]
        if kind == "ckpt":
            (_, self.was_clean, self.epoch, self.root, self.id_limit, self.now_w, self.hi, used,
             mask, orphans, self.listed, self.free, keep, lap) = record
            self.now_used, self.mask, self.orphans = set(used), set(mask), list(orphans)
            self.lap_start, self.lap_free, seen = lap
            self.lap_seen = set(seen)
            self.next_id = self.id_limit
            if not keep:
                self.pending = None
            return False
        if kind == "claim":
            self.now_used |= set(record[1])
            if self.rule("mask"):
                self.mask -= set(record[1])
            self.count_claim(record[1])
        elif kind == "orphan":
            self.orphans.append(record[1])
        elif kind == "group":
            self.pending = record
            self.add_orphans(record)
        elif kind == "done":
            self.pending = None
        return dirty or kind != "head"

    def begin(self):
        """The first program of a session."""
        if self.started:
            return
        self.started = True
        if self.rule("first_ckpt"):
            if self.shape.same_bits:
                self.append_log(self.ckpt(False), turned=True)
            else:
                self.turn()
        if self.behind and self.rule("chain"):
            self.anchor()

    def unmount(self):
        """Leaves the volume cleanly. Unsynced data are dropped."""
        self.handles.clear()
        if self.started:
            self.settle()
            self.append_log(self.ckpt(True))

    # ---- the root log ----

    def ckpt(self, clean):
        if self.done_due:
            self.pending, self.done_due = None, False
        keep = self.pending is not None and self.rule("keep_group")
        known = self.known if self.rule("free_known") else []
        lap = self.lap_free - len([b for b in known if b // self.shape.window in self.lap_seen])
        return ("ckpt", clean, self.epoch, self.root, self.id_limit, self.now_w, self.hi,
                tuple(sorted(self.now_used)), tuple(sorted(self.mask)), tuple(self.orphans),
                tuple(self.claims) if clean else (), self.free - len(known), keep,
                (self.lap_start, lap, tuple(sorted(self.lap_seen))))

    def place(self, block):
        """Page at which a log goes on."""
        last, epoch, used = -1, 0, -1
        for index, page in enumerate(self.flash.blocks[block]):
            if logged(page):
                last, epoch = index, page[0]
            if not reads_blank(page):
                used = index
        if last < 0:
            return 0
        if epoch == self.epoch:
            return last + 1
        return max(last, used) + 1 + (self.epoch - epoch if self.rule("skip") else 0)

    def append_log(self, record, turned=False):
        """`turned`: the turn's own checkpoint is as good as this record."""
        if self.place(self.head) >= self.shape.pages:
            self.turn()
            if turned:
                return
            if record[0] == "ckpt":
                record = self.ckpt(record[1])
        self.flash.program(self.head, self.place(self.head), (self.epoch, (record,)))

    def turn(self):
        """Goes on in the next block of the log."""
        self.events.add("turn")
        if self.behind and self.rule("chain_turn"):
            self.anchor(fresh=True)
        new, old = self.next, self.head
        if self.suspect:
            self.flash.erase(new)
        following, suspect = self.following_block(old)
        records = [("head", self.seq + 1, following, suspect), self.ckpt(False)]
        if self.pending and self.rule("turn_group"):
            records.append(self.pending)
        self.flash.program(new, 0, (self.epoch, tuple(records)))
        self.head, self.next, self.suspect = new, following, suspect
        self.seq += 1
        if self.rule("anchor") or self.seq % 3:
            self.anchor()
        if old != following:
            self.give_back(old)

    def following_block(self, old):
        """An erased block for the log's next turn; on a full chip the old head."""
        if self.claims:
            return self.claims.pop(0), False
        free = self.now_free() or list(self.known)
        if not free:
            self.events.add("old head")
            return old, True
        block = free[0]
        self.take_block(block)
        return block, False

    def anchor(self, fresh=False):
        """`fresh`: in the other block, erased; the epoch need not be on record."""
        self.behind = False
        self.anchor_seq += 1
        place = self.place(self.anchor_block)
        if fresh or place >= self.shape.pages:
            self.anchor_block = 1 - self.anchor_block
            self.flash.erase(self.anchor_block)
            place = 0
        record = ("anchor", self.anchor_seq, self.head)
        self.flash.program(self.anchor_block, place, (self.epoch, (record,)))

    # ---- space ----

    def span(self, window):
        return set(range(window * self.shape.window, (window + 1) * self.shape.window))

    def group_of(self, block):
        return block // self.shape.group

    def now_free(self):
        """Blocks that may be claimed, those outside victims first."""
        free = sorted(self.span(self.now_w) - self.now_used - set(self.claims))
        return sorted(free, key=lambda b: self.group_of(b) in self.victims)

    def avail(self):
        known = self.known if self.rule("reuse") else []
        return len(self.claims) + len(set(self.now_free()) | set(known))

    def set_bits(self, block):
        if block // self.shape.window == self.now_w:
            self.now_used.add(block)
        if self.rule("claim_bits"):
            if block // self.shape.window == self.nxt_w:
                self.nxt_used.add(block)
            self.mark(block)
            self.victims.discard(self.group_of(block))

    def count_claim(self, blocks):
        for block in blocks:
            self.free -= 1
            if self.rule("free") and block // self.shape.window in self.lap_seen:
                self.lap_free -= 1

    def take_block(self, block):
        """A free block becomes used, and is erased. The caller puts that on record first."""
        erased = block in self.mask
        if block in self.known:
            self.known.remove(block)
            if self.rule("reuse_bits"):
                self.set_bits(block)
        else:
            self.set_bits(block)
        if self.rule("mask"):
            self.mask.discard(block)
        self.count_claim([block])
        if not erased:
            self.erase(block)

    def erase(self, block):
        if block in self.reach():
            raise Broken(f"block {block} is erased, but in use")
        self.flash.erase(block)

    def alloc(self):
        """A claimed, erased block. Never walks; at most one claim."""
        if self.claims:
            return self.claims.pop(0)
        if self.known and self.rule("reuse"):
            block = self.known[0]
            if block // self.shape.window != self.now_w or block in self.now_used:
                self.take_block(block)
                return block
        free = self.now_free()
        if not free:
            raise NoSpace()
        count = 3 if len(free) > 8 else 2 if len(free) > RESERVE + 2 else 1
        blocks = free[:count]
        erased = [b for b in blocks if b in self.mask]
        for block in blocks:
            self.set_bits(block)
            if block in self.known:
                self.known.remove(block)
            if self.rule("mask"):
                self.mask.discard(block)
        self.count_claim(blocks)
        if self.rule("claim"):
            self.append_log(("claim", tuple(blocks)))
        for block in blocks:
            if block not in erased:
                self.erase(block)
        self.claims += blocks
        return self.claims.pop(0)

    def give_back(self, block):
        """A node or log block that nothing refers to any more."""
        if block not in self.known:
            self.known.append(block)
            self.free += 1
            if block // self.shape.window in self.lap_seen:
                self.lap_free += 1

    def ensure(self, blocks):
        """Are so many blocks there, if need be after walks? Never inside a change."""
        lap = 2 * self.shape.windows + 4
        for attempt in range(2 * lap):
            self.tight = attempt >= lap and self.rule("tight")
            if self.avail() >= blocks:
                break
            if self.pending and not self.done_due and not self.rule("redo_walk"):
                return False
            while self.cursor != END:
                self.walk_step()
            if self.avail() >= blocks:
                break
            self.advance()
            self.events.add("advance for space")
        self.tight = False
        return self.avail() >= blocks
