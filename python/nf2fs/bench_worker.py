# SPDX-License-Identifier: BSD-2-Clause
"""One cell on whatever machine it is sent to. Nothing but the standard library: a cluster's workers need not have this package.

The programs come along as bytes and are kept under their hash, so that no file system has to be shared.
"""

import errno
import hashlib
import os
import subprocess
import tempfile
import time

_known = {}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def keep(name, data, executable):
    """The path of a file with these bytes on this machine; made once."""
    mark = digest(data)[:32]
    if mark in _known and os.path.exists(_known[mark]):
        return _known[mark]
    directory = os.path.join(tempfile.gettempdir(), f"norbench-{os.getuid()}")
    os.makedirs(directory, mode=0o700, exist_ok=True)
    path = os.path.join(directory, f"{mark}-{os.path.basename(name)}")
    if not os.path.exists(path):
        handle, unfinished = tempfile.mkstemp(dir=directory)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(unfinished, 0o700 if executable else 0o600)
        os.replace(unfinished, path)        # whole or not at all, whoever else makes it too
    _known[mark] = path
    return path


def start(command, seconds):
    """A process that another thread is just beginning may still hold a program's file open for writing: the kernel says 'busy' then."""
    for left in range(50, -1, -1):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except OSError as problem:
            if problem.errno != errno.ETXTBSY or left == 0:
                raise
        time.sleep(0.1)


def run(task, files):
    """Runs the task's program; gives back exit code, output and errors, or that it took too long.

    `task`: name of the program in `files`, arguments (a name of `files` stands for its path), seconds.
    `files`: name -> (bytes, whether it can be run).
    """
    paths = {name: keep(name, data, executable) for name, (data, executable) in files.items()}
    command = [paths[task["program"]], *(paths.get(word, word) for word in task["arguments"])]
    try:
        done = start(command, task["seconds"])
    except subprocess.TimeoutExpired:
        return {"timeout": True}
    return {"code": done.returncode, "output": done.stdout, "errors": done.stderr[-2000:]}


def same(files):
    """What it is given: so that files travel to the cluster once."""
    return files
