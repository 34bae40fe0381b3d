"""How a run ended is a name, the same from the native loop to files; messages are for people only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum
from solve.test_trust import Contradiction

from kompono import Input, Output, Subsystem, simulate, simulate_many, time
from kompono.compile import ChunkEnd
from kompono.ending import Ending
from kompono.errors import FileError, RunError
from kompono.library import JointEffort
from kompono.realtime import RealTime
from kompono.result import Result, Status, store
from kompono.result.result import record_of

pytestmark = pytest.mark.filterwarnings("ignore::kompono.RunWarning", "ignore::kompono.ModelWarning")
GOES_ON = {
    ChunkEnd.ALONE, ChunkEnd.CLOSED, ChunkEnd.OK, ChunkEnd.BUFFER_FULL, ChunkEnd.LOG_FULL, ChunkEnd.LAWS, ChunkEnd.LONG,
    ChunkEnd.STRAIGHT, ChunkEnd.LOOK,
}  # fmt: skip


class Torn(Pendulum):
    def __init__(self) -> None:
        super().__init__(angle=0.3)
        self.motor = JointEffort(self.pin, ca.sqrt(0.05 - time))


class Gauge(Pendulum):
    def __init__(self) -> None:
        super().__init__(angle=0.3)
        self.gauge = Output(ca.sqrt(0.05 - time))


class Fed(Pendulum):
    def __init__(self) -> None:
        super().__init__()
        self.push = Input(0.0)
        self.motor = JointEffort(self.pin, self.push)


def broken(t: float, _: object) -> float:
    if t > 0.05:
        raise ValueError("no more")
    return 0.0


CASES: list[tuple[Ending, Callable[[], Subsystem], dict[str, Any]]] = [
    (Ending.DONE, Pendulum, {}),
    (Ending.NOT_FINITE, Torn, {}),
    (Ending.NOT_FINITE, Torn, {"method": "dopri5"}),
    (Ending.NOT_FINITE, Torn, {"method": "RK45"}),
    (Ending.CHANNEL, Gauge, {}),
    (Ending.OPEN, Contradiction, {"until": 0.4}),
    (Ending.GROWN, lambda: Oscillator(k=1e8), {"until": 0.04, "step": 2e-3}),
    (Ending.ENERGY, lambda: Oscillator(k=1.44e4), {"until": 1.0, "step": 1e-2}),
    (Ending.STEP, lambda: Oscillator(k=1e5, c=100.0), {"until": 0.1, "step": 2e-2, "method": "rk2"}),
    (Ending.HOPELESS, lambda: Pendulum(angle=1.0), {"until": 100.0, "step": 1.0, "method": "dopri5", "max_steps": 20}),
    (Ending.HOPELESS, lambda: Pendulum(angle=1.0), {"until": 100.0, "step": 1.0, "method": "RK45", "max_steps": 20}),
    (Ending.STOPPED, Fed, {"inputs": {"push": (broken, 0.01)}}),
    (Ending.STOPPED, Fed, {"inputs": {"push": (broken, 0.01)}, "method": "BDF"}),
    (Ending.ENDED, Pendulum, {"realtime": RealTime(speed=1e6, on_frame=lambda frame: frame.stop())}),
    (Ending.STOPPED, Pendulum, {"realtime": RealTime(speed=1e6, on_frame=lambda frame: frame.stop("enough"))}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "model", "options"), CASES, ids=[kind.name for kind, *_ in CASES])
def test_each_end_has_its_name(kind: Ending, model: Any, options: dict[str, Any]) -> None:
    status = simulate(model(), **{"until": 0.1, "step": 1e-3, "progress": False, **options}).status
    assert status.kind is kind, status.message
    assert status.kind == kind.value
    assert status.ok is kind.ok


def test_every_end_of_the_native_loop_is_one_of_a_run() -> None:
    for end in set(ChunkEnd) - GOES_ON:
        assert end.ending.ok == (end is ChunkEnd.HALTED)


def test_runs_without_a_start_are_told_from_those_that_fail() -> None:
    class Arm(Pendulum):
        def __init__(self) -> None:
            from kompono import Parameter
            from kompono.library import Distance

            super().__init__(angle=0.3)
            self.reach = Parameter(1.2)
            self.rope = Distance(self.ground.at(1.0, 0, 0), self.rod.at(0, 0, -0.5), length=self.reach)

    ensemble = simulate_many(Arm(), until=0.01, parameters={"reach": [1.2, 9.0]}, progress=False)
    assert [status.kind == "not assembled" for status in ensemble.status] == [False, True]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "h5"])
def test_files_keep_the_name_and_files_without_it_are_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{suffix}"
    write = {"csv": store.write_csv, "parquet": store.write_parquet, "h5": store.write_hdf5}[suffix]
    status = Status(False, "it grew", 0.5, Ending.GROWN)
    record = record_of(Result(np.arange(2.0), ["a"], np.zeros((2, 1)), status=status))
    notes = {name: value for name, value in record.notes.items() if name != "scene"}
    write(path, record._replace(notes=notes))
    assert Result.load(path).status.kind is Ending.GROWN
    older = {"ok": False, "message": "it grew", "time": 0.5}
    write(path, record._replace(notes={**notes, "status": older}))
    assert Result.load(path).status == Status(False, "it grew", 0.5, Ending.UNKNOWN)
    for wrong in ("no such end", "done", 3, ["grown"]):
        write(path, record._replace(notes={**notes, "status": {**older, "kind": wrong}}))
        with pytest.raises(FileError, match="status"):
            Result.load(path)


def test_a_status_does_not_contradict_itself() -> None:
    with pytest.raises(ValueError, match="cannot be ok"):
        Status(True, "", 0.0, Ending.GROWN)
    assert Status().kind is Ending.DONE
    with pytest.raises(RunError, match="it grew"):
        Status(False, "it grew", kind=Ending.GROWN).check()


def test_the_documentation_names_every_kind() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert not [kind.value for kind in Ending if f"`{kind.value}`" not in text]
