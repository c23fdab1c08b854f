# SPDX-License-Identifier: BSD-2-Clause
"""What a chip is doing, from a trace that may still grow: totals, rates and the busiest blocks."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from rich.console import Group
from rich.table import Table
from rich.text import Text

from .tracing import KINDS, parse

RATE_S = 2.0  # rates are means of so much time


@dataclass
class Activity:
    """What a trace has told so far."""

    block_size: int
    calls: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    blocks: dict[str, Counter[int]] = field(
        default_factory=lambda: {kind: Counter() for kind in KINDS}
    )
    unread: int = 0  # lines that are no operations
    _recent: deque = field(default_factory=deque)  # (time, calls)

    def feed(self, line: str) -> None:
        operation = parse(line)
        if operation is None:
            self.unread += 1
            return
        self.calls[operation.kind] += 1
        self.bytes[operation.kind] += operation.length
        first = operation.address // self.block_size
        last = (operation.address + max(operation.length, 1) - 1) // self.block_size
        for block in range(first, last + 1):
            self.blocks[operation.kind][block] += 1

    def tick(self, now: float) -> dict[str, float]:
        """Calls a second of each kind, over the last RATE_S seconds."""
        self._recent.append((now, Counter(self.calls)))
        while len(self._recent) > 2 and now - self._recent[1][0] >= RATE_S:
            self._recent.popleft()
        start, before = self._recent[0]
        span = max(now - start, 1e-9)
        return {
            kind: (self.calls[kind] - before[kind]) / span if len(self._recent) > 1 else 0.0
            for kind in KINDS
        }

    def busiest(self, most: int) -> list[int]:
        """Blocks by erases, then programs, then reads."""
        every = set().union(*self.blocks.values())
        return sorted(
            every,
            key=lambda block: (*(-self.blocks[kind][block] for kind in reversed(KINDS)), block),
        )[:most]


def as_json(activity: Activity, most: int) -> dict:
    return {
        "calls": {kind: activity.calls[kind] for kind in KINDS},
        "bytes": {kind: activity.bytes[kind] for kind in KINDS},
        "block_size": activity.block_size,
        "busiest": [
            {"block": block} | {kind: activity.blocks[kind][block] for kind in KINDS}
            for block in activity.busiest(most)
        ],
        "lines_not_understood": activity.unread,
    }


def screen(activity: Activity, rates: dict[str, float] | None, most: int) -> Group:
    """Two tables; the rates only where there are some."""
    totals = Table(box=None, pad_edge=False)
    for name in ("", "calls", "bytes", *(("a second",) if rates else ())):
        totals.add_column(name, justify="left" if not name else "right")
    for kind in KINDS:
        row = [kind, f"{activity.calls[kind]:,}", f"{activity.bytes[kind]:,}"]
        totals.add_row(*row, *((f"{rates[kind]:,.0f}",) if rates else ()))
    hot = Table(box=None, pad_edge=False)
    for name in ("busiest blocks", *(f"{kind}s" for kind in KINDS)):
        hot.add_column(name, justify="right")
    for block in activity.busiest(most):
        hot.add_row(
            f"{block * activity.block_size:#010x}",
            *(f"{activity.blocks[kind][block]:,}" for kind in KINDS),
        )
    return Group(totals, Text(), hot)
