# SPDX-License-Identifier: BSD-2-Clause
"""Runs a mount, in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import IO, NF2Error
from .images import open_image
from .native import decode
from .show import error_line
from .tracing import traced

DEVICE = "/dev/fuse"


class NotAvailable(NF2Error):
    """This host cannot mount."""


@dataclass(frozen=True)
class Arguments:
    image: str
    directory: str
    chip: str | None = None
    read_only: bool = False
    allow_other: bool = False
    ignore_modes: bool = False
    trace: str | None = None
    preserve: bool = False


def check_available() -> None:
    """Raises NotAvailable with what is missing."""
    if not os.path.exists(DEVICE):
        raise NotAvailable(IO, f"{DEVICE} is missing: this kernel (or container) has no FUSE")
    try:
        import pyfuse3  # noqa: F401
    except ImportError as error:
        raise NotAvailable(
            IO,
            "the Python package pyfuse3 is missing: in a copy of the repository `make extras`, or "
            "`pip install '.[mount]'`, installs it; it is compiled, so on Debian install "
            f"libfuse3-dev, pkg-config and gcc first ({error})",
        ) from None


def run(
    arguments: Arguments, ready: Callable[[], object]
) -> tuple[str | None, list[tuple[str, OSError]]]:
    """Mounts, answers until it is unmounted, and closes the volume: see fuse_mount.serve."""
    check_available()
    from . import fuse_mount

    umask = os.umask(0o022)
    os.umask(umask)
    options = fuse_mount.Options(
        arguments.read_only,
        arguments.allow_other,
        arguments.ignore_modes,
        arguments.preserve,
        umask,
        os.getuid(),
        os.getgid(),
    )
    with open_image(arguments.image, arguments.chip, read_only=arguments.read_only) as volume:
        tracing = traced(volume, arguments.trace) if arguments.trace else nullcontext()
        try:
            with tracing:
                ended_by, lost = fuse_mount.serve(volume, arguments.directory, options, ready)
        except RuntimeError as error:
            raise NF2Error(IO, f"cannot be mounted: {error}", arguments.directory) from None
    return ended_by, [(decode(path), error) for path, error in lost]


def start_in_background(arguments: Arguments) -> None:
    """Returns when another process has mounted it; raises what that process failed with."""
    check_available()
    package = str(Path(__file__).resolve().parent.parent)
    paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    child = subprocess.Popen(
        [sys.executable, "-m", __name__, json.dumps(asdict(arguments))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    if child.stdout is None or child.stdout.readline() != "ready\n":
        _, errors = child.communicate()
        raise NF2Error(
            IO,
            errors.strip().splitlines()[-1] if errors.strip() else "the mount ended at once",
            None,
        )


def _background(text: str) -> None:
    arguments = Arguments(**json.loads(text))

    def ready() -> None:
        print("ready", flush=True)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nothing, stream)

    try:
        run(arguments, ready)
    except OSError as error:
        print(error_line(error), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    _background(sys.argv[1])
