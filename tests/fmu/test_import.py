"""FMUs as components: model exchange is our own motion, co-simulation is late by a sample, and loops are seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmu.fmu_models import Ball, Latch, Servo, Swing

from kompono import Fmu, Input, ModelError, State, Subsystem, export_fmu, simulate, simulate_many

pytest.importorskip("fmpy")


class Beside(Swing):
    """A swing, and the FMU of one beside it, pushed by the same torque."""

    def __init__(self, file: Path, **options: Any) -> None:
        super().__init__()
        self.plant = Fmu(file, trust=True, **options)
        self.connect(self.torque, self.plant.torque)


class Driven(Swing):
    """A swing whose torque comes from an FMU that sees its angle and speed."""

    def __init__(self, file: Path, **options: Any) -> None:
        super().__init__()
        self.control = Fmu(file, trust=True, **options)
        self.connect(self.pin.angle, self.control.angle)
        self.connect(self.pin.angle_rate, self.control.speed)
        self.connect(self.control.port("torque"), self.torque)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("native", [True, False])
def test_model_exchange_is_our_own_motion(exported: Callable[..., Path], version: int, native: bool) -> None:
    until = 1.0 if native else 0.02
    method = {"method": "rk4"} if native else {"method": "RK45", "rtol": 1e-9}
    result = simulate(
        Beside(exported(Swing, version)), until=until, step=1e-3, inputs={"torque": 0.4}, native=native, **method
    )
    assert result.status.ok
    assert np.abs(result["plant.pin_angle"] - result["pin.angle"]).max() < 1e-12
    assert np.abs(result["plant.pin_angle_rate"] - result["pin.angle.rate"]).max() < 1e-12
    assert np.abs(result["plant.height"] - result["height"]).max() < 1e-12


def test_steps_of_any_length_move_both(exported: Callable[..., Path]) -> None:
    result = simulate(Beside(exported(Swing)), until=2.0, step=0.1, method="dopri5", rtol=1e-9)
    assert np.abs(result["plant.pin_angle"] - result["pin.angle"]).max() < 1e-12


def test_implicit_steps_take_differences_of_it(exported: Callable[..., Path]) -> None:
    class Stiff(Beside):
        def __init__(self, file: Path) -> None:
            super().__init__(file)
            self.shadow, self.seen = State(0.0), Input(0.0)
            self.connect(self.plant.port("height"), self.seen)
            self.shadow.rate = 1e5 * (self.seen - self.shadow)

    result = simulate(Stiff(exported(Swing)), until=1.0, step=0.1, method="esdirk4", rtol=1e-8)
    assert result.statistics["implicit_steps"] > 0.5 * result.statistics["steps"]
    assert np.abs(result["plant.pin_angle"] - result["pin.angle"]).max() < 1e-7
    assert np.abs(result["shadow"] - result["height"])[1:].max() < 1e-3


def test_members_of_an_ensemble_do_not_meet(exported: Callable[..., Path]) -> None:
    starts = np.linspace(0.1, 1.5, 19)
    both = {"pin.angle": starts, "plant.pin_angle": starts}
    runs = simulate_many(Beside(exported(Swing)), until=0.2, step=1e-3, initial=both, threads=2)
    assert np.ptp(runs["pin.angle"][:, -1]) > 0.1
    assert np.abs(runs["plant.pin_angle"] - runs["pin.angle"]).max() < 1e-12


def test_co_simulation_is_late_by_a_sample(exported: Callable[..., Path]) -> None:
    errors = []
    for every in (8e-3, 4e-3, 2e-3):
        model = Beside(exported(Swing), every=every)
        result = simulate(model, until=1.0, step=1e-3, inputs={"torque": 0.4})
        errors.append(np.abs(result["plant.pin_angle"] - result["pin.angle"]).max())
        again = simulate(model, until=1.0, step=1e-3, inputs={"torque": 0.4})
        assert np.array_equal(again["plant.pin_angle"], result["plant.pin_angle"])
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - 1) < 0.2)


def test_parameters_states_and_inputs_start_as_asked(exported: Callable[..., Path]) -> None:
    plant = Fmu(exported(Swing), trust=True, values={"pin.angle": 0.5}, torque=2.0)
    assert plant.pin_angle.start == 0.5
    assert isinstance(plant.port("pin.angle.rate"), State)
    assert plant.torque.value == 2.0
    assert plant.torque.unit == "N m"
    with pytest.raises(ModelError, match="Did you mean"):
        Fmu(exported(Swing), trust=True, torqe=2.0)
    with pytest.raises(ModelError, match="has no 'height_'"):
        plant.port("height_")


def test_an_input_that_starts_with_a_value_may_be_fed(exported: Callable[..., Path]) -> None:
    """What a file starts with is no source; what its owner gives is one."""
    file = exported(Swing, inputs={"torque": 0.7})
    assert Fmu(file, trust=True).torque.value == 0.7
    result = simulate(Beside(file), until=0.2, step=1e-3, inputs={"torque": 0.4}).check()
    assert np.abs(result["plant.pin_angle"] - result["pin.angle"]).max() < 1e-12
    with pytest.raises(ModelError, match="a source of its own"):
        Beside(file, torque=0.7)


def test_what_is_fed_back_through_an_fmu(exported: Callable[..., Path]) -> None:
    """Height depends on no input: it may be fed back. Power depends on the push: that is an algebraic loop."""

    class Back(Swing):
        def __init__(self, file: Path, name: str, source: str) -> None:
            super().__init__()
            self.plant = Fmu(file, trust=True)
            self.connect(0.5 * self.plant.port(source), self.plant.port(name))

    assert simulate(Back(exported(Swing), "torque", "height"), until=0.1, step=1e-3).status.ok
    from kompono import KomponoError

    with pytest.raises(KomponoError, match="plant"):
        simulate(Back(exported(Through, 3), "push", "power"), until=0.1, step=1e-3)


class Through(Latch):
    """The latch without its events."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("up", "down"):
            delattr(self, name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "trust=True"),
        ({"trust": True, "kind": "cs"}, "every=1e-3"),
        ({"trust": True, "kind": "me", "every": 1e-3}, "not sampled"),
        ({"trust": True, "kind": "both"}, "kind='me' or kind='cs'"),
        ({"trust": True, "every": -1.0}, "every"),
    ],
)
def test_what_is_not_right_is_said(exported: Callable[..., Path], options: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError) as found:
        Fmu(exported(Latch, 2), **options)
    assert words in str(found.value)


