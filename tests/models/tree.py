# SPDX-License-Identifier: BSD-2-Clause
"""Nodes, changes in one leaf, and groups."""

from flash import Broken
from rules import ENTRIES, logged, visible
from root import Root


class Tree(Root):
    """The tree of a volume."""

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
