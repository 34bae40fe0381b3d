"""The coupling story: the car with an active damper whose controller is a foreign FMU, and the same car as an FMU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kompono import simulate
from kompono.examples.active import ActiveCar, Plant
from kompono.examples.car import Car

BODY = "body.position.z"
SKYHOOK = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Real


class Skyhook(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.speed = self.force = 0.0
        self.register_variable(Real("speed", causality=Fmi2Causality.input))
        self.register_variable(Real("force", causality=Fmi2Causality.output))

    def do_step(self, current_time, step_size):
        self.force = min(max(-6e3 * self.speed, -3e3), 3e3)
        return True
"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """An FMU of another tool, from its source."""
    pytest.importorskip("pythonfmu")
    from pythonfmu.builder import FmuBuilder

    def make(source: str) -> Path:
        folder = tmp_path_factory.mktemp("foreign")
        script = folder / "skyhook.py"
        script.write_text(source)
        FmuBuilder.build_FMU(str(script), dest=str(folder))
        return folder / "Skyhook.fmu"

    return make


@pytest.mark.parametrize("way", [{"trust": True}, {"isolate": True}])
def test_a_foreign_controller_calms_the_car(foreign: Callable[[str], Path], way: dict[str, bool]) -> None:
    result = simulate(ActiveCar(foreign(SKYHOOK), **way), until=0.3, step=1e-3)
    ours = simulate(ActiveCar(), until=0.3, step=1e-3)
    still = simulate(Plant(), until=0.3, step=1e-3)
    assert result.status.ok
    late = -6e3 * result["climb"]
    assert np.abs(late).max() > 500
    assert np.abs(result["control.force"][2:] - late[:-2]).max() < 1e-9  # two instants: one step, one to be seen
    assert np.abs(result[BODY] - ours[BODY]).max() < 2e-4
    assert np.abs(ours[BODY] - still[BODY]).max() > 1e-3


def test_a_controller_that_would_write_files_does_not(foreign: Callable[[str], Path], tmp_path: Path) -> None:
    stolen = tmp_path / "stolen"
    spy = SKYHOOK.replace("        return True", f"        open({str(stolen)!r}, 'w').close()\n        return True")
    model = ActiveCar(foreign(spy), isolate=True)
    with pytest.warns(match=r"control.*the FMU failed in its step"):
        result = simulate(model, until=0.01, step=1e-3)
    assert not result.status.ok
    assert not stolen.exists()


def test_the_same_car_for_other_tools(tmp_path: Path, exported: Callable[..., Path]) -> None:
    fmpy = pytest.importorskip("fmpy")
    file = exported(Plant, 3)
    there = fmpy.simulate_fmu(
        str(file), fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-8, stop_time=0.3,
        output_interval=1e-3, start_values={"force": 500.0}, output=["climb"],
    )  # fmt: skip
    here = simulate(Plant(), until=0.3, step=1e-3, method="dopri5", rtol=1e-12, inputs={"force": 500.0})
    assert np.abs(there["climb"] - here["climb"]).max() < 1e-7


def test_the_car_is_right_to_a_nanometre(exported: Callable[..., Path]) -> None:
    """At CVode's 1e-8: its own error, which rounding moves between 0.98e-9 and 1.01e-9 m."""
    fmpy = pytest.importorskip("fmpy")
    there = fmpy.simulate_fmu(
        str(exported(Car, 3, channels=BODY)), fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-8,
        stop_time=1.5, output_interval=1e-3,
    )  # fmt: skip
    here = simulate(Car(), until=1.5, step=1e-3, method="dopri5", rtol=1e-12, channels=[BODY])
    assert np.abs(there[BODY] - here[BODY]).max() < 1.1e-9
