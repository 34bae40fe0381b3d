"""The border law: nothing but what the functions of a closed part take and give crosses its border."""

from __future__ import annotations

from typing import Any

import pytest
from parts.machines import Rig

from kompono.examples.car import Car
from kompono.starting import closed_start
from kompono.translate import translate
from kompono.translate.parts.gauge import Gauged, gauge

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
MACHINES = {Car: ("left", "left.damper", "right_wheel"), Rig: ("platform", "struts.1")}
NAMES = {
    "derivative": {"move", "condense", "resolve", "violated_rate", "corrected_rate"},
    "project": {
        "move", "normalize", "violated_residual", "corrected_residual", "violated_speed", "corrected_speed",
    },
    "outputs": {"move", "condense", "report", "drift", "violated_rate", "corrected_rate"},
}  # fmt: skip


def looked(machine: Any, path: str, routine: str, closed: bool) -> tuple[Gauged, set[str]]:
    translation = translate(machine(), closed=[path] if closed else [], close=closed_start)
    program = translation.program
    names = [*program.coordinates, *program.speeds, *program.modes]
    inside = [k for k, name in enumerate(names) if name.startswith(f"{path}.") and ".free." not in name]
    functions: dict[str, str] = {}
    if closed:
        translation.program.routines[routine]
        (part,) = translation.engine.compartment.parts
        functions = {made.function.name(): name for name, made in part._made.items()}
    found = gauge(translation.program, routine, inside, functions)
    return found, {functions[name] for name in found.calls}


@pytest.mark.parametrize("routine", NAMES)
@pytest.mark.parametrize(
    ("machine", "path"), [(machine, path) for machine, paths in MACHINES.items() for path in paths]
)
def test_nobody_looks_inside_a_closed_part(machine: Any, path: str, routine: str) -> None:
    found, names = looked(machine, path, routine, closed=True)
    assert found.closed
    assert names or path == "right_wheel"  # which has no coordinates inside
    assert names <= NAMES[routine]


@pytest.mark.parametrize("routine", ["derivative", "project"])
def test_the_gauge_sees_a_translator_that_ignores_components(routine: str) -> None:
    found, _ = looked(Car, "left", routine, closed=False)
    assert found.looks > 10


def test_what_crosses_is_what_the_border_allows() -> None:
    """time, base (18), fields (9), x, unknowns of the border; a block, a vector, x."""
    translation = translate(Car(), closed=["left"], close=closed_start)
    translation.program.routines["derivative"]
    (part,) = translation.engine.compartment.parts
    sizes = {"time": 1, "base": 18, "fields": 9, "x": part.inside.size, "given": part.border.size}
    outputs = {"move": 18, "condense": part.border.answer, "resolve": part.inside.size}
    for name, made in part._made.items():
        assert not made.signals
        numbers = made.numbers.numel()  # of the model, which the owner has in a table
        assert made.function.nnz_in() == sum(sizes[group] for group in made.groups) + numbers
        assert made.function.nnz_out() == outputs.get(name, made.function.nnz_out())
    assert (part.inside.size, part.border.size, part.border.answer) == (6, 12, 90)
