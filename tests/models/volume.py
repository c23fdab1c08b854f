# SPDX-License-Identifier: BSD-2-Clause
"""The rules of the second core on a small volume: logs, windows, the walk, claims, groups, orphans.

Sizes are tiny so that everything happens often: a program is a page, a node has eight pages and few
entries, the tree has one inner node, a handle keeps two unsynced pieces. A file's data are tokens,
one a page; an address is block * DATA + page. Each rule of RULES can be left out, by `off`.
"""

from flash import Broken, Torn, reads_blank

ENTRIES = 6        # of a leaf, before it is split
PIECES = 2         # in the body of a small file, and unsynced in a handle
DATA = 4           # pages of a block that data uses
RESERVE = 5        # blocks that data leaves to names and deletions
END = (1 << 30,)   # behind all keys
NAMES = 1          # id of the one directory

RULES = {
    "claim": "a block is claimed on flash before its first program",
    "claim_bits": "a claim sets the bits of all windows, and ends its group's being a victim",
    "mask": "what was claimed or used is not on record as erased any more",
    "epoch": "an unclean mount begins a new epoch",
    "skip": "an append skips a page for each epoch since the log's last record",
    "torn_epoch": "epochs that torn pages show are used up",
    "suspect": "after an unclean mount the log's next block is erased before its use",
    "next_looked_at": "what a cut left in the log's next block makes a mount unclean",
    "first_ckpt": "a session's first program is a checkpoint, a function of what is on the chip",
    "anchor": "the old head is used again only when the anchor names the new one",
    "chain": "a mount that found the head through another one writes the anchor before a claim",
    "chain_turn": "and before it turns the log: the next block may be the head of the anchor",
    "switch": "a window is switched to by a checkpoint, before the first claim in it",
    "barrier": "a PUT behind the cursor sets the bits of what it refers to",
    "rename_barrier": "so does a rename",
    "child_barrier": "so does a parent's record of a new node",
    "unvictim": "a PUT behind the cursor that refers to a victim group ends its being one",
    "cursor": "the cursor is behind a leaf before the walk moves what the leaf refers to",
    "whole_walk": "victims are free after a walk that began at the first key",
    "pin_claims": "claimed blocks are pinned at the end of a walk",
    "pin_runs": "what open handles have written and not synced is pinned",
    "pin_log": "the log's blocks are pinned",
    "reuse_bits": "a replaced node that is used again gets its bits set",
    "shadow": "shadows of open handles and of a pending group are alive",
    "fresh": "committed pieces are read from the tree, not from the handle",
    "end": "what an entry shows grows only by its own PUT: end markers stay",
    "plan": "a change is planned when its room has been made: the walk moves and splits entries",
    "remainder": "what lies behind an overwrite is PUT before the overwrite",
    "put_first": "a merge PUTs in the file before it DELs in the shadow",
    "group": "a change of several leaves is a group",
    "done": "a group is done on record before any other change",
    "done_moves": "the walk's moves are such changes",
    "keep_group": "a checkpoint inside a group keeps it",
    "turn_group": "a turn of the log inside a group carries it over",
    "redo_walk": "a walk may look for space while a group is pending",
    "carry": "what is left of a window is carried to the next one",
    "tight": "the last lap before NOSPC marks only: moves use up the blocks that were asked for",
    "reuse": "replaced nodes are used again before a walk",
    "ids": "an id limit is on record before an id is given out",
    "orphan": "an id is on record as an orphan before its first entry",
    "free_known": "the count on flash leaves out replaced nodes: no record tells of their reuse",
    "free": "blocks that a walk counted and a claim took later are taken off the count",
}


class NoSpace(Exception):
    """The volume says that it is full; `need` blocks were asked for."""

    def __init__(self, need=0):
        super().__init__()
        self.need = need


class Shape:
    """Geometry: blocks in windows of equal size, groups of blocks, pages of a log."""

    def __init__(self, blocks, window, group, pages=8, same_bits=True):
        assert blocks % window == 0 and window % group == 0
        self.blocks, self.window, self.group = blocks, window, group
        self.pages, self.same_bits = pages, same_bits
        self.windows = blocks // window


