"""From a model to its scene: bodies by their shapes, joints, forces and couplings by signs of a fitting size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kompono.model.body import Carrier, Frame, Ground
from kompono.model.lumped import Lumped
from kompono.model.subsystem import Subsystem
from kompono.scene import loads, marks
from kompono.scene.bodies import PALETTE, body_shapes, bounds
from kompono.scene.marks import Sign
from kompono.scene.scene import Scene, SceneBody, SceneMember, ScenePiece
from kompono.scene.values import SymbolValues
from kompono.spatial.numeric import quaternions
from kompono.translate.declared.elaborate import Elaborated, elaborate
from kompono.translate.structure.lumps import without

GROUND = "#8b9096"


def describe(
    model: Subsystem, *, times: np.ndarray | None = None, parameters: Mapping[str, float] | None = None
) -> Scene:
    """The scene of a model; `times` (n,) [s] are where the motion of moving grounds shall be known."""
    whole = elaborate(model)
    seen = without(whole, [part for part in whole.subsystems if isinstance(part, Lumped)])  # they are no bodies to see
    return _Describer(seen, SymbolValues(model, parameters)).scene(np.zeros(1) if times is None else times)


class _Describer:
    def __init__(self, model: Elaborated, values: SymbolValues) -> None:
        self.model, self.values = model, values
        self.carriers: list[Any] = [*model.bodies, *model.grounds]
        self.number = {carrier: k for k, carrier in enumerate(self.carriers)}
        self.points: list[list[np.ndarray]] = [[] for _ in self.carriers]
        self.parts: list[SceneMember] = []
        self.pieces: list[ScenePiece] = []
        self.reach = np.zeros(len(self.carriers))
        self._colours: dict[tuple[Any, str], str] = {}

    def scene(self, times: np.ndarray) -> Scene:
        for element in (*self.model.joints, *self.model.constraints, *self.model.forces):
            for frame in (element.first, element.second):
                if frame is not None:
                    self.points[self.number[frame.body]].append(self.values.place(frame)[0])
        for k, carrier in enumerate(self.carriers):
            self._carrier(k, carrier)
        self.size = float(self.reach.max(initial=0.0)) or 1.0
        for kind, elements in (("joint", self.model.joints), ("constraint", self.model.constraints)):
            for element in elements:
                self._element(kind, element, lambda sign, e=element: marks.draw(sign, e))
        for force in self.model.forces:
            length = self._length(force)
            self._element("force", force, lambda sign, f=force, n=length: loads.draw_force(sign, f, self.values, n))
        for effort in self.model.efforts:
            self._on_joint("force", effort, effort.joint, lambda sign, e=effort: loads.draw_effort(sign, e))
        for coupling in self.model.couplings:
            for joint in coupling.joints:
                self._on_joint(
                    "coupling", coupling, joint, lambda sign, c=coupling, j=joint: loads.draw_coupling(sign, c, j)
                )
        gravity = loads.gravity_of(self.model.fields, self.values)
        up = (0.0, 0.0, 1.0) if gravity is None else tuple((-gravity / np.linalg.norm(gravity)).tolist())
        moving = tuple(self._moving(carrier, times) for carrier in self.carriers)
        name = type(self.model.model).__name__
        return Scene(name, moving, tuple(self.parts), tuple(self.pieces), up, self.size)

    def _part(self, element: Any, kind: str, at: Frame | None = None) -> int:
        path = self.model.path(element)
        if not self.parts or self.parts[-1].path != path:
            on, place, _ = (None, (0.0, 0.0, 0.0), None) if at is None else self._located(at)
            self.parts.append(SceneMember(path, kind, type(element).__name__, on, tuple(map(float, place))))
        return len(self.parts) - 1

    def _carrier(self, k: int, carrier: Carrier) -> None:
        """A body or ground with its shapes; its reach is that of its shapes and joint points."""
        kind = "ground" if isinstance(carrier, Ground) else "body"
        shapes = body_shapes(carrier, self.points[k], self.values)
        if shapes or kind == "body":
            part = self._part(carrier, kind)
            for shape in shapes:
                colour = shape.colour or (GROUND if kind == "ground" else self._colour(carrier))
                self.pieces.append(
                    ScenePiece(
                        part, shape.kind, shape.sizes, k, shape.position, shape.orientation, colour, shape.opacity
                    )
                )
        if kind == "body":
            corners = np.abs(np.stack(bounds(shapes)))
            self.reach[k] = max([float(corners.max()), *(float(np.linalg.norm(p)) for p in self.points[k])])

    def _colour(self, carrier: Carrier) -> str:
        """Bodies that play the same role in equal components have the same colour."""
        role = (type(carrier.owner), carrier._name)
        return self._colours.setdefault(role, PALETTE[len(self._colours) % len(PALETTE)])

    def _element(self, kind: str, element: Any, draw: Any) -> None:
        part = self._part(element, kind, element.second)
        first, second = element.first or element.second, element.second
        self.pieces += draw(Sign(part, self._located(first), self._located(second), self._sign_size(first, second)))

    def _on_joint(self, kind: str, element: Any, joint: Any, draw: Any) -> None:
        part = self._part(element, kind, joint.second)
        size = self._sign_size(joint.first, joint.second)
        self.pieces += draw(Sign(part, self._located(joint.first), self._located(joint.second), size))

    def _located(self, frame: Frame) -> tuple[int, np.ndarray, np.ndarray]:
        position, turn = self.values.place(frame)
        return self.number[frame.body], position, turn

    def _sign_size(self, *frames: Frame) -> float:
        """Signs follow the smaller of the bodies they connect, within bounds set by the whole."""
        near = [self.reach[self.number[frame.body]] for frame in frames]
        smallest = min([reach for reach in near if reach > 0], default=self.size)
        return float(np.clip(0.1 * smallest, 0.006 * self.size, 0.07 * self.size))

    def _length(self, force: Any) -> float:
        """About the length of the line of a force: its rest, else the smaller of the bodies."""
        rest = self.values.array(getattr(force, "rest", 0.0))
        if rest is not None and rest.size == 1 and float(rest.ravel()[0]) > 0:
            return float(rest.ravel()[0])
        return 12 * self._sign_size(*(frame for frame in (force.first, force.second) if frame is not None))

    def _mass(self, carrier: Any) -> float:
        """Mass [kg] of a body, 0 if it is not known without more than parameters."""
        solid = getattr(carrier, "solid", None)
        found = self.values.array(solid.mass) if solid is not None else None
        mass = float(found.ravel()[0]) if found is not None and found.size == 1 else 0.0
        return mass if np.isfinite(mass) else 0.0

    def _moving(self, carrier: Carrier, times: np.ndarray) -> SceneBody:
        path = self.model.path(carrier)
        if not isinstance(carrier, Ground):
            return SceneBody(path, "body", None, mass=self._mass(carrier))
        position, turn = self.values.motion(carrier, times)
        rows = np.column_stack([position, quaternions(turn)])
        pose = tuple(rows[0].tolist())
        if len(rows) == 1:
            return SceneBody(path, "ground", pose)
        return SceneBody(path, "ground", pose, tuple(map(tuple, np.column_stack([times, rows]).tolist())))
