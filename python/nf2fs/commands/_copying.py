# SPDX-License-Identifier: BSD-2-Clause
"""What `nf2 put` and `nf2 get` share."""

from __future__ import annotations

from .. import show, trees
from .app import note


def report_skipped(plan: trees.Plan) -> None:
    for path, reason in plan.skipped:
        note(f"skipped {show.printable(path)}: {reason}")


def summary(plan: trees.Plan) -> str:
    return f"{len(plan.files)} file{'s' * (len(plan.files) != 1)}, {show.size_text(plan.bytes)}"