def test_co_simulation_with_events_inside(exported: Callable[..., Path]) -> None:
    class Rig(Swing):
        def __init__(self, file: Path) -> None:
            super().__init__()
            self.plant = Fmu(file, trust=True, every=1e-2, push=1.5, stiffness=60.0)

    result = simulate(Rig(exported(Latch, 2)), until=1.0, step=1e-3)
    given = {"inputs": {"push": 1.5}, "parameters": {"stiffness": 60.0}}
    alone = simulate(Latch(), until=1.0, step=1e-3, every=10, **given)["slide.displacement"]
    held = result["plant.slide_displacement"][1:1000:10]  # the row at an instant is written before the sample
    assert np.abs(held - alone[:100]).max() < 1e-10


def test_an_fmu_is_not_exported_again(exported: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="plant: an FMU inside an FMU"):
        export_fmu(Beside(exported(Swing)), tmp_path / "twice.fmu")


def test_a_foreign_fmu(tmp_path: Path, exported: Callable[..., Path]) -> None:
    """One made by another tool: a controller in Python, in co-simulation."""
    pytest.importorskip("pythonfmu")
    from pythonfmu.builder import FmuBuilder

    script = tmp_path / "pd.py"
    script.write_text(
        "from pythonfmu import Fmi2Causality, Fmi2Slave, Real\n"
        "class PD(Fmi2Slave):\n"
        "    def __init__(self, **kwargs):\n"
        "        super().__init__(**kwargs)\n"
        "        self.angle = self.speed = self.torque = 0.0\n"
        "        for name in ('angle', 'speed'):\n"
        "            self.register_variable(Real(name, causality=Fmi2Causality.input))\n"
        "        self.register_variable(Real('torque', causality=Fmi2Causality.output))\n"
        "    def do_step(self, current_time, step_size):\n"
        "        self.torque = -3.0 * self.angle - 2.0 * self.speed\n"
        "        return True\n"
    )
    FmuBuilder.build_FMU(str(script), dest=str(tmp_path))
    result = simulate(Driven(tmp_path / "PD.fmu", every=1e-3), until=1.0, step=1e-3)
    assert result.status.ok
    wanted = -3.0 * result["pin.angle"] - 2.0 * result["pin.angle.rate"]
    assert np.abs(wanted).max() > 1.0
    assert np.abs(result["control.torque"][2:] - wanted[:-2]).max() < 1e-9  # it computes with the inputs of the step


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("model", "channel", "bound"), [(Latch, "slide.displacement", 1e-11), (Servo, "current", 1e-9)]
)
def test_events_of_an_fmu_are_ours(
    exported: Callable[..., Path], version: int, model: Any, channel: str, bound: float
) -> None:
    alone = simulate(model(), until=1.0, step=1e-3, every=10)
    rig = Rig(exported(model, version))
    for _ in range(2):  # a second run begins anew
        result = simulate(rig, until=1.0, step=1e-3, every=10)
        assert result.status.ok
        assert np.abs(result[f"plant.{channel.replace('.', '_')}"] - alone[channel]).max() < bound
    begun = {(round(time, 9), path.split(".")[1]) for time, path in result.statistics["events"]}
    assert {round(time, 9) for time, _ in alone.statistics["events"]} <= {time for time, _ in begun}


