# SPDX-License-Identifier: BSD-2-Clause
"""Format version 3, as docs/FORMAT.md has it."""

from .layout import Layout as Layout
