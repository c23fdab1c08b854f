# SPDX-License-Identifier: BSD-2-Clause
"""Line charts as SVG, without a library: enough to look at a curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 70, 20, 40, 50
COLOURS = ("#1f6f8b", "#c8553d", "#588157", "#7b2d8b", "#8d6b00", "#333333")

Points = list[tuple[float, float]]


def _scale(low: float, high: float, start: float, end: float, log: bool) -> Callable[[float], float]:
    change = (lambda value: math.log10(max(value, low))) if log else float
    first, last = change(low), change(high)
    span = last - first or 1
    return lambda value: start + (change(value) - first) / span * (end - start)


def _ticks(low: float, high: float, log: bool) -> list[float]:
    if log:
        return [10.0 ** power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    step = 10.0 ** math.floor(math.log10((high - low) or 1))
    while (high - low) / step < 4:
        step /= 2
    count = math.floor(high / step) - math.ceil(low / step)
    return [(math.ceil(low / step) + index) * step for index in range(count + 1)]


def _range(values: list[float], log: bool) -> tuple[float, float]:
    if log:
        positive = [value for value in values if value > 0] or [1]
        return 10.0 ** math.floor(math.log10(min(positive))), 10.0 ** max(math.ceil(math.log10(max(positive))), 1)
    return 0, max(values, default=1) or 1


def line_chart(title: str, x_title: str, y_title: str, lines: dict[str, Points], log_x: bool = False, log_y: bool = False) -> str:
    """One curve for each entry of `lines`; on a logarithmic axis what is not positive lies on its lower end."""
    points = [point for line in lines.values() for point in line]
    x_low, x_high = _range([x for x, _ in points], log_x)
    y_low, y_high = _range([y for _, y in points], log_y)
    x_of = _scale(x_low, x_high, LEFT, WIDTH - RIGHT, log_x)
    y_of = _scale(y_low, y_high, HEIGHT - BOTTOM, TOP, log_y)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>',
           f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_title)}</text>',
           f'<text x="16" y="{(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" '
           f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2})">{escape(y_title)}</text>']
    for value in _ticks(x_low, x_high, log_x):
        out.append(f'<line x1="{x_of(value):.1f}" y1="{TOP}" x2="{x_of(value):.1f}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>'
                   f'<text x="{x_of(value):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:,g}</text>')
    for value in _ticks(y_low, y_high, log_y):
        out.append(f'<line x1="{LEFT}" y1="{y_of(value):.1f}" x2="{WIDTH - RIGHT}" y2="{y_of(value):.1f}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 6}" y="{y_of(value) + 4:.1f}" text-anchor="end">{value:,g}</text>')
    for index, (name, line) in enumerate(lines.items()):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in line)
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.8" points="{path}"/>'
                   f'<text x="{LEFT + 10}" y="{TOP + 16 + 16 * index}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
