"""Numbers of large trees are data: cells that differ in them are of one type, and an edit changes data alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from translate.test_nested import check_same_rates, nested

from kompono import Body, Ground, Subsystem
from kompono.compile import compile_program
from kompono.library import Gravity, Prismatic, Revolute, SpringDamper, solids
from kompono.translate import Translation
from kompono.translate.engines.large.engine import NestedEngine
from kompono.translate.program import TableRoutine


class Arm(Subsystem):
    """Two rods with a slide and a spring between them."""

    def __init__(self, mass: float, length: float, k: float) -> None:
        self.rods = [Body(solids.rod(mass=mass, length=length, radius=0.02)) for _ in range(2)]
        one, two = self.rods
        self.slide = Prismatic(one.at(0, 0.01, -length / 2), two.at(0, 0, 0.5 * length), axis="z", displacement=0.01)
        self.spring = SpringDamper(one, two, k=k, c=1.0, rest=0.1)
        self.first, self.last = one, two
        self.expose(one, two)


class Crown(Subsystem):
    """`count` arms on a hub, two more on each of these; `edited` counts what of the seventh is larger."""

    def __init__(self, count: int = 5, different: float = 0.0, g: float = 9.81, **edited: float) -> None:
        self.ground, self.gravity = Ground(), Gravity((0.0, 0.0, -g))
        self.hub = Body(solids.box(mass=2.0, size=(0.1, 0.2, 0.3)))
        self.pin = Revolute(self.ground, self.hub.at(0, 0, 0.1), axis="y", angle=0.3)
        share = 1 + different * np.random.default_rng(5).uniform(-0.1, 0.1, (3 * count, 3))
        arms: list[Arm] = []
        pins: list[Revolute] = []
        for k, (mass, length, stiffness) in enumerate(share.tolist()):
            more = edited if k == 6 else {}
            mass, length, stiffness = mass + more.get("mass", 0), 0.2 * length, 40 * stiffness + more.get("k", 0)
            arms.append(Arm(mass, length, stiffness))
            above = self.hub.at(0, 0.02, -0.1) if k < count else arms[k % count].last.at(0.03, 0, -0.1)
            low = 0.1 * (1 + more.get("place", 0.0))
            pins.append(Revolute(above, arms[-1].first.at(0, 0, low), axis="xy"[k % 2], angle=0.1))
        self.arms, self.pins = arms, pins


def cells(model: Subsystem) -> NestedEngine:
    engine = nested(model).engine
    assert isinstance(engine, NestedEngine)
    return engine


def code(translation: Translation) -> list[TableRoutine]:
    """What native code is made of: routines without the numbers that are data."""
    routines = [translation.program.routines[name] for name in ("derivative", "outputs")]
    found = [one for one in routines if isinstance(one, TableRoutine)]
    assert len(found) == 2
    return found


def same(one: TableRoutine, other: TableRoutine) -> bool:
    tables = zip(
        (*one.tables, one.sweeps, one.tasks, one.phases),
        (*other.tables, other.sweeps, other.tasks, other.phases),
        strict=True,
    )
    sizes = [(r.inputs, r.outputs, r.workspace, len(r.numbers), len(r.tables), r.loops) for r in (one, other)]
    return sizes[0] == sizes[1] and all(np.array_equal(a, b) for a, b in tables)


@pytest.mark.parametrize("edit", [{"mass": 0.1}, {"place": 0.1}, {"k": 3.0}, {"g": 1.62}, {"different": 1.0}])
def test_an_edit_changes_data_alone(edit: dict[str, Any]) -> None:
    before, after = code(nested(Crown())), code(nested(Crown(**edit)))
    for one, other in zip(before, after, strict=True):
        assert same(one, other)
        assert np.any(one.numbers != other.numbers)


@pytest.mark.parametrize("edit", [{}, {"mass": 0.1, "place": 0.1, "k": 3.0}, {"different": 1.0}, {"place": -1.0}])
def test_rates_are_those_of_the_flat_model(edit: dict[str, Any]) -> None:
    check_same_rates(Crown(**edit))
    becomes_zero = edit.get("place") == -1.0
    assert len(cells(Crown(**edit)).examples) == len(cells(Crown()).examples) + becomes_zero


def test_equal_cells_share_their_numbers() -> None:
    edits: list[dict[str, Any]] = [{}, {"mass": 0.1}, {"different": 1.0}]
    equal, other, all_other = (cells(Crown(**edit)) for edit in edits)
    counts = [len(engine.set_numbers) for engine in (equal, other, all_other)]
    assert counts[0] + 1 == counts[1] < counts[2]


def test_simulations_side_by_side_read_the_numbers_of_their_cell() -> None:
    translation = nested(Crown(different=1.0))
    kernel = compile_program(translation.program)
    states = np.random.default_rng(3).uniform(-0.3, 0.3, (11, translation.program.state_size))
    rows = kernel.map("derivative", np.zeros(11), states)
    for state, row in zip(states, rows, strict=True):
        np.testing.assert_array_equal(row, kernel.evaluate("derivative", 0.0, state)[0])


def test_numbers_can_be_constants_of_the_code() -> None:
    """Who writes code without tables has them in it: an object of such code is another one for other numbers."""
    from kompono.compile import cache, schedule

    texts = []
    edits: list[dict[str, Any]] = [{}, {"mass": 0.1}]
    for edit in edits:
        program = nested(Crown(**edit)).program
        routine = program.routines["derivative"]
        texts.append((schedule.define(program, [routine]), cache.key("alone", [routine])))
        assert cache.key("alone", [replace(routine, numbers=np.zeros(3))]) != texts[-1][1]
    assert texts[0][0] != texts[1][0]
    assert texts[0][1] != texts[1][1]
