# SPDX-License-Identifier: BSD-2-Clause
"""--json: each command that tells something tells it to programs too, in one JSON value and nothing
else.
"""

import json

import typer.main

from nf2fs import commands

# What a command prints is something else by its nature.
WITHOUT = {
    "cat": "the files' bytes",
    "completion": "a script",
    "mount": "runs until it is unmounted",
    "shell": "what its commands print",
    "unmount": "one word",
}


def test_every_command_has_it():
    commands.load()
    group = typer.main.get_command(commands.app)
    lacking = {
        name
        for name, command in group.commands.items()
        if not any("--json" in one.opts for one in command.params)
    }
    assert lacking == set(WITHOUT)


def test_a_session_of_changes(image, tmp_path, nf2):
    def told(*arguments):
        code, out, err = nf2(*arguments)
        assert err == ""
        return code, json.loads(out)

    (tmp_path / "tree" / "d").mkdir(parents=True)
    (tmp_path / "tree" / "d" / "file").write_bytes(b"content")
    (tmp_path / "tree" / "link").symlink_to("d")
    code, found = told("put", "--json", image, tmp_path / "tree", "/")
    assert code == 3 and (found["files"], found["bytes"]) == (1, 7)
    assert [one["reason"] for one in found["skipped"]] == ["symbolic link"] and found[
        "not_copied"
    ] == []
    assert told("mkdir", "--json", image, "/x", "/y") == (
        0,
        {"image": str(image), "directories": ["/x", "/y"]},
    )
    assert told("mv", "--json", image, "/d/file", "/x") == (
        0,
        {"image": str(image), "from": "/d/file", "to": "/x/file"},
    )
    code, found = told("get", "--json", image, "/", tmp_path / "out")
    assert code == 0 and (found["files"], found["bytes"], found["skipped"]) == (1, 7, [])
    assert (tmp_path / "out" / "x" / "file").read_bytes() == b"content"
    code, found = told("rm", "--json", "-r", "--force", image, "/x", "/y")
    assert code == 0 and sorted(found["removed"]) == ["/x", "/x/file", "/y"]


def test_format_tells_of_the_space(library, tmp_path, nf2):
    code, out, _ = nf2("format", "--json", tmp_path / "new.img", "--chip", library.test_chip)
    assert code == 0
    found = json.loads(out)
    assert found["chip"] == library.test_chip and found["space"]["available"] > 0


def test_errors_are_json_too(image, tmp_path, nf2):
    """On standard output, where the answer would be; the line for people stays."""
    (tmp_path / "text").write_text("text")
    for code, name, path, arguments in (
        (1, "NOENT", "/none", ("ls", image, "/none")),
        (1, "NOENT", "none.img", ("info", "none.img")),
        (2, "NOENT", "none.img", ("check", "none.img")),
        (2, "NOENT", None, ("check", image, "--chip", "none")),
        (2, "GEOMETRY", tmp_path / "text", ("diff", image, tmp_path / "text")),
        (1, "EXIST", "/d", ("mkdir", image, "/d")),
        (1, "NOENT", tmp_path / "no", ("put", image, tmp_path / "no", "/")),
    ):
        if name == "EXIST":
            nf2("mkdir", image, "/d")
        found, out, err = nf2(*arguments, "--json")
        said = json.loads(out)
        assert (found, said.keys(), said["error"].keys()) == (code, {"error"}, {"code", "text", "path"})
        assert (said["error"]["code"], said["error"]["path"]) == (name, None if path is None else str(path))
        assert err.startswith("nf2: ") and err.count("\n") == 1 and said["error"]["text"] in err
        assert nf2(*arguments)[1] == ""
