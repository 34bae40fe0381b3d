"""A compiled MuJoCo model with names for everything, and what is refused or told of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kompono.errors import FileError
from kompono.files.assembly import End, Noted
from kompono.files.place import Place

WORLD = "world"
KINDS = ("free", "ball", "slide", "turn")


class Compiled:
    """An `MjModel` (`m`), the MuJoCo package (`mujoco`), and names of its parts."""

    def __init__(self, spoken: tuple[Any, Any], file: str, ignore: frozenset[str], notes: list[Noted]) -> None:
        self.mujoco, self.m = spoken
        self.file, self.ignore, self.notes = file, ignore, notes

    def name(self, kind: str, index: int, otherwise: str) -> str:
        """The name of an object, or one made from its number."""
        found = self.mujoco.mj_id2name(self.m, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind}"), int(index))
        return found or f"{otherwise}{index}"

    def body(self, index: int) -> str:
        """The name of a body."""
        return self.name("BODY", index, "body")

    def joint(self, index: int) -> str:
        """The name of a joint; without one, that of its body and its number there."""
        found = self.name("JOINT", index, "")
        if found != str(index):
            return found
        body = int(self.m.jnt_bodyid[index])
        return f"{self.body(body)}_joint{index - int(self.m.body_jntadr[body]) + 1}"

    def kind(self, joint: int) -> str:
        """free, ball, slide or turn."""
        return KINDS[int(self.m.jnt_type[joint])]

    def joints_of(self, body: int) -> range:
        """The joints of a body."""
        first = int(self.m.body_jntadr[body])
        return range(first, first + int(self.m.body_jntnum[body]))

    def dofs(self, joint: int) -> range:
        """The speeds of a joint."""
        first = int(self.m.jnt_dofadr[joint])
        return range(first, first + {"free": 6, "ball": 3}.get(self.kind(joint), 1))

    def site(self, index: int) -> End:
        """The frame of a site on its body."""
        body, place = int(self.m.site_bodyid[index]), Place.of(self.m.site_pos[index], self.m.site_quat[index])
        return End((self.body(body) if body else WORLD,), place)

    def constant(self, kind: str, name: str) -> int:
        """A number of MuJoCo's: `constant("mjtEq", "mjEQ_WELD")`."""
        return int(getattr(getattr(self.mujoco, kind), name))

    def word(self, kind: str, number: int) -> str:
        """The last word of the name of a number of MuJoCo's, in small letters."""
        return getattr(self.mujoco, kind)(int(number)).name.partition("_")[2].lower()

    def disabled(self, flag: str) -> bool:
        """Whether an option switches something off."""
        return bool(self.m.opt.disableflags & self.constant("mjtDisableBit", f"mjDSBL_{flag}"))

    def note(self, fate: str, name: str, words: str) -> None:
        """A line of the table."""
        self.notes.append(Noted(fate, name, words))

    def refuse(self, name: str, what: str) -> None:
        """Refuse an element by name, unless it is to be ignored."""
        if not self.left_out(name, what):
            raise FileError(f"{name}: {what} is not read.", path=self.file, fix=f'Leave it out: ignore=["{name}"].')

    def left_out(self, name: str, what: str) -> bool:
        """Whether something is to be ignored; then that is told."""
        if name in self.ignore:
            self.note("ignored", name, f"{what}, as asked")
        return name in self.ignore

    def refuse_whole(self) -> None:
        """What concerns the model as a whole."""
        m = self.m
        for body in np.flatnonzero(m.body_mocapid >= 0):
            told = "a mocap body: it stands where the file puts it"
            self.note("assumed", self.body(int(body)), told)
        if m.nflex:
            self.refuse("flex", "a flexible body")
        if m.nplugin:
            self.refuse("plugin", "a plugin")
        poly = ("dof_dampingpoly", "jnt_stiffnesspoly", "tendon_dampingpoly", "tendon_stiffnesspoly")
        for field in (*poly, "jnt_springyield", "actuator_armature", "actuator_damping", "actuator_dampingpoly"):
            values = np.asarray(getattr(m, field, np.zeros(0)))
            if np.isfinite(values).all() and values.any():
                self.refuse(field, "this property")

    def count(self) -> None:
        """What is left out as a whole, with how many there are."""
        m = self.m
        counts = {"sensors": m.nsensor, "cameras": m.ncam}
        for what, count in counts.items():
            if count:
                self.note("ignored", what, f"{count} of them")
        if m.neq:
            self.note("assumed", "equalities", "they are rigid: solref and solimp are not taken")
        if m.jnt_limited.any():
            self.note("assumed", "limits", "they are rigid stops without rebound: solref and solimp are not taken")


def finite(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Two numbers as a pair."""
    return float(values[0]), float(values[1])


def wrapped(model: Compiled, tendon: int) -> range:
    """What a tendon runs through, by number."""
    first = int(model.m.tendon_adr[tendon])
    return range(first, first + int(model.m.tendon_num[tendon]))


def armatures(model: Compiled) -> Iterator[tuple[str, float]]:
    """Bodies on free joints that have inertia of their own [kg, kg m^2]."""
    m = model.m
    for joint in range(m.njnt):
        size = float(m.dof_armature[m.jnt_dofadr[joint]])
        if model.kind(joint) == "free" and size:
            yield model.body(int(m.jnt_bodyid[joint])), size
