# SPDX-License-Identifier: BSD-2-Clause
"""The rules of the design that the model follows, its sizes, and what files are made of.

Each rule of RULES can be left out. Sizes are tiny so that everything happens often: a program is a
page, a node has eight pages and few entries, a handle keeps two unsynced pieces. A file's data are
tokens, one a page; an address is block * DATA + page.
"""

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
