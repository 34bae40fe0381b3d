"""The door: a model from a file, whatever program wrote it, chosen by what is in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kompono.errors import FileError, RunError, nearest
from kompono.files.assembly import Assembly
from kompono.files.build import Choices, build
from kompono.files.formats import FORMATS, sniffed
from kompono.files.machine import Machine
from kompono.given import flag, numbers, shown, texts

_ALWAYS = ("ignore", "repair", "limits", "friction", "gravity", "masses")  # options for all kinds of files
_CORRECT = "Correct it in the file."
STANDARD = (0.0, 0.0, -9.81)
_GRAVITY = "Use gravity=(0, 0, -9.81), or gravity=False for none."


def load(
    file: str | Path,
    *,
    ignore: Iterable[str] = (),
    repair: bool = False,
    limits: bool = True,
    friction: bool = True,
    gravity: Any = True,
    masses: Mapping[str, float] | None = None,
    **options: Any,
) -> Machine:
    """The model of a URDF, MJCF, Simscape Multibody XML, FreeCAD or STEP file, as a `Subsystem` to run or to build on.

    `ignore`: names of connections to leave out. `repair`: take the nearest possible inertia where one is impossible.
    `limits`, `friction`: whether those of joints are taken. `gravity`: that of the file (else 9.81 m/s^2 down z), a
    vector, or False. `masses` [kg] by part replace those of the file; inertias are scaled along.
    URDF, MJCF: `contact`: "none", "ground" (shapes on planes; of URDF the plane z = 0) or, of MJCF, "all" (spheres with
    one another as well); it is rigid, with friction.
    URDF: `loops` (a YAML file or [(first, second, "3d" or "6d")]), `floating`, `packages` (folders of meshes).
    MJCF: `start` (a keyframe), `packages` (folders it may include from, beside its own).
    CAD: `density` [kg/m^3], one or by part; of bare STEP also `fixed` (parts held on the ground), `rigid` (assemblies
    that are one body). `machine.imported` tells what became of the file.
    """
    fix = 'Give names of the file: ignore=["tangent_3"].'
    names = texts(ignore, "ignore =", "load", error=RunError, fix=fix)
    assembly = read(file, masses=masses, ignore=names, **options)
    if gravity is True:
        gravity = assembly.gravity or STANDARD
    elif gravity is False or gravity is None:
        gravity = None
    else:
        gravity = tuple(numbers(gravity, (3,), "gravity", "load", fix=_GRAVITY).tolist())
    choices = Choices(
        flag(repair, "repair =", "load"), flag(limits, "limits =", "load"), flag(friction, "friction =", "load"),
        frozenset(names), gravity,
    )  # fmt: skip
    return build(assembly, choices)


def read(file: str | Path, *, masses: Mapping[str, float] | None = None, **options: Any) -> Assembly:
    """What a file says, before anything is made of it."""
    if not isinstance(file, str | Path) or "\0" in str(file):
        raise RunError(f"{shown(file)} is no name of a file.", path="load", fix='Use e.g. load("arm.urdf").')
    path = Path(file)
    if path.is_dir():
        raise FileError(f"{str(file)!r} is a folder.", path="load", fix="Name a file in it.")
    if not path.is_file():
        fix = f"Names start from {str(Path.cwd())!r}."
        raise FileError(f"there is no file {str(file)!r}.", path="load", fix=fix)
    if masses is not None and not isinstance(masses, Mapping):
        fix = 'Give kilograms by part: masses={"arm": 2.0}.'
        raise RunError(f"masses = {shown(masses)} are no mapping.", path="load", fix=fix)
    try:
        kind, content = sniffed(path)
    except FileError as error:
        raise error.advised(_CORRECT) from None
    reader = FORMATS[kind]
    if "ignore" not in reader.options:
        options.pop("ignore", None)  # the builder leaves it out
    unknown = [name for name in options if name not in reader.options]
    if unknown:
        known = dict.fromkeys((*reader.options, *_ALWAYS))
        fix = nearest(unknown[0], known) or f"There are {', '.join(known)}."
        raise RunError(f"{unknown[0]!r} is no option for {reader.name} files.", path="load", fix=fix)
    try:
        assembly = reader.read(content, path, **options)
    except FileError as error:
        raise error.advised(_CORRECT) from None
    return assembly if not masses else weighed(assembly, masses)


def weighed(assembly: Assembly, masses: Mapping[str, float]) -> Assembly:
    """An assembly with other masses of parts; inertias are scaled with them."""
    from kompono.files.weighed import replaced  # seldom asked for

    return replaced(assembly, masses)
