"""An assembly as URDF, with its loops as YAML beside it.

A link has its frame where its joint is. Joints of several motions have links without mass between them. URDF has no
gravity, no springs, no inertia on joints and no starts: these are listed as lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

import numpy as np

from kompono.edges.machines.taken import WORLD, Taken
from kompono.errors import RunError
from kompono.files.assembly import Actuated, Coupled, Joined, Noted, Part, Step, Summed
from kompono.files.place import Place

KINDS = {"slide": "prismatic", "free": "floating"}


def urdf_text(taken: Taken) -> tuple[str, tuple[Noted, ...]]:
    """The file, and what it does not say."""
    return _Writer(taken).text()


def loops_text(taken: Taken) -> str:
    """The loops as YAML; empty if there are none."""
    if not taken.loops:
        return ""
    pairs = [f"[{loop.name}_a, {loop.name}_b]" for loop in taken.loops]
    kinds = ["3d" if loop.steps else "6d" for loop in taken.loops]
    return f"closed_loop: [{', '.join(pairs)}]\ntype: [{', '.join(kinds)}]\n"


class _Writer:
    def __init__(self, taken: Taken) -> None:
        self.taken, self.assembly = taken, taken.assembly
        self.lost = list(taken.lost)
        self.loads = {each.joint: each for each in self.assembly.loads}
        self.mimics: dict[str, Coupled] = {}
        self.frames: dict[str, Place] = {WORLD: Place()}  # of links, seen from their bodies
        self.lines: list[str] = []

    def text(self) -> tuple[str, tuple[Noted, ...]]:
        self._couplings()
        self.lines += [f'<robot name="{self.assembly.name}">', *self._link(self.assembly.parts[WORLD])]
        for joined in self.taken.tree:
            self._joint(joined)
        for loop in self.taken.loops:
            for letter, end in (("a", loop.first), ("b", loop.second)):
                (body,) = end.path
                place = self.frames[body].inverse() @ end.place
                self.lines += [f'  <link name="{loop.name}_{letter}"/>']
                self.lines += self._jointed(f"{loop.name}_{letter}_at", "fixed", body, f"{loop.name}_{letter}", place)
        for each in self.assembly.actuators:
            self._transmission(each)
        if any(self.assembly.gravity or ()):
            self.lost.append(Noted("lost", "gravity", "URDF has none; give it to who reads the file"))
        return "\n".join([*self.lines, "</robot>"]) + "\n", tuple(self.lost)

    def _couplings(self) -> None:
        for each in self.assembly.connections:
            if isinstance(each, Summed) or (isinstance(each, Coupled) and each.second is None):
                raise RunError("URDF couples two joints at a time.", path=each.name, fix="Write MJCF.")
            if isinstance(each, Coupled):
                if each.first in self.mimics:
                    raise RunError("URDF lets a joint follow one other joint.", path=each.name, fix="Write MJCF.")
                self.mimics[each.first] = each

    def _link(self, part: object) -> Iterable[str]:
        assert isinstance(part, Part)
        frame = self.frames[part.name].inverse()  # the body seen from the link
        yield f'  <link name="{part.name}">'
        if part.mass:
            xx, yy, zz = np.diag(part.inertia)
            xy, xz, yz = part.inertia[0, 1], part.inertia[0, 2], part.inertia[1, 2]
            values = (("ixx", xx), ("ixy", xy), ("ixz", xz), ("iyy", yy), ("iyz", yz), ("izz", zz))
            words = " ".join(f'{k}="{float(v)!r}"' for k, v in values)
            yield f'    <inertial>{origin(frame)}<mass value="{part.mass!r}"/><inertia {words}/></inertial>'
        for shape in part.shapes:
            place = frame @ Place.of(shape.position, shape.orientation)
            sizes = dict(shape.sizes)
            if shape.kind == "box":
                inner = f'<box size="{numbers(sizes["size"])}"/>'
            elif shape.kind == "cylinder":
                inner = f'<cylinder length="{sizes["length"]!r}" radius="{sizes["radius"]!r}"/>'
            elif shape.kind == "sphere":
                inner = f'<sphere radius="{sizes["radius"]!r}"/>'
            elif shape.kind == "mesh":
                scale = np.broadcast_to(np.asarray(sizes["scale"], dtype=float), (3,))
                inner = f'<mesh filename={quoteattr("file://" + sizes["file"])} scale="{numbers(scale)}"/>'
            else:
                self.lost.append(Noted("lost", part.name, f"a shape of the kind {shape.kind}"))
                continue
            material = ""
            if shape.colour:
                rgb = [int(shape.colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
                rgba = numbers([*rgb, shape.opacity])
                material = f'<material name="{shape.colour[1:]}"><color rgba="{rgba}"/></material>'
            yield f"    <visual>{origin(place)}<geometry>{inner}</geometry>{material}</visual>"
        yield "  </link>"

    def _joint(self, joined: Joined) -> None:
        (parent,), (child,) = joined.first.path, joined.second.path
        self.frames[child] = joined.second.place
        place = self.frames[parent].inverse() @ joined.first.place
        for step in joined.steps[:-1]:
            between = f"{step.name}_between"
            self.lines.append(f'  <link name="{between}"/>')
            self._step(step, parent, between, place)
            parent, place = between, Place()
        self.lines += self._link(self.assembly.parts[child])
        if not joined.steps:
            self.lines += self._jointed(joined.name, "fixed", parent, child, place)
        else:
            self._step(joined.steps[-1], parent, child, place)

    def _step(self, step: Step, parent: str, child: str, place: Place) -> None:
        if step.kind == "ball":
            raise RunError("URDF has no ball joints.", path=step.name, fix="Write MJCF, or use three hinges.")
        inner, limited = [], step.limits != (None, None)
        if step.kind != "free":
            inner.append(f'<axis xyz="{numbers(step.axis)}"/>')
        if limited or step.kind == "slide":
            low, high = (1e9 * sign if x is None else x for x, sign in zip(step.limits, (-1, 1), strict=True))
            inner.append(f'<limit lower="{low!r}" upper="{high!r}" effort="1e9" velocity="1e9"/>')
        load = self.loads.get(step.name)
        if load is not None:
            if load.damping or load.friction:
                inner.append(f'<dynamics damping="{load.damping!r}" friction="{load.friction!r}"/>')
            for what, value in (("a spring", load.stiffness), ("inertia on the coordinate", load.inertia)):
                if value:
                    self.lost.append(Noted("lost", step.name, f"{what}, which URDF has not"))
        if step.name in self.mimics:
            each = self.mimics[step.name]
            offset, ratio = (*each.coefficients, 0.0)[:2]
            inner.append(f'<mimic joint="{each.second}" multiplier="{ratio!r}" offset="{offset!r}"/>')
        kind = ("revolute" if limited else "continuous") if step.kind == "turn" else KINDS[step.kind]
        if step.start:
            self.lost.append(Noted("lost", step.name, f"its start {step.start!r}"))
        self.lines += self._jointed(step.name, kind, parent, child, place @ step.before, "".join(inner))

    def _jointed(self, name: str, kind: str, parent: str, child: str, place: Place, inner: str = "") -> list[str]:
        ends = f'<parent link="{parent}"/><child link="{child}"/>'
        return [f'  <joint name="{name}" type="{kind}">{ends}{origin(place)}{inner}</joint>']

    def _transmission(self, each: Actuated) -> None:
        if len(each.terms) != 1 or any(each.bias) or each.lag is not None:
            self.lost.append(Noted("lost", each.name, "an actuator that is more than a motor"))
            return
        if each.control_limits or each.force_limits:
            self.lost.append(Noted("lost", each.name, "limits of an actuator"))
        ((joint, gear),) = each.terms
        self.lines.append(
            f'  <transmission name="{each.name}_transmission"><type>SimpleTransmission</type><joint name="{joint}"/>'
            f'<actuator name="{each.name}"><mechanicalReduction>{gear * each.gain!r}</mechanicalReduction></actuator>'
            "</transmission>"
        )


def numbers(values: Iterable[float]) -> str:
    """Numbers with all their digits."""
    return " ".join(repr(float(value)) for value in values)


def origin(place: Place) -> str:
    """An `<origin>`; nothing where it is the frame itself."""
    if place.upright and not place.position.any():
        return ""
    return f'<origin xyz="{numbers(place.position)}" rpy="{numbers(roll_pitch_yaw(place.rotation))}"/>'


def roll_pitch_yaw(rotation: np.ndarray) -> tuple[float, float, float]:
    """Angles of R_z(yaw) R_y(pitch) R_x(roll), exact to rounding where the pitch is a right angle, too."""
    r = np.asarray(rotation, dtype=float)
    flat = float(np.hypot(r[0, 0], r[1, 0]))
    pitch = float(np.arctan2(-r[2, 0], flat))
    yaw = float(np.arctan2(r[1, 0], r[0, 0])) if flat > 1e-09 else 0.0
    c, s = np.cos(yaw), np.sin(yaw)
    roll = float(np.arctan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1]))
    return roll, pitch, yaw
