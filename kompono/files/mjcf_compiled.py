"""From an MJCF file to MuJoCo's compiled model; meshes that are not there are left out where no
mass depends on them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import FileError
from kompono.files.assembly import Noted
from kompono.files.xml import Node, parse, read_bytes
from kompono.result.extras import extra

MOST_BODIES = 20_000
DEEPEST = 20  # includes in includes that are looked at; MuJoCo refuses cycles
_REPEATS = {"replicate": 2_000, "composite": 2_000, "flexcomp": 2_000}


def compiled(root: Node, file: Path, folders: Iterable[Path] = ()) -> tuple[tuple[Any, Any], list[Noted]]:
    """(the package, the model) and what was left out; includes lie beside the file, or in `folders`."""
    _refuse_endless(root)
    _refuse_outside(root, file, [file.resolve().parent, *(folder.resolve() for folder in folders)])
    mujoco = extra("mujoco", "mjcf")
    notes: list[Noted] = []
    try:
        with _heard(mujoco, notes):
            spec = mujoco.MjSpec.from_file(str(file))
            try:
                return (mujoco, spec.compile()), notes
            except ValueError as error:
                if "opening file" not in str(error) and "not found" not in str(error).lower():
                    raise
            spec = mujoco.MjSpec.from_file(str(file))
            _without_files(mujoco, spec, file, notes)
            return (mujoco, spec.compile()), notes
    except FileError:
        raise
    except Exception as error:  # its compiler speaks through many kinds of errors
        words = " ".join(str(error).split())
        raise FileError(f"MuJoCo cannot compile it: {words[:400]}.", path=file.name) from None


@contextmanager
def _heard(mujoco: Any, notes: list[Noted]) -> Iterator[None]:
    """Warnings of MuJoCo go into the table, not into a file of its own in the current folder."""
    before, said = mujoco.get_mju_user_warning(), []
    mujoco.set_mju_user_warning(said.append)
    try:
        with warnings.catch_warnings(record=True) as others:
            warnings.simplefilter("always")
            yield
            said += [each.message for each in others]
    finally:
        mujoco.set_mju_user_warning(before)
        notes += [Noted("assumed", "as MuJoCo warns", " ".join(str(words).split())) for words in dict.fromkeys(said)]


def _refuse_outside(root: Node, file: Path, folders: list[Path]) -> None:
    """Files that would be taken in from elsewhere than beside the first one, or the folders given; those they include
    as well. All of them are named at once.
    """
    outside: dict[str, tuple[str, Path]] = {}
    _look_at(root, file, folders, outside)
    if outside:
        name, (where, _) = next(iter(outside.items()))
        allowed = ", ".join(f'"{folder}"' for folder in dict.fromkeys(folder for _, folder in outside.values()))
        told = "which lies" if len(outside) == 1 else f"and {len(outside) - 1} more, which lie"
        fix = f"Put that into the folder of the file, or allow where it is: packages=[{allowed}]."
        raise FileError(f"it includes {name!r}, {told} elsewhere.", path=where, fix=fix)


def _look_at(root: Node, file: Path, folders: list[Path], outside: dict[str, tuple[str, Path]], depth: int = 0) -> None:
    _refuse_nan(root)
    for node in root.walk():
        name = (node.get("file") or "") if node.tag == "include" else ""
        places = [(folder / name).resolve() for folder in (folders[0], file.resolve().parent)] if name else []
        for path in dict.fromkeys(places):
            if not any(path.is_relative_to(folder) for folder in folders):
                outside.setdefault(name, (node.where, (file.parent / name).parent))
            elif path.is_file() and depth < DEEPEST:
                _look_at(parse(read_bytes(path), path.name), path, folders, outside, depth + 1)
                break


def _refuse_nan(root: Node) -> None:
    """Numbers that are none, which MuJoCo takes for numbers that are not given."""
    for node in root.walk():
        for name, text in node.attributes.items():
            words = text.lower().split()
            if "nan" in words and name not in ("name", "class", "childclass") and all(map(_is_number, words)):
                raise FileError(f'{name}="{text}" of <{node.tag}> is not a number.', path=node.where)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _refuse_endless(root: Node) -> None:
    """Files that would fill the memory before they are refused."""
    bodies = 0
    for node in root.walk():
        bodies += node.tag == "body"
        if node.tag in _REPEATS:
            words = (node.get("count") or "1").split()
            count = np.prod([float(word) for word in words if word.replace(".", "").isdigit()] or [1.0])
            if count > _REPEATS[node.tag]:
                raise FileError(f"<{node.tag}> repeats something {count:.0f} times.", path=node.where)
    if bodies > MOST_BODIES:
        raise FileError(f"there are {bodies} bodies, more than {MOST_BODIES}.", path=root.where)


def _without_files(mujoco: Any, spec: Any, file: Path, notes: list[Noted]) -> None:
    """Take out meshes, textures and height fields whose files are not there, with the geoms that show them."""
    folder = file.parent / (spec.meshdir or "")
    lost = {mesh.name for mesh in spec.meshes if mesh.file and not (folder / mesh.file).is_file()}
    lost |= {field.name for field in spec.hfields if field.file}
    gone = 0
    for geom in list(spec.geoms):
        if geom.meshname in lost or (geom.hfieldname and geom.hfieldname in lost):
            body = geom.parent
            weighs = geom.mass > 0 or (geom.mass != 0 and geom.density > 0)
            low, high = spec.compiler.inertiagrouprange
            if weighs and not body.explicitinertial and _moves(body) and low <= geom.group <= high:
                raise FileError(
                    f"the mass of {body.name or 'a body'} is that of the mesh {geom.meshname}, which is not there.",
                    path=file.name, fix="Put its meshes beside the file, or give the body an <inertial>.",
                )  # fmt: skip
            spec.delete(geom)
            gone += 1
    for each in [*spec.skins, *[m for m in spec.meshes if m.name in lost], *[h for h in spec.hfields if h.file]]:
        spec.delete(each)
    for geom in spec.geoms:
        geom.material = ""
    for site in spec.sites:
        site.material = ""
    for tendon in spec.tendons:
        tendon.material = ""
    for each in [*spec.materials, *spec.textures]:
        spec.delete(each)
    notes.append(Noted("ignored", "looks", f"{gone} shapes whose meshes are not there, and materials"))


def _moves(body: Any) -> bool:
    """Whether a body of a spec hangs on a joint."""
    while body is not None and body.name != "world":
        if list(body.joints):
            return True
        body = body.parent
    return False
