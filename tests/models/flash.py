# SPDX-License-Identifier: BSD-2-Clause
"""A small NOR chip for the crash model: blocks of pages, torn programs and torn erases.

A page is one program unit and one program. It is BLANK, or holds what was programmed, or what a
torn program left: a Torn page reads as invalid, a Weak one as blank and takes no other content.
"""

BLANK = None
OUTCOMES = {
    "program": ("lost", "weak", "torn", "whole"),
    "erase": ("lost", "weak", "mixed", "torn"),
}


class Broken(Exception):
    """The file system broke a rule of the flash, or a promise to its user."""


class Weak:
    """A torn program that reads as blank; `content` was to be programmed (None: unknown)."""

    def __init__(self, content):
        self.content = content


class Torn:
    """A torn program or erase that reads as invalid; its epoch may be legible."""

    def __init__(self, epoch=None):
        self.epoch = epoch


def reads_blank(page):
    return page is BLANK or isinstance(page, Weak)


class Flash:
    """The chip. `before(kind, block, page, content)` is called before each program and erase."""

    def __init__(self, blocks, pages, same_bits=True):
        self.blocks = [[BLANK] * pages for _ in range(blocks)]
        self.pages = pages
        self.same_bits = same_bits
        self.parsed = {}
        self.before = None

    def copy(self):
        other = Flash(0, self.pages, self.same_bits)
        other.blocks = [list(block) for block in self.blocks]
        other.parsed = dict(self.parsed)
        return other

    def program(self, block, page, content):
        if self.before:
            self.before("program", block, page, content)
        old = self.blocks[block][page]
        same = self.same_bits and isinstance(old, Weak) and old.content == content
        if old is not BLANK and not same:
            raise Broken(f"block {block} page {page} is programmed twice")
        self.put(block, page, content)

    def erase(self, block):
        if self.before:
            self.before("erase", block, 0, None)
        self.blocks[block] = [BLANK] * self.pages
        self.parsed.pop(block, None)

    def put(self, block, page, content):
        self.blocks[block][page] = content
        self.parsed.pop(block, None)

    def cut(self, kind, block, page, content, outcome, rng):
        """The chip as a cut in this operation leaves it."""
        other = self.copy()
        if kind == "program":
            if outcome == "weak" and other.blocks[block][page] is BLANK:
                other.put(block, page, Weak(content))
            elif outcome == "torn":
                epoch = content[0] if rng.random() < 0.5 else None
                other.put(block, page, Torn(epoch))
            elif outcome == "whole":
                other.put(block, page, content)
        elif outcome != "lost":
            for index in range(self.pages):
                state = outcome if outcome != "mixed" else rng.choice(("keep", "weak", "torn"))
                if state != "keep":
                    other.put(block, index, Weak(None) if state == "weak" else Torn())
        return other
