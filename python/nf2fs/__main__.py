# SPDX-License-Identifier: BSD-2-Clause
"""`python -m nf2fs` is `nf2`."""

from .cli import main

main()
