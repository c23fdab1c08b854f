# SPDX-License-Identifier: BSD-2-Clause
"""Format version 2, as docs/FORMAT.md has it."""

from .layout import Layout as Layout
