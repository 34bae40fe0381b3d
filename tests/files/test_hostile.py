"""Files of strangers: bombs, cut files, endless ones and foreign paths are refused at once, with a reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from files.robots import ARM

from kompono import FileError, RunError, load

Write = Callable[..., Path]
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + k)} "{f"&{chr(97 + k)};" * 10}">' for k in range(12))
    + "]><robot><link name='&m;'/></robot>"
)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (LAUGHS, "entities"),
        ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>', "entities"),
        (ARM[: len(ARM) // 2], "no XML"),
        ("<robot>" + "<a>" * 1000 + "</a>" * 1000 + "</robot>", "deep"),
        ("<robot>" + "<link/>" * 600_000 + "</robot>", "tags"),
        ("<html/>", "no kind that is read"),
        (b"\x00\x01\x02 rubbish", "no kind that is read"),
        ("", "no kind that is read"),
        ('<?xml version="1.0" encoding="klingon"?><robot/>', "no XML"),
    ],
)
def test_refused(written: Write, content: str | bytes, words: str) -> None:
    with pytest.raises(FileError, match=words):
        load(written(content))


def test_no_file_and_no_option(written: Write) -> None:
    with pytest.raises(FileError, match="there is no file"):
        load("nothing.urdf")
    with pytest.raises(RunError, match="'density' is no option for URDF"):
        load(written(ARM), density=1000.0)
    with pytest.raises(FileError, match="no 'tangent' to ignore"):
        load(written(ARM), ignore="tangent")


def test_meshes_of_other_folders_are_not_opened(written: Write) -> None:
    outside = written("solid\nendsolid\n", "secret/part.stl")
    (outside.parent.parent / "a" / "b").mkdir(parents=True)
    text = ARM.replace("package://nowhere/upper.stl", "../../secret/part.stl")
    arm = load(written(text, "a/b/c/robot.urdf"))
    assert "not there" in str(arm.imported)


def test_bad_loops(written: Write) -> None:
    file = written(ARM)
    with pytest.raises(FileError, match="no link or joint 'nobody'"):
        load(file, loops=[("upper", "nobody", "3d")])
    with pytest.raises(FileError, match="is none"):
        load(file, loops=[("upper", "fore", "4d")])
    pytest.importorskip("yaml")
    written("closed_loop: {a: 1}", "bad.yaml")
    with pytest.raises(FileError, match="closed_loop"):
        load(file, loops="bad.yaml")
    written("!!python/object/apply:os.system ['true']", "evil.yaml")
    with pytest.raises(FileError, match="no YAML"):
        load(file, loops="evil.yaml")