class Rig(Swing):
    """An FMU beside a swing."""

    def __init__(self, file: Path, **options: Any) -> None:
        super().__init__()
        self.plant = Fmu(file, trust=True, **options)


def test_an_event_may_change_states(exported: Callable[..., Path]) -> None:
    """A ball: the n-th bounce comes at a known time, alone and as an FMU."""
    first = np.sqrt(2 / 9.81)
    expected = [first, *(first * (1 + 2 * np.cumsum(0.9 ** np.arange(1, 4))))]
    for model, path in ((Ball(), "bounce"), (Rig(exported(Ball)), "plant.events.0")):
        result = simulate(model, until=3.0, step=1e-3)
        found = [time for time, name in result.statistics["events"] if name == path]
        assert all(min(abs(time - known) for time in found) < 1e-9 for known in expected)


def test_members_with_events_do_not_meet(exported: Callable[..., Path]) -> None:
    starts = np.linspace(0.01, 0.04, 5)
    runs = simulate_many(
        Rig(exported(Latch, 3)), until=1.0, step=1e-3, initial={"plant.slide_displacement": starts}, threads=2
    )
    for k, start in enumerate(starts):
        alone = simulate(Latch(), until=1.0, step=1e-3, initial={"slide.displacement": start})
        assert abs(runs["plant.slide_displacement"][k][-1] - alone["slide.displacement"][-1]) < 1e-9


@pytest.mark.parametrize("closed", [["swing"], ["ball"]])
def test_states_that_events_change_in_closed_parts(closed: list[str]) -> None:
    class Two(Subsystem):
        def __init__(self) -> None:
            self.ball, self.swing = Ball(), Swing()

    open_, parted = (simulate(Two(), until=1.5, step=1e-3, closed=names) for names in ((), closed))
    assert open_["ball.bounces"][-1] == 2
    assert np.abs(parted["ball.height"] - open_["ball.height"]).max() < 1e-12
