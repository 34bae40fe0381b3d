"""Closed loops beside a URDF: given as an argument, or as YAML with `closed_loop`, `type`, `name_mot` and the joints
that are other ones than the URDF says (`joint_name`, `joint_type`: SPHERICAL, FIXED, UJOINT_XY and the like).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kompono.errors import FileError
from kompono.files.xml import read_bytes
from kompono.given import shown
from kompono.result.extras import extra

FORM = 'Use loops=[("link_a", "link_b", "3d")], "3d" for a ball and "6d" for a weld, or a YAML file.'
REPLACED = {"spherical": "ball", "ball": "ball", "fixed": "fixed"}
KINDS = {"3d": True, "6d": False, "spherical": True, "weld": False}  # whether it is a ball


@dataclass(frozen=True)
class Loop:
    """Two frames, by the names of links or joints, that are one point (`ball`) or one frame."""

    name: str
    first: str
    second: str
    ball: bool


@dataclass(frozen=True)
class Beside:
    """What is written beside a URDF: loops, joints with motors, and what joints are in place of what the URDF says:
    `ball`, `fixed`, or the two axes they turn about, one after the other (`xy`).
    """

    loops: tuple[Loop, ...] = ()
    motors: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)


def read_loops(given: Any, folder: Path) -> Beside:
    """Loops from a file, or from triples (first, second, kind)."""
    if given is None:
        return Beside()
    if isinstance(given, str | Path):
        return _from_yaml(Path(given) if Path(given).is_file() else folder / given)
    if not isinstance(given, Sequence) or not all(isinstance(each, list | tuple) and len(each) == 3 for each in given):
        raise FileError(f"loops = {shown(given)} are none.", path="loops", fix=FORM)
    return Beside(tuple(_loop(number, *each) for number, each in enumerate(given, 1)))


def _loop(number: int, first: Any, second: Any, kind: Any) -> Loop:
    word = (kind if isinstance(kind, str) else getattr(kind, "__name__", "")).lower()
    if word not in KINDS or not isinstance(first, str) or not isinstance(second, str):
        raise FileError(f"the loop {shown((first, second, kind))} is none.", path="loops", fix=FORM)
    return Loop(f"loop{number}", first, second, KINDS[word])


def _from_yaml(path: Path) -> Beside:
    yaml = extra("yaml", "urdf")
    try:
        found = yaml.safe_load(read_bytes(path).decode())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FileError(f"it is no YAML: {error}.", path=path.name) from None
    if not isinstance(found, dict) or not isinstance(found.get("closed_loop", []), list):
        raise FileError("it has no `closed_loop`.", path=path.name, fix="closed_loop: [[a, b]] and type: [3d].")
    pairs, kinds = found.get("closed_loop") or [], found.get("type") or []
    if len(pairs) != len(kinds) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise FileError("`closed_loop` are pairs, and `type` has one entry for each.", path=path.name)
    joints, types = found.get("joint_name") or [], found.get("joint_type") or []
    if not isinstance(joints, list) or not isinstance(types, list) or len(joints) != len(types):
        raise FileError("`joint_name` and `joint_type` have one entry for each joint.", path=path.name)
    replaced = {str(joint): _replacing(str(joint), str(kind), path) for joint, kind in zip(joints, types, strict=True)}
    loops = tuple(
        _loop(number, pair[0], pair[1], kind) for number, (pair, kind) in enumerate(zip(pairs, kinds, strict=True), 1)
    )
    return Beside(loops, tuple(map(str, found.get("name_mot") or [])), replaced)


def _replacing(joint: str, kind: str, path: Path) -> str:
    """What a joint is instead."""
    word = kind.lower()
    if word in REPLACED:
        return REPLACED[word]
    axes = word.removeprefix("ujoint_")
    if word == axes or len(axes) != 2 or not set(axes) <= set("xyz") or axes[0] == axes[1]:
        fix = "SPHERICAL, FIXED and UJOINT_XY (any two axes) are."
        raise FileError(f"the joint {joint} shall be {kind}, which is not read.", path=path.name, fix=fix)
    return axes
