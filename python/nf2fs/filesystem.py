# SPDX-License-Identifier: BSD-2-Clause
"""Volumes for fsspec: the protocol `nf2fs`.

fsspec.filesystem("nf2fs", image="flash.img").ls("/")
fsspec.open("nf2fs://etc/name::flash.img")
pandas.read_csv("nf2fs://log.csv", storage_options={"image": "flash.img"})
"""

from __future__ import annotations

import posixpath
import weakref
from typing import Any

from fsspec.spec import AbstractFileSystem

from .errors import EXIST, INVAL, NF2Error
from .images import open_image
from .volume import Stat, Volume


class NF2FileSystem(AbstractFileSystem):
    """The volume of one image, or one that is mounted already.

    image (or fo, as in a chained URL): the image file; chip: as for open_image; write: may it be
    written to (also mode="r+", but pandas and fsspec.open have a `mode` of their own); volume: a
    mounted volume to use instead, which stays the caller's to close. A file system that opened an
    image holds it until `close`, or until nothing refers to it any more.
    """

    protocol = "nf2fs"
    root_marker = "/"
    cachable = False  # each instance holds its image alone

    def __init__(
        self,
        image: str | None = None,
        chip: str | None = None,
        mode: str | None = None,
        volume: Volume | None = None,
        fo: str | None = None,
        target_protocol: str | None = None,
        target_options: dict | None = None,
        write: bool | None = None,
        **options: Any,
    ):
        super().__init__(**options)
        if mode not in (None, "r", "r+"):
            raise ValueError(f"mode is 'r' or 'r+', not {mode!r}")
        if write is None:
            write = mode == "r+"
        elif not isinstance(write, bool) or mode not in (None, "r+" if write else "r"):
            raise ValueError(f"write is True or False, and agrees with mode: not {write!r}")
        if target_protocol not in (None, "file", "local"):
            raise ValueError(f"the image must be a local file, not one of {target_protocol!r}")
        source = image or fo
        if (source is None) == (volume is None):
            raise ValueError("name either an image or a mounted volume")
        self.volume = (
            volume if volume is not None else open_image(str(source), chip, read_only=not write)
        )
        self._finalizer = weakref.finalize(self, self.volume.close) if volume is None else None

    def close(self) -> None:
        """Closes the volume, if this file system opened it."""
        if self._finalizer is not None:
            self._finalizer()

    def __enter__(self) -> "NF2FileSystem":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = str(path).removeprefix("nf2fs://").split("::")[0]
        return "/" + text.strip("/")

    @staticmethod
    def _facts(path: str, entry: Stat) -> dict[str, Any]:
        return {"name": path, "size": entry.size, "type": "directory" if entry.is_dir() else "file"}

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = self._strip_protocol(path)
        with self.volume._guard:
            entry = self.volume.stat(path)
            inside = self.volume.scandir(path) if entry.is_dir() else None
        if inside is None:
            found = [self._facts(path, entry)]
        else:
            found = [self._facts(posixpath.join(path, one.name), one) for one in inside]
        return found if detail else [one["name"] for one in found]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        return self._facts(path, self.volume.stat(path))

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: Any = None,
        autocommit: bool = True,
        cache_options: Any = None,
        **_: Any,
    ):
        if not autocommit:
            raise NF2Error(INVAL, "transactions over several files are not supported", path)
        if "r" not in mode:
            self.volume.makedirs(posixpath.dirname(path), exist_ok=True)
        return self.volume.open(path, mode if "b" in mode else mode + "b")

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        path = self._strip_protocol(path)
        with self.volume._guard:
            if self.volume.exists(path):
                raise NF2Error(EXIST, "exists already", path)
            if create_parents:
                self.volume.makedirs(path)
            else:
                self.volume.mkdir(path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self.volume.makedirs(self._strip_protocol(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        self.volume.rmdir(self._strip_protocol(path))

    def rm_file(self, path: str) -> None:
        self.volume.unlink(self._strip_protocol(path))

    def _rm(self, path: str) -> None:
        self.volume.remove(self._strip_protocol(path))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        for one in path if isinstance(path, list) else [path]:
            for found in reversed(self.expand_path(one, recursive=recursive, maxdepth=maxdepth)):
                self._rm(found)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.volume.isdir(source):
            self.volume.makedirs(target, exist_ok=True)
            return
        self.volume.makedirs(posixpath.dirname(target), exist_ok=True)
        with self.volume.open(source, "rb") as data, self.volume.open(target, "wb") as copy:
            while piece := data.read(1 << 16):
                copy.write(piece)

    def mv(
        self, path1: str, path2: str, recursive: bool = False, maxdepth: int | None = None, **_: Any
    ) -> None:
        self.volume.rename(self._strip_protocol(path1), self._strip_protocol(path2))

    def created(self, path: str) -> Any:
        raise NotImplementedError("a volume keeps no times")

    def modified(self, path: str) -> Any:
        raise NotImplementedError("a volume keeps no times")

    def exists(self, path: str, **_: Any) -> bool:
        return self.volume.exists(self._strip_protocol(path))
