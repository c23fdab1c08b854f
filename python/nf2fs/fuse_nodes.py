# SPDX-License-Identifier: BSD-2-Clause
"""The names that a mount has given out: a tree of nodes, each with the number that the kernel knows
it by.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from typing import Any, BinaryIO

ROOT = 1


def failure(code: int) -> OSError:
    return OSError(code, "")


@dataclass(eq=False)
class Node:
    """A file or directory. Without a parent (and not the root) it was removed, and lives until it
    is closed.
    """

    number: int
    is_dir: bool
    parent: Node | None = None
    name: bytes = b""
    children: dict[bytes, Node] = field(default_factory=dict)
    lookups: int = 0  # how often the kernel was told this number and has not forgotten it
    opens: int = 0
    handle: Any = None  # of the volume's file, shared by all who opened it
    writing: bool = False  # was `handle` opened for writing?
    unsynced: bool = False
    failed: OSError | None = None  # of a sync that nobody was told about yet
    scratch: BinaryIO | None = None  # what a removed file holds while it is open
    times: tuple[int, int, int] | None = (
        None  # ns: access, modification, change; kept while mounted
    )
    mode: int | None = None  # permissions, where the volume keeps them
    known: bool = False  # were time and mode read from the volume?
    stale: bool = False  # are they to be written there?

    @property
    def removed(self) -> bool:
        return self.parent is None and self.number != ROOT

    @property
    def idle(self) -> bool:
        """May it be dropped, and be found again by its path?"""
        kept = self.times is not None and not self.removed
        return not (self.lookups or self.opens or self.children or kept or self.number == ROOT)


class Nodes:
    """All nodes, by number."""

    def __init__(self) -> None:
        self.root = Node(ROOT, True)
        self._by_number = {ROOT: self.root}
        self._next = ROOT + 1

    def __len__(self) -> int:
        return len(self._by_number)

    def __iter__(self):
        return iter(list(self._by_number.values()))

    def get(self, number: int) -> Node:
        node = self._by_number.get(number)
        if node is None:
            raise failure(errno.ESTALE)
        return node

    def directory(self, number: int) -> Node:
        """A directory that is still there."""
        node = self.get(number)
        if not node.is_dir:
            raise failure(errno.ENOTDIR)
        if node.removed:
            raise failure(errno.ENOENT)
        return node

    def path(self, node: Node) -> bytes:
        names = []
        while node.parent is not None:
            names.append(node.name)
            node = node.parent
        if node.number != ROOT:
            raise failure(errno.ENOENT)
        return b"/" + b"/".join(reversed(names))

    def add(self, parent: Node, name: bytes, is_dir: bool) -> Node:
        """The node of a name that exists."""
        node = parent.children.get(name)
        if node is None:
            node = Node(self._next, is_dir, parent, name)
            self._next += 1
            self._by_number[node.number] = node
            parent.children[name] = node
        return node

    def detach(self, node: Node) -> None:
        """Its name was removed."""
        if node.parent is not None:
            del node.parent.children[node.name]
            parent, node.parent = node.parent, None
            self.drop(parent)
        self.drop(node)

    def move(self, node: Node, parent: Node, name: bytes) -> None:
        """Its name was changed; what had the new name must have been detached."""
        before = node.parent
        assert before is not None, "the root is not moved"
        del before.children[node.name]
        node.parent, node.name = parent, name
        parent.children[name] = node
        self.drop(before)

    def drop(self, node: Node) -> None:
        """Forgets a node that nobody needs, and those above it."""
        below: Node | None = node
        while below is not None and below.idle and below.number in self._by_number:
            del self._by_number[below.number]
            parent = below.parent
            if parent is not None:
                del parent.children[below.name]
            below = parent
