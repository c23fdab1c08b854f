# SPDX-License-Identifier: BSD-2-Clause
"""The model volume: files and their names."""

from flash import Broken
from rules import (
    DATA,
    NAMES,
    PIECES,
    RESERVE,
    Handle,
    NoSpace,
    apply_ops,
    data_blocks,
    overwrite,
    visible,
)
from walk import Walk


class Volume(Walk):
    """A mounted volume."""

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
