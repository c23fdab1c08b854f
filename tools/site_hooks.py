# SPDX-License-Identifier: BSD-2-Clause
"""What mkdocs.yml asks for when it builds the site."""

import re


def on_page_markdown(markdown, **_):
    """`requires` tells the tests which blocks they can run: mkdocs knows no such word, and would not show the block as one."""
    return re.sub(r'^(```\w+) requires="\w+"$', r"\1", markdown, flags=re.M)
