"""An assembly as MJCF: bodies in a tree, joints of several motions on one body, loops as equalities.

Equalities are soft in MuJoCo: they are written as stiff as its solver takes them, but its answer is not the rigid one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kompono.edges.machines.taken import WORLD, Taken
from kompono.edges.machines.urdf import numbers
from kompono.errors import RunError
from kompono.files.assembly import Actuated, Coupled, Joined, Loaded, Noted, Part, Step, Summed
from kompono.files.place import Place

NONE = Loaded("")


def mjcf_text(taken: Taken) -> tuple[str, tuple[Noted, ...]]:
    """The file, and what it does not say."""
    return _Writer(taken).text()


class _Writer:
    def __init__(self, taken: Taken) -> None:
        self.taken, self.assembly = taken, taken.assembly
        self.lost = list(taken.lost)
        self.loads = {each.joint: each for each in self.assembly.loads}
        self.children: dict[str, list[Joined]] = {}
        for joined in taken.tree:
            self.children.setdefault(joined.first.path[0], []).append(joined)
        self.start: list[float] = []
        self.frames: dict[str, Place] = {WORLD: Place()}  # of bodies of the file, seen from ours

    def text(self) -> tuple[str, tuple[Noted, ...]]:
        world = self.assembly.parts[WORLD]
        assert isinstance(world, Part)
        inside = [*self._geoms(world, Place(), 4), *self._sites(WORLD, 4), *self._inside(WORLD, 4)]
        lines = [
            f'<mujoco model="{self.assembly.name}">',
            '  <compiler angle="radian" autolimits="true" inertiafromgeom="false"/>',
            f'  <option gravity="{numbers(self.assembly.gravity or (0.0, 0.0, 0.0))}"/>',
            '  <default><geom contype="0" conaffinity="0"/></default>',
            "  <worldbody>", *inside, "  </worldbody>",
            *self._section("tendon", self._tendons()), *self._section("equality", self._equalities()),
            *self._section("actuator", self._actuators()),
        ]  # fmt: skip
        if any(self.start):
            lines.append(f'  <keyframe><key name="start" qpos="{numbers(self.start)}"/></keyframe>')
        return "\n".join([*lines, "</mujoco>"]) + "\n", tuple(self.lost)

    def _section(self, tag: str, lines: Iterable[str]) -> list[str]:
        found = [f"    {line}" for line in lines]
        return [f"  <{tag}>", *found, f"  </{tag}>"] if found else []

    def _inside(self, name: str, indent: int) -> Iterable[str]:
        for joined in self.children.get(name, ()):
            yield from self._body(joined, indent)

    def _body(self, joined: Joined, indent: int) -> Iterable[str]:
        """A body with its joints; its frame is the second frame of the joint, where all coordinates are zero."""
        (parent,), (child,) = joined.first.path, joined.second.path
        part = self.assembly.parts[child]
        assert isinstance(part, Part)
        pad = " " * indent
        self.frames[child] = joined.second.place
        along = [step.before for step in joined.steps]
        zero = Place()
        for place in along:
            zero = zero @ place
        here = self.frames[parent].inverse() @ joined.first.place @ zero
        yield f'{pad}<body name="{child}"{placed(here)}>'
        reached = Place()
        for step in joined.steps:
            reached = reached @ step.before
            yield f"{pad}  {self._joint(step, zero.inverse() @ reached, here)}"
        frame = self.frames[child].inverse()
        turned = frame.rotation @ part.inertia @ frame.rotation.T
        xx, yy, zz = np.diag(turned)
        tensor = numbers((xx, yy, zz, turned[0, 1], turned[0, 2], turned[1, 2]))
        yield f'{pad}  <inertial pos="{numbers(frame.position)}" mass="{part.mass!r}" fullinertia="{tensor}"/>'
        yield from self._geoms(part, frame, indent + 2)
        yield from self._sites(child, indent + 2)
        yield from self._inside(child, indent + 2)
        yield f"{pad}</body>"

    def _joint(self, step: Step, at: Place, here: Place) -> str:
        """One motion, seen from the body's frame where all coordinates are zero."""
        if step.kind == "free":
            self.start += [*here.position.tolist(), *here.quaternion]
            return f'<freejoint name="{step.name}"/>'
        load, words = self.loads.get(step.name, NONE), [f'name="{step.name}"']
        if step.kind == "ball":
            self.start += list(step.start or (1.0, 0.0, 0.0, 0.0))
            words += ['type="ball"', f'pos="{numbers(at.position)}"']
            words += [f'range="{numbers((0.0, step.limits[1]))}"'] if step.limits[1] is not None else []
            return f"<joint {' '.join(words)}/>"
        self.start.append(float(step.start))
        words += ['type="slide"'] if step.kind == "slide" else []
        words += [f'axis="{numbers(at.rotation @ np.array(step.axis))}"', f'pos="{numbers(at.position)}"']
        if step.limits != (None, None):
            low, high = (1e9 * sign if x is None else x for x, sign in zip(step.limits, (-1, 1), strict=True))
            words.append(f'range="{numbers((low, high))}"')
        for key, value in (
            ("damping", load.damping), ("stiffness", load.stiffness), ("springref", load.rest),
            ("frictionloss", load.friction), ("armature", load.inertia),
        ):  # fmt: skip
            words += [f'{key}="{value!r}"'] if value else []
        return f"<joint {' '.join(words)}/>"

    def _geoms(self, part: Part, frame: Place, indent: int) -> Iterable[str]:
        for shape in part.shapes:
            place, sizes = frame @ Place.of(shape.position, shape.orientation), dict(shape.sizes)
            if shape.kind == "box":
                own = f'type="box" size="{numbers(x / 2 for x in sizes["size"])}"'
            elif shape.kind == "cylinder":
                own = f'type="cylinder" size="{numbers((sizes["radius"], sizes["length"] / 2))}"'
            elif shape.kind == "sphere":
                own = f'type="sphere" size="{sizes["radius"]!r}"'
            elif shape.kind == "ellipsoid":
                own = f'type="ellipsoid" size="{numbers(x / 2 for x in sizes["size"])}"'
            else:
                self.lost.append(Noted("lost", part.name, f"a shape of the kind {shape.kind}"))
                continue
            rgb = [int((shape.colour or "#888888")[k : k + 2], 16) / 255 for k in (1, 3, 5)]
            yield f'{" " * indent}<geom {own}{placed(place)} rgba="{numbers([*rgb, shape.opacity])}"/>'

    def _sites(self, name: str, indent: int) -> Iterable[str]:
        """Frames of loops on a body."""
        for loop in self.taken.loops:
            for letter, end in (("a", loop.first), ("b", loop.second)):
                if end.path == (name,):
                    place = self.frames[name].inverse() @ end.place
                    yield f'{" " * indent}<site name="{loop.name}_{letter}"{placed(place)}/>'

    def _equalities(self) -> Iterable[str]:
        for loop in self.taken.loops:
            kind = "connect" if loop.steps else "weld"
            yield f'<{kind} name="{loop.name}" site1="{loop.name}_a" site2="{loop.name}_b"/>'
        for each in self.assembly.connections:
            if isinstance(each, Coupled):
                if len(each.coefficients) > 5:
                    raise RunError("MJCF has polynomials of the fourth degree at most.", path=each.name)
                factors = numbers([*each.coefficients, *[0.0] * (5 - len(each.coefficients))])
                second = f' joint2="{each.second}"' if each.second else ""
                yield f'<joint name="{each.name}" joint1="{each.first}"{second} polycoef="{factors}"/>'
            elif isinstance(each, Summed):
                yield f'<tendon name="{each.name}" tendon1="{each.name}_sum" polycoef="{each.value!r} 0 0 0 0"/>'

    def _tendons(self) -> Iterable[str]:
        for each in self.assembly.connections:
            if isinstance(each, Summed):
                terms = "".join(f'<joint joint="{joint}" coef="{factor!r}"/>' for joint, factor in each.terms)
                yield f'<fixed name="{each.name}_sum">{terms}</fixed>'

    def _actuators(self) -> Iterable[str]:
        for each in self.assembly.actuators:
            yield self._actuator(each)

    def _actuator(self, each: Actuated) -> str:
        ((joint, gear),) = each.terms
        words = [f'name="{each.name}"', f'joint="{joint}"', f'gear="{gear!r}"', f'gainprm="{each.gain!r}"']
        if any(each.bias):
            words += ['biastype="affine"', f'biasprm="{numbers(each.bias)}"']
        for key, pair in (("ctrl", each.control_limits), ("force", each.force_limits)):
            words += [f'{key}limited="true" {key}range="{numbers(pair)}"'] if pair is not None else []
        return f"<general {' '.join(words)}/>"


def placed(place: Place) -> str:
    """Where an element is, if not at the frame itself."""
    words = f' pos="{numbers(place.position)}"' if place.position.any() else ""
    return words + ("" if place.upright else f' quat="{numbers(place.quaternion)}"')
