"""Files of strangers: bombs, cut files, endless ones and foreign paths are refused at once, with a reason."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from files.drawings import drawing, instance, part, turned
from files.robots import ARM

from kompono import FileError, ModelError, RunError, load

Write = Callable[..., Path]
INSIDE = instance("top", "a_asm", turned(0.0), instance("x", "a_asm", turned(0.0)))
MIRRORED = "<Transform><Rotation>1 0 0 0 1 0 0 0 -1</Rotation><Translation>0 0 0</Translation></Transform>"


def _bars(count: int) -> str:
    return drawing("".join(instance(f"i{k}", "bar_prt", turned(0.0)) for k in range(count)), "", part("bar"))


def _zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


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
        ("<robot>" + "".join(f"<link name='l{k}'/>" for k in range(20_000)) + "</robot>", "20000 links, more than"),
        (_bars(100_000), "tags"),
        (_bars(6_000), "instances"),
        (drawing(INSIDE, "", part("bar"), '<Assembly name="a" uid="a_asm"/>'), "lies in itself"),
        (drawing(instance("b", "bar_prt", MIRRORED), "", part("bar")), "rotation is none"),
        (drawing(instance("b", "bar_prt", turned(0.0)), "", part("bar").replace("0.5", "nan")), "not a number"),
        (b"PK\x03\x04" + bytes(100), "no whole zip"),
        (_zipped({"Document.xml": b"<Document>" + b" " * 200_000_000}), "would have"),
        (_zipped({"../../evil.txt": b"x", "Document.xml": b"<Document/>"}), "no <ObjectData>"),
        ("<html/>", "no kind that is read"),
        (b"\x00\x01\x02 rubbish", "no kind that is read"),
        ("", "no kind that is read"),
        ('<?xml version="1.0" encoding="klingon"?><robot/>', "no XML"),
    ],
)
def test_refused(written: Write, content: str | bytes, words: str) -> None:
    file, begun = written(content), process_time()
    with pytest.raises(FileError, match=words):
        load(file)
    assert process_time() - begun < 2  # asked is a second; this machine may be busy
    assert [path.name for path in file.parent.rglob("*")] == [file.name]  # nothing was written
    assert not (file.parent.parent.parent / "evil.txt").exists()


def test_includes_of_other_folders_are_not_opened(written: Write) -> None:
    with pytest.raises(FileError, match="lies elsewhere"):
        load(written("<mujoco><include file='../../etc/passwd'/></mujoco>", "robot.xml"))


def test_includes_are_looked_at_in_includes_and_folders_allowed(written: Write) -> None:
    pytest.importorskip("mujoco")
    piece = "<mujocoinclude><body name='b'><joint/><geom size='0.1'/></body></mujocoinclude>"
    shared = written(piece, "shared/piece.xml").parent
    written("<mujocoinclude><include file='../shared/piece.xml'/></mujocoinclude>", "robot/inner.xml")
    file = written("<mujoco><worldbody><include file='inner.xml'/></worldbody></mujoco>", "robot/robot.xml")
    with pytest.raises(FileError, match="packages="):
        load(file)
    assert load(file, packages=[shared]).coordinates
    with pytest.raises(FileError, match="a piece that other MJCF files include"):
        load(shared / "piece.xml")


def test_no_file_and_no_option(written: Write) -> None:
    with pytest.raises(FileError, match="there is no file"):
        load("nothing.urdf")
    with pytest.raises(RunError, match="'density' is no option for URDF"):
        load(written(ARM), density=1000.0)
    with pytest.raises(FileError, match="no 'tangent' to ignore"):
        load(written(ARM), ignore="tangent")
    with pytest.raises(RunError, match="Did you mean 'gravity'"):
        load(written(ARM), gravty=False)
    with pytest.raises(FileError, match="is a folder"):
        load(written(ARM).parent)
    with pytest.raises(ModelError, match="no joint 'elbo' with a coordinate"):
        load(written(ARM)).coordinates["elbo"]


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
