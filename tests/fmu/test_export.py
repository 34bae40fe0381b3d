"""FMUs of our models in FMPy: valid, and moving as Kompono says, events and loops included."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmu.fmu_models import Latch, Servo, Swing

from kompono import simulate
from kompono.examples.reference.four_bar import FourBar

fmpy = pytest.importorskip("fmpy")
KINDS = ("ModelExchange", "CoSimulation")


def run(path: Path, kind: str, until: float, interval: float, rtol: float = 1e-9, **start: float) -> Any:
    names = {name.replace("__", "."): value for name, value in start.items()}
    return fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=until, output_interval=interval, relative_tolerance=rtol, start_values=names
    )


def last_at(table: Any, times: np.ndarray) -> np.ndarray:
    """The last row at each time: behind an event there are two."""
    return table[np.searchsorted(table["time"], times + 1e-9) - 1]


def test_it_is_valid(latch: Path) -> None:
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(latch)) == []


def test_what_belongs_together_is_a_terminal(latch: Path) -> None:
    """By the schema that FMPy has; FMI 2 knows none."""
    etree = pytest.importorskip("lxml.etree")
    told, archive = fmpy.read_model_description(str(latch)), zipfile.ZipFile(latch)
    file = "terminalsAndIcons/terminalsAndIcons.xml"
    if told.fmiVersion.startswith("2"):
        assert file not in archive.namelist()
        return
    tree = etree.fromstring(archive.read(file))
    etree.XMLSchema(file=Path(fmpy.__file__).parent / "schema" / "fmi3" / "fmi3TerminalsAndIcons.xsd").assertValid(tree)
    found = {
        terminal.get("name"): {one.get("memberName"): one.get("variableName") for one in terminal}
        for terminal in tree.iter("Terminal")
    }
    assert found["slide"] == {"displacement": "slide.displacement", "displacement.rate": "slide.displacement.rate"}
    assert found["Latch"] == {"push": "push", "power": "power"}
    known = {v.name for v in told.modelVariables if v.causality in ("input", "output")}
    assert {name for members in found.values() for name in members.values()} == known


def test_it_says_what_it_has(latch: Path) -> None:
    told = fmpy.read_model_description(str(latch))
    variables = {variable.name: variable for variable in told.modelVariables}
    assert variables["stiffness"].causality == "parameter"
    assert variables["stiffness"].variability == "tunable"
    assert float(variables["stiffness"].start) == 50.0
    assert variables["stiffness"].unit == "N/m"
    assert variables["push"].causality == "input"
    assert variables["power"].causality == variables["slide.displacement"].causality == "output"
    assert told.numberOfContinuousStates == 2
    assert told.numberOfEventIndicators == 2
    units = {unit.name: unit.baseUnit for unit in told.unitDefinitions}
    assert (units["N/m"].kg, units["N/m"].m, units["N/m"].s) == (1, 0, -2)
    assert b"providesDirectionalDerivative" in zipfile.ZipFile(latch).read("modelDescription.xml")
    rate = next(unknown for unknown in told.derivatives if unknown.variable.name == "der(slide.displacement.rate)")
    known = {variable.name for variable in rate.dependencies}
    assert known == {"slide.displacement", "slide.displacement.rate", "push"}


@pytest.mark.parametrize("kind", KINDS)
def test_it_moves_as_we_say(latch: Path, kind: str) -> None:
    given = {"inputs": {"push": 1.5}, "parameters": {"stiffness": 60.0}}
    right = simulate(Latch(), until=2.0, step=1e-2, method="dopri5", rtol=1e-11, **given)
    assert right["count"][-1] == 2
    table = last_at(run(latch, kind, 2.0, 1e-2, push=1.5, stiffness=60.0), right.time)
    bound = 1e-7 if kind == "ModelExchange" else 1e-10
    assert np.abs(table["slide.displacement"] - right["slide.displacement"]).max() < bound
    assert np.abs(table["power"] - right["power"]).max() < 100 * bound


@pytest.mark.parametrize("kind", KINDS)
def test_states_of_its_own_go_along(exported: Callable[..., Path], kind: str) -> None:
    right = simulate(Servo(), until=1.0, step=1e-2, method="dopri5", rtol=1e-11)
    assert right["on"][-1] == 0
    table = last_at(run(exported(Servo), kind, 1.0, 1e-2), right.time)
    for name in ("pin.angle", "current", "heat"):
        assert np.abs(table[name] - right[name]).max() < 1e-6  # rk4 at 1 ms, where 20 ms is the time of the coil


def test_co_simulation_is_our_own_run(exported: Callable[..., Path]) -> None:
    ours = simulate(Swing(), until=1.0, step=1e-3, every=10)
    table = run(exported(Swing), "CoSimulation", 1.0, 1e-2)
    assert np.abs(table["pin.angle"] - ours["pin.angle"]).max() < 1e-14
    assert np.abs(table["height"] - ours["height"]).max() < 1e-14


@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_loops_stay_closed(exported: Callable[..., Path]) -> None:
    path = exported(FourBar, channels=("drift.*", "energy.total"))
    table = run(path, "ModelExchange", 20.0, 0.05, rtol=1e-6)
    assert 1e-12 < np.abs(table["drift.position"]).max() < 1e-4
    ours = simulate(FourBar(), until=20.0, step=0.05, method="dopri5", rtol=1e-10)
    assert np.abs(table["pivot.angle"] - ours["pivot.angle"]).max() < 1e-4
    assert np.abs(run(path, "CoSimulation", 5.0, 0.05)["drift.position"]).max() < 1e-12


def test_the_same_model_gives_the_same_file(tmp_path: Path, exported: Callable[..., Path]) -> None:
    from kompono import export_fmu

    again = export_fmu(Swing(), tmp_path / "again.fmu", platforms="x86_64-linux")
    assert again.path.read_bytes().replace(b"again", b"") == exported(Swing).read_bytes()