class Handle:
    """A file open for writing."""

    def __init__(self, name, body):
        self.name, self.body = name, body
        self.pieces = []      # unsynced: (offset, address, length), later ones on top
        self.shadow = None    # id of a map with older unsynced pieces
        self.run = [0, 0]     # claimed pages still to be programmed


def logged(page):
    """Is this a valid page of a log?"""
    return isinstance(page, tuple) and isinstance(page[0], int)


def data_blocks(address, length):
    if address is None or length == 0:
        return ()
    return range(address // DATA, (address + length - 1) // DATA + 1)


def visible(items):
    """Map entries (offset, body) in order -> (offset, address, what it shows)."""
    shown = []
    for index, (offset, (_, address, length)) in enumerate(items):
        if index + 1 < len(items):
            length = min(length, items[index + 1][0] - offset)
        shown.append((offset, address, length))
    return shown


def shifted(address, by):
    return None if address is None else address + by


def overwrite(entries, offset, address, length, keep_end=True):
    """Ops, in a safe order, that put a piece into a map: remainder, piece, removals."""
    end = offset + length
    ops = []
    for start, old, shows in visible(entries):
        if start < end < start + shows and (start != end):
            ops.append(("put", end, ("piece", shifted(old, end - start), start + shows - end)))
    ops.append(("put", offset, ("piece", address, length)))
    for start, body in entries:
        if offset < start < end:
            ops.append(("del", start))
        elif not keep_end and start < offset and body[1:] == (None, 0):
            ops.append(("del", start))
    return ops


def apply_ops(entries, ops):
    table = dict(entries)
    for op in ops:
        if op[0] == "put":
            table[op[1]] = op[2]
        else:
            table.pop(op[1], None)
    return table


class Volume:
    """A mounted volume."""

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
        last, dirty, epochs = 0, False, []
        for index, page in enumerate(self.flash.blocks[self.head]):
            if isinstance(page, Torn):
                dirty = True
                epochs.append(page.epoch)
            elif logged(page):
                if page[0] in epochs:
                    raise Broken("a record behind a torn one of its epoch looks like damage")
                for record in page[1]:
                    dirty = self.take(record, dirty)
                last = index
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

    # ---- nodes and the tree ----

    def entries(self, block):
        """Entries of a node, not to be changed by the caller."""
        if block in self.flash.parsed:
            return self.flash.parsed[block]
        table = None
        for page in self.flash.blocks[block]:
            if not logged(page):
                continue
            for record in page[1]:
                if record[0] == "node":
                    if record[2] != block:
                        raise Broken(f"block {block} has the node of {record[2]}")
                    table = dict(record[3])
                elif table is None:
                    raise Broken(f"block {block} is no node")
                elif record[0] == "put":
                    table[record[1]] = record[2]
                else:
                    table.pop(record[1], None)
        if table is None:
            raise Broken(f"block {block} is no node")
        self.flash.parsed[block] = table
        return table

    def leaf(self, key):
        """Lower bound, block and upper bound (or None) of the leaf for a key."""
        low, block, high = (), None, None
        for bound, body in sorted(self.entries(self.root).items()):
            if bound <= key:
                low, block = bound, body[1]
            else:
                high = bound
                break
        return low, block, high

    def lookup(self, key):
        return self.entries(self.leaf(key)[1]).get(key)

    def scan(self, number):
        """Entries (offset or name, body) under an id, in order."""
        found, key = [], (number,)
        while key is not None and key < (number + 1,):
            _, block, high = self.leaf(key)
            found += [(k[1], b) for k, b in self.entries(block).items() if k and k[0] == number]
            key = high
        return sorted(found)

    def one_leaf(self, ops):
        return len({self.leaf(op[1])[1] for op in ops}) == 1

    def change(self, ops, other=True, rename=False):
        """Ops in one leaf, durable at once. `other`: not one of the pending group."""
        if other:
            self.settle()
        for op in ops:
            if op[0] == "put" and not (rename and not self.rule("rename_barrier")):
                self.barrier(op[1], op[2])
        low, block, _ = self.leaf(ops[0][1])
        table = dict(self.entries(block))
        for op in ops:
            if op[0] == "put":
                table[op[1]] = op[2]
            else:
                table.pop(op[1], None)
        if len(table) <= ENTRIES and self.place(block) < self.shape.pages:
            self.flash.program(block, self.place(block), (self.epoch, tuple(ops)))
        else:
            self.rewrite(low, block, table)

    def rewrite(self, low, block, table, gone=()):
        """New nodes for a leaf; one record in the parent commits them."""
        keys = sorted(table)
        parts = []
        if keys or low == ():
            half = len(keys) // 2 if len(keys) > ENTRIES else len(keys)
            parts = [(low, keys[:half])] + ([(keys[half], keys[half:])] if keys[half:] else [])
        ops = [("del", bound) for bound in gone] + ([] if parts else [("del", low)])
        if len(parts) > 1:
            self.events.add("split")
        for bound, part in parts:
            ops.append(("put", bound, ("child", self.new_node(0, {k: table[k] for k in part}))))
        self.change_root(ops)
        self.give_back(block)

    def new_node(self, level, table):
        block = self.alloc()
        node = ("node", level, block, tuple(sorted(table.items())))
        self.flash.program(block, 0, (self.epoch, (node,)))
        return block

    def change_root(self, ops):
        for op in ops:
            if op[0] == "put" and self.rule("child_barrier"):
                self.barrier(op[1], op[2])
        if self.place(self.root) < self.shape.pages:
            self.flash.program(self.root, self.place(self.root), (self.epoch, tuple(ops)))
            return
        table = dict(self.entries(self.root))
        for op in ops:
            if op[0] == "put":
                table[op[1]] = op[2]
            else:
                table.pop(op[1], None)
        old, self.root = self.root, self.new_node(1, table)
        self.mark(self.root)
        self.append_log(self.ckpt(False))
        self.give_back(old)

    # ---- changes of several leaves ----

    def group(self, ops, add=(), clear=(), merge=None, rename=False):
        """Ops that become durable together: at the group's record."""
        self.settle()
        self.events.add("merge" if merge else "group")
        self.pending = None
        record = ("group", tuple(ops), tuple(add), tuple(clear), merge)
        if self.rule("group"):
            self.append_log(record)
        self.pending = record
        self.apply_group(rename)

    def add_orphans(self, record):
        self.orphans = [i for i in self.orphans if i not in record[3]]
        self.orphans += [i for i in record[2] if i not in self.orphans]

    def apply_group(self, rename=False):
        _, ops, _, _, merge = self.pending
        self.add_orphans(self.pending)
        for op in ops:
            if not self.ensure(4):
                raise Broken("no block to apply a group")
            self.change([op], other=False, rename=rename)
        if merge:
            self.merge(*merge)
        self.done_due = True

    def merge(self, shadow, number):
        while True:
            items = visible(self.scan(shadow))
            if not items:
                return
            offset, address, length = items[0]
            done = [("del", (shadow, offset))]
            if not self.rule("put_first"):
                self.change(done, other=False)
            self.put_piece(number, offset, address, length, other=False)
            if self.rule("put_first"):
                self.change(done, other=False)

    def settle(self):
        """Puts on record that the last group is applied."""
        self.begin()
        if self.done_due and self.rule("done"):
            self.append_log(("done",))
            self.pending, self.done_due = None, False

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

    # ---- files ----

    def create(self, name, token):
        """A small file, its content in its entry; replaces one of that name."""
        self.need(0)
        self.replace_name(name, ("inline", token))

    def replace_name(self, name, body, ops=(), rename=False):
        old = self.lookup((NAMES, name))
        drop = (old[1],) if old and old[0] == "map" else ()
        ops = [("put", (NAMES, name), body)] + list(ops)
        if not drop and self.one_leaf(ops):
            self.change(ops, rename=rename)
        else:
            self.room_for_orphan(drop)
            self.group(ops, add=drop, rename=rename)

    def need(self, blocks):
        """Room for a change and so many blocks of data, or NoSpace."""
        self.begin()
        if not self.ensure(RESERVE + blocks):
            raise NoSpace(RESERVE + blocks)

    def need_little(self):
        """Room for a deletion: never refused."""
        self.begin()
        if not self.ensure(4):
            raise Broken("a deletion finds no block")

    def room_for_orphan(self, drop):
        if drop and len(self.orphans) > 6:
            for number in [i for i in self.orphans if not self.alive(i)]:
                for offset, _ in self.scan(number):
                    self.need_little()
                    self.change([("del", (number, offset))])
                self.orphans.remove(number)

    def remove(self, name):
        self.need_little()
        body = self.lookup((NAMES, name))
        if body[0] == "map":
            self.room_for_orphan((body[1],))
            self.need_little()
            self.group([("del", (NAMES, name))], add=(body[1],))
        else:
            self.change([("del", (NAMES, name))])

    def rename(self, source, target):
        self.need(0)
        body = self.lookup((NAMES, source))
        self.replace_name(target, body, [("del", (NAMES, source))], rename=True)
        if source in self.handles:
            self.handles[target] = self.handles.pop(source)
            self.handles[target].name = target

    def open(self, name):
        self.handles[name] = Handle(name, self.lookup((NAMES, name)))

    def close(self, name):
        """Unsynced data are dropped."""
        del self.handles[name]

    def write(self, name, offset, tokens):
        self.need(2 + (len(tokens) + DATA - 1) // DATA)
        handle = self.handles[name]
        parts = []
        for index, token in enumerate(tokens):
            to = self.next_page(handle)
            self.flash.program(to // DATA, to % DATA, ("data", token))
            self.add_part(parts, offset + index, to)
        handle.pieces += parts
        if len(handle.pieces) > PIECES:
            self.spill(handle)

    def new_id(self):
        if self.next_id >= self.id_limit:
            self.id_limit = self.next_id + 4
            if self.rule("ids"):
                self.append_log(self.ckpt(False))
        self.next_id += 1
        return self.next_id - 1

    def new_orphan(self):
        self.settle()
        number = self.new_id()
        if self.rule("orphan"):
            self.append_log(("orphan", number))
        self.orphans.append(number)
        return number

    def spill(self, handle):
        """Unsynced pieces go to a map under a shadow id."""
        self.need(3)
        if handle.shadow is None:
            handle.shadow = self.new_orphan()
            self.events.add("shadow")
        while handle.pieces:
            offset, address, length = handle.pieces[0]
            self.need(0)
            self.put_piece(handle.shadow, offset, address, length)
            handle.pieces.pop(0)

    def put_piece(self, number, offset, address, length, other=True):
        """Puts a piece into a map, leaf by leaf: each step shows the old or the new bytes."""
        while True:
            if not self.ensure(4):
                raise Broken("no block for a map entry")
            have = dict(self.scan(number))
            ops = overwrite(sorted(have.items()), offset, address, length, self.rule("end"))
            if not self.rule("remainder"):
                ops.sort(key=lambda op: op[1] != offset)
            ops = [op for op in ops if op[0] == "del" or have.get(op[1]) != op[2]]
            if not ops:
                return
            self.change([(ops[0][0], (number, ops[0][1])) + ops[0][2:]], other)

    def sync(self, name):
        handle = self.handles[name]
        if not handle.pieces and handle.shadow is None:
            return
        self.need(8)
        body = self.committed(handle)
        if handle.shadow is not None or len(handle.pieces) > PIECES:
            self.sync_shadow(handle, body)
        elif body[0] == "list":
            self.sync_list(handle, body)
        else:
            self.sync_map(handle, body[1])
        handle.pieces, handle.shadow = [], None
        handle.body = self.lookup((NAMES, name))

    def committed(self, handle):
        """Body that a sync starts from; writing to a small file drops its content."""
        body = self.lookup((NAMES, handle.name)) if self.rule("fresh") else handle.body
        return ("list", ()) if body[0] == "inline" else body

    def sync_list(self, handle, body):
        table = {o: ("piece", a, n) for o, a, n in body[1]}
        for piece in handle.pieces:
            table = apply_ops(table, overwrite(sorted(table.items()), *piece))
        pieces = tuple(visible(sorted(table.items())))
        if len(pieces) <= PIECES:
            self.change([("put", (NAMES, handle.name), ("list", pieces))])
            return
        number = self.new_orphan()
        for offset, address, length in pieces:
            self.change([("put", (number, offset), ("piece", address, length))])
        self.group([("put", (NAMES, handle.name), ("map", number))], clear=(number,))

    def sync_map(self, handle, number):
        def plan():
            old = dict(self.scan(number))
            table = dict(old)
            for piece in handle.pieces:
                items = sorted(table.items())
                table = apply_ops(table, overwrite(items, *piece, self.rule("end")))
            ops = [("put", (number, o), b) for o, b in sorted(table.items()) if old.get(o) != b]
            return ops + [("del", (number, o)) for o in sorted(old) if o not in table]
        self.change_map(plan)

    def change_map(self, plan):
        """Commits the ops that `plan` finds, planned again if room had to be made."""
        ops = plan()
        if self.one_leaf(ops):
            self.change(ops)
            return
        while self.avail() < RESERVE + 2 * len(ops):
            self.need(2 * len(ops))
            if not self.rule("plan"):
                break
            ops = plan()
        self.group(ops)

    def sync_shadow(self, handle, body):
        if handle.pieces:
            self.spill(handle)
        shadow = handle.shadow
        self.need(8)
        body = self.committed(handle)
        if body[0] == "map":
            self.need(2 + len(self.scan(shadow)))
            self.group([], clear=(shadow,), merge=(shadow, body[1]))
            return
        table = {o: ("piece", a, n) for o, a, n in body[1]}
        for piece in visible(self.scan(shadow)):
            if piece[2]:
                table = apply_ops(table, overwrite(sorted(table.items()), *piece))
        have = dict(self.scan(shadow))
        for offset, address, length in visible(sorted(table.items())):
            if have.get(offset) != ("piece", address, length):
                self.change([("put", (shadow, offset), ("piece", address, length))])
        self.group([("put", (NAMES, handle.name), ("map", shadow))], clear=(shadow,))

    def truncate(self, name, size):
        """Cuts a file off, durable at once. Nothing of it may be unsynced."""
        self.need(2)
        body = self.lookup((NAMES, name))
        if body[0] == "list":
            pieces = [(o, a, min(n, size - o)) for o, a, n in body[1] if o < size]
            self.change([("put", (NAMES, name), ("list", tuple(pieces)))])
        elif body[0] == "map":
            number = body[1]

            def plan():
                gone = [o for o, _ in self.scan(number) if o > size]
                end = ("put", (number, size), ("piece", None, 0))
                return [end] + [("del", (number, o)) for o in gone]
            self.change_map(plan)

    # ---- what the user sees, and what is in use ----

    def names(self):
        return [name for name, _ in self.scan(NAMES)]

    def read_pieces(self, pieces):
        size = max([o + n for o, _, n in pieces], default=0)
        tokens = [0] * size
        for offset, address, length in pieces:
            for index in range(length if address is not None else 0):
                block, page = divmod(address + index, DATA)
                content = self.flash.blocks[block][page]
                good = isinstance(content, tuple) and content[0] == "data"
                tokens[offset + index] = content[1] if good else "lost"
        return tokens

    def content(self, name):
        body = self.lookup((NAMES, name))
        if body is None:
            return None
        if body[0] == "inline":
            return body[1]
        pieces = body[1] if body[0] == "list" else visible(self.scan(body[1]))
        return self.read_pieces(pieces)

    def unsynced(self, name):
        """Bytes of a handle that differ from the file: offset -> token."""
        handle = self.handles[name]
        pieces = visible(self.scan(handle.shadow)) if handle.shadow is not None else []
        found = {}
        for offset, address, length in pieces + handle.pieces:
            tokens = self.read_pieces([(0, address, length)])
            found.update({offset + i: token for i, token in enumerate(tokens)})
        return found

    def reach(self):
        """All blocks in use: by the tree, the log, handles, the pending group."""
        used = {0, 1, self.head, self.next, self.root} | self.held()
        for body in self.entries(self.root).values():
            used.add(body[1])
            table = self.entries(body[1])
            for key, entry in table.items():
                if entry[0] == "list":
                    used |= set(self.refs(entry))
                elif entry[0] == "piece" and self.truly_alive(key[0]):
                    used |= set(data_blocks(entry[1], self.shows(key, entry[2])))
        return used

    def truly_alive(self, number):
        if number not in self.orphans:
            return True
        named = self.pending[4] or () if self.pending else ()
        return number in named or number in [h.shadow for h in self.handles.values()]

    def shows(self, key, length):
        _, block, high = self.leaf(key)
        later = [k for k in self.entries(block) if k > key]
        after = min(later, default=high)
        if after is not None and after[0] == key[0]:
            length = min(length, after[1] - key[1])
        return length
