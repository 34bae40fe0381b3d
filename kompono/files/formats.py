"""The formats that are read, and how each is recognized by its content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kompono.errors import FileError, RunError
from kompono.files.assembly import Assembly
from kompono.files.loops import read_loops
from kompono.files.touching import checked_contact
from kompono.files.xml import Node, parse, read_bytes
from kompono.given import flag, listed, shown


@dataclass(frozen=True)
class Format:
    """A reader: from content and path to an assembly, with these options."""

    name: str
    read: Callable[..., Assembly]
    options: tuple[str, ...] = ()


def sniffed(path: Path) -> tuple[str, Any]:
    """The kind of a file, and its content as its reader wants it."""
    with path.open("rb") as file:
        head = file.read(4096)
    if path.suffix.lower() == ".xacro":
        return "urdf", _expanded(path)
    if head.startswith(b"PK\x03\x04"):
        return "freecad", None
    if head.lstrip().startswith(b"ISO-10303-21"):
        return "step", None
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"<"):
        root = parse(read_bytes(path), path.name)
        return _kind_of(root, path), root
    raise FileError("it is of no kind that is read.", path=path.name, fix=KNOWN)


def _kind_of(root: Node, path: Path) -> str:
    if root.tag == "mujocoinclude":
        fix = "Load the file that has <mujoco> and includes it."
        raise FileError("it is a piece that other MJCF files include, no model.", path=root.where, fix=fix)
    if root.tag not in ROOTS:
        raise FileError(f"<{root.tag}> is of no kind that is read.", path=root.where, fix=KNOWN)
    return ROOTS[root.tag]


def _urdf(
    root: Node, path: Path, *, loops: Any = None, floating: bool = False, packages: Any = (), contact: Any = "none"
) -> Assembly:
    from kompono.files.urdf import read_urdf

    beside = read_loops(loops, path.parent)
    return read_urdf(
        root, path, loops=beside.loops, motors=beside.motors, kinds=beside.kinds,
        floating=flag(floating, "floating =", "load", error=RunError), packages=_folders(packages),
        contact=checked_contact(contact, ("none", "ground")),
    )  # fmt: skip


def _folders(packages: Any) -> Mapping[str, Path] | list[Path]:
    """Folders of meshes, by name or in the order they are looked through."""
    named = isinstance(packages, Mapping)
    fix = 'Give folders: packages=["meshes"], or packages={"arm_description": "meshes"}.'
    given = (
        [packages]
        if isinstance(packages, str | Path)
        else listed(packages.values() if named else packages, "packages =", "load", error=RunError, fix=fix)
    )
    if not all(isinstance(each, str | Path) for each in (*given, *(packages if named else ()))):
        raise RunError(f"packages = {shown(packages)} are no folders.", path="load", fix=fix)
    folders = [Path(each) for each in given]
    return dict(zip(packages, folders, strict=True)) if named else folders


def _mjcf(
    root: Node, path: Path, *, start: str | None = None, ignore: Iterable[str] = (), contact: Any = "none",
    packages: Any = (),
) -> Assembly:  # fmt: skip
    from kompono.files.mjcf import read_mjcf

    given = _folders(packages)
    folders = list(given.values()) if isinstance(given, Mapping) else given
    taken = checked_contact(contact)
    return read_mjcf(root, path, start=start, ignore=ignore, contact=taken, folders=folders)


def _simscape(root: Node, path: Path, *, density: Any = None) -> Assembly:
    from kompono.files.simscape import read_simscape

    return read_simscape(root, path, density=density)


def _freecad(_: None, path: Path, *, density: Any = None) -> Assembly:
    from kompono.files.freecad import read_freecad

    return read_freecad(path, density=density)


def _step(_: None, path: Path, *, density: Any = None, fixed: Iterable[str] = (), rigid: Any = ()) -> Assembly:
    from kompono.files.step import read_step

    return read_step(path, density=density, fixed=fixed, rigid=rigid)


def _expanded(path: Path) -> Node:
    """A xacro file with its macros expanded, by the package of that name."""
    from kompono.result.extras import extra

    xacro = extra("xacro", "urdf")
    try:
        text = xacro.process_file(str(path)).toxml()
    except Exception as error:  # it fails in many ways of its own
        raise FileError(f"xacro cannot expand it: {error}.", path=path.name) from error
    return parse(text.encode(), path.name)


KNOWN = "URDF, MJCF, Simscape Multibody XML, FreeCAD assemblies and STEP are."
ROOTS = {"robot": "urdf", "mujoco": "mjcf", "SimscapeMultibodyImportXML": "simscape"}
FORMATS = {
    "urdf": Format("URDF", _urdf, ("loops", "floating", "packages", "contact")),
    "simscape": Format("Simscape Multibody", _simscape, ("density",)),
    "freecad": Format("FreeCAD", _freecad, ("density",)),
    "step": Format("STEP", _step, ("density", "fixed", "rigid")),
    "mjcf": Format("MJCF", _mjcf, ("start", "ignore", "contact", "packages")),
}
