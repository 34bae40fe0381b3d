"""A run that dies leaves a file with all but its last part; going on from there gives what it would have given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum, Pushed, Swing

from kompono import Event, Input, Mode, Result, RunError, Simulation, State, Subsystem, resume, simulate
from kompono.errors import FileError
from kompono.solve import integrate, journal


class Died(BaseException):
    """What a run in these tests dies of."""


class Sampled(Subsystem):
    """A filter, and a counter that pushes it."""

    def __init__(self) -> None:
        self.x, self.count = State(0.0), Mode(0.0, every=0.01)
        self.count.next = self.count + 1 - 0.3 * self.x
        self.x.rate = 0.2 * self.count - self.x


class Bouncing(Subsystem):
    """A mass on a spring whose spring is switched each time it passes the middle."""

    def __init__(self) -> None:
        self.oscillator = Oscillator(displacement=-1.0)
        self.side = Mode(0.0)
        self.passed = Event(self.oscillator.slide.displacement, {self.side: self.side + 1})


class Integral:
    """A controller that remembers by a number, a list and a generator of random numbers."""

    def __init__(self, gain: float = 2.0) -> None:
        self.gain, self.sum, self.log = gain, 0.0, [0.0]
        self.random = np.random.default_rng(3)

    def __call__(self, t: float, read: Callable[[str], float]) -> float:
        self.sum += 0.01 * (1.0 - read("slide.displacement"))
        self.log.append(self.sum)
        return self.gain * self.sum + 1e-3 * self.random.normal()


class Controlled(Pushed):
    """A mass that a controller pushes, asked at times that are no multiples of a step."""

    def __init__(self, control: Any) -> None:
        self.force = Input(control, period=0.0033)
        super().__init__(self.force)


class Other(Pendulum):
    """Another name."""


def pushed(control: Any = Integral) -> Controlled:
    return Controlled(control())


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Let runs write a part whenever they can, and die when they have written so many."""
    for name, value in (("FIRST", 0.0), ("PERIOD", 0.0), ("SHARE", 0), ("PATIENCE", 0.0)):
        monkeypatch.setattr(journal, name, value)
    monkeypatch.setattr(integrate, "LARGEST_CHUNK", 170)
    write = journal.Journal.write

    def limit(count: int | None) -> None:
        left = [count]

        def counted(self: Any, *arguments: Any) -> None:
            write(self, *arguments)
            if left[0] is not None:
                left[0] -= 1
                if not left[0]:
                    raise Died

        monkeypatch.setattr(journal.Journal, "write", counted)

    return limit


RUNS: dict[str, tuple[Callable[[], Subsystem], dict[str, Any]]] = {
    "rk2": (lambda: Pendulum(angle=1.0), {"method": "rk2", "until": 3.0}),
    "rk4": (lambda: Swing(), {"method": "rk4", "until": 3.0, "every": 7}),
    "adams": (lambda: Swing(), {"method": "adams", "until": 3.0005}),
    "dopri5": (lambda: Swing(), {"method": "dopri5", "until": 60.0, "step": 0.05}),
    "esdirk4": (lambda: Swing(), {"method": "esdirk4", "until": 60.0, "step": 0.05}),
    "leapfrog": (lambda: Pendulum(angle=1.0), {"engine": "discrete", "until": 0.2}),
    "absolute": (lambda: Pendulum(angle=1.0), {"engine": "absolute", "until": 3.0}),
    "events": (Bouncing, {"until": 9.0}),
    "events dopri5": (Bouncing, {"until": 200.0, "method": "dopri5", "step": 0.1}),
    "callable": (pushed, {"until": 1.0}),
    "callable adams": (pushed, {"until": 1.0, "method": "adams"}),
    "turns": (
        lambda: Pendulum(angle=1.0, angle_rate=30.0),
        {"until": 3.0, "step": 5e-4, "channels": ["pin.angle", "rod.orientation.*"]},
    ),
    "RK45": (lambda: Pendulum(angle=1.0), {"method": "RK45", "until": 3.0, "step": 0.01}),
    "samples": (Sampled, {"until": 20.0, "step": 7e-3}),
    "samples dopri5": (Sampled, {"until": 60.0, "method": "dopri5", "step": 0.05}),
    "samples RK45": (Sampled, {"until": 3.0, "method": "RK45", "step": 0.01}),
    "DOP853": (pushed, {"method": "DOP853", "until": 0.3, "step": 0.01}),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_resumed_run_is_bit_by_bit_the_one_that_never_died(
    name: str, parts: Callable[[int | None], None], tmp_path: Path
) -> None:
    make, options = RUNS[name]
    file = tmp_path / "run.h5"
    whole = simulate(make(), **options)
    for deaths in (1, 3, 2):
        parts(deaths)
        with pytest.raises(Died):
            simulate(make(), **options, hdf5=file) if deaths == 1 else resume(make(), file)
        so_far = Result.load(file)
        assert not so_far.status.ok
        assert "not over" in so_far.status.message
        n = len(so_far.time)
        assert 0 < n < len(whole.time)
        assert np.array_equal(so_far.time, whole.time[:n])
        assert np.array_equal(so_far.table, whole.table[:n])
    parts(None)
    done = resume(make(), file)
    for found in (done, Result.load(file)):
        assert found.status == whole.status
        assert found.names == whole.names
        assert np.array_equal(found.time, whole.time)
        assert np.array_equal(found.table, whole.table)
        assert len(found.statistics["resumed"]) == 3
    assert done.file == file
    for count in ("steps", "evaluations", "rejected", "events"):
        assert done.statistics.get(count) == whole.statistics.get(count), count


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_methods_that_remember_more_go_on_to_their_tolerance(
    method: str, parts: Callable[[int | None], None], tmp_path: Path
) -> None:
    options = {"method": method, "until": 2.0, "step": 0.01, "rtol": 1e-9}
    whole = simulate(Pendulum(angle=1.0), **options)
    parts(30)
    with pytest.raises(Died):
        simulate(Pendulum(angle=1.0), **options, hdf5=tmp_path / "run.h5")
    parts(None)
    done = resume(Pendulum(angle=1.0), tmp_path / "run.h5")
    assert done.status.ok
    assert np.array_equal(done.time, whole.time)
    assert done["pin.angle"] == pytest.approx(whole["pin.angle"], abs=1e-6)


@pytest.fixture
def died(parts: Callable[[int | None], None], tmp_path: Path) -> Path:
    """The file of a pendulum that died after two parts."""
    parts(2)
    with pytest.raises(Died):
        simulate(Pendulum(angle=1.0), until=3.0, channels="pin.*", hdf5=tmp_path / "run.h5")
    parts(None)
    return tmp_path / "run.h5"


def test_another_model_or_option_is_refused(died: Path) -> None:
    before = died.read_bytes()
    for model, options, said in (
        (Pendulum(angle=1.0, mass=2.0), {}, "equations of the model are not the same"),
        (Pendulum(angle=1.0, length=1.1), {}, "not the same"),
        (Pendulum(angle=0.9), {}, "the start of the model is not the same"),
        (Other(angle=1.0), {}, "model was 'Pendulum' then, 'Other' now"),
        (Pendulum(angle=1.0), {"step": 2e-3}, "step was None then, 0.002 now"),
        (Pendulum(angle=1.0), {"until": 4.0}, "until was 3.0 then, 4.0 now"),
        (Pendulum(angle=1.0), {"method": "adams"}, "method was None then, 'adams' now"),
        (Pendulum(angle=1.0), {"channels": "pin.angle"}, "channels was"),
        (Pendulum(angle=1.0), {"initial": {"pin.angle": 0.2}}, "initial was None"),
        (Pendulum(angle=1.0), {"realtime": True}, "cannot be resumed"),
        (Pendulum(angle=1.0), {"hdf5": "other.h5"}, "in its own file"),
    ):
        with pytest.raises(RunError, match=said):
            resume(model, died, **options)
    assert died.read_bytes() == before  # and can still be resumed
    assert resume(Pendulum(angle=1.0), died, cache=True, progress=False).status.ok


def test_a_run_that_is_over_is_not_resumed(died: Path) -> None:
    resume(Pendulum(angle=1.0), died)
    with pytest.raises(FileError, match="is over"):
        resume(Pendulum(angle=1.0), died)


def test_the_same_call_with_resume_goes_on_too(died: Path) -> None:
    assert simulate(Pendulum(angle=1.0), until=3.0, channels="pin.*", resume=died).status.ok


def test_whatever_happens_to_the_end_of_the_file_is_no_row(died: Path) -> None:
    data, whole = died.read_bytes(), simulate(Pendulum(angle=1.0), until=3.0, channels="pin.*")
    counts = set()
    for end in np.linspace(0, len(data), 150).astype(int).tolist():
        died.write_bytes(data[:end])
        try:
            found = Result.load(died)
        except FileError:
            continue
        assert not found.status.ok
        assert np.array_equal(found.table, whole.table[: len(found.time)])
        counts.add(len(found.time))
    assert len(counts) == 2  # with both parts, or with the first
    for k, end in enumerate((len(data) - 1, len(data) - 40)):
        died.write_bytes(data[:end] + (b"x" * 100 if k else b""))
        assert np.array_equal(resume(Pendulum(angle=1.0), died).table, whole.table)
        died.write_bytes(data)


def test_turned_bits_in_a_log_are_no_numbers(died: Path) -> None:
    data, whole = bytearray(died.read_bytes()), simulate(Pendulum(angle=1.0), until=3.0, channels="pin.*")
    random = np.random.default_rng(5)
    for place in random.integers(0, len(data), 200).tolist():
        data[place] ^= 16
        died.write_bytes(data)
        data[place] ^= 16
        try:
            found = Result.load(died)
        except FileError:
            continue
        assert not found.status.ok
        assert np.array_equal(found.table, whole.table[: len(found.time)])


def test_callables_must_be_the_same_and_keep_what_they_remember_by(
    parts: Callable[[int | None], None], tmp_path: Path
) -> None:
    file = tmp_path / "run.h5"

    def begin(control: Any) -> None:
        parts(20)
        with pytest.raises(Died):
            simulate(pushed(control), until=1.0, hdf5=file)
        parts(None)

    begin(Integral)
    with pytest.raises(RunError, match="callables that feed inputs are not the same"):
        resume(pushed(lambda: Integral(3.0)), file)
    with pytest.raises(RunError, match="not the same"):
        resume(pushed(), file, inputs={inputs_of(pushed())[0]: 1.0})

    class Stream(Integral):
        def __init__(self) -> None:
            super().__init__()
            self.steps = iter(range(10_000))

        def __call__(self, t: float, read: Callable[[str], float]) -> float:
            return super().__call__(t, read) + 1e-6 * next(self.steps)

    begin(Stream)
    assert len(Result.load(file).time) > 1
    with pytest.raises(RunError, match=r"cannot be resumed.*range_iterator"):
        resume(pushed(Stream), file)


def inputs_of(model: Subsystem) -> list[str]:
    return list(Simulation(model).program.inputs)


def test_a_file_that_is_there_stays_until_there_is_something_better(tmp_path: Path) -> None:
    file = tmp_path / "run.h5"
    simulate(Pendulum(angle=1.0), until=0.1, hdf5=file)
    before = file.read_bytes()
    with pytest.raises(RunError):
        simulate(Pendulum(angle=1.0), until=0.1, initial={"nothing": 1.0}, hdf5=file)
    assert file.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.h5"]


def test_a_disk_that_is_full_costs_the_file_not_the_run(
    parts: Callable[[int | None], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.unfinished, "begin", full)
    monkeypatch.setattr(Result, "to_hdf5", full)
    parts(None)
    with pytest.warns(UserWarning, match="No space left") as caught:
        result = simulate(Pendulum(angle=1.0), until=3.0, hdf5=tmp_path / "run.h5")
    assert result.status.ok
    assert result.file is None
    assert len(caught) == 2


def test_a_run_that_is_still_going_on_is_not_resumed(died: Path) -> None:
    log = journal.unfinished.go_on(died)
    with pytest.raises(FileError, match="is going on"):
        resume(Pendulum(angle=1.0), died)
    log.close()
    assert resume(Pendulum(angle=1.0), died).status.ok


def test_a_run_in_real_time_is_written_at_its_end(tmp_path: Path) -> None:
    result = simulate(Pendulum(angle=1.0), until=0.05, realtime=True, hdf5=tmp_path / "run.h5")
    assert len(Result.load(tmp_path / "run.h5").time) == len(result.time)


def test_an_interrupted_run_goes_on_with_its_events(
    parts: Callable[[int | None], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, whole = tmp_path / "run.h5", simulate(Bouncing(), until=20.0)
    monkeypatch.setattr(integrate, "LARGEST_CHUNK", 1500)
    parts(None)
    update = integrate.Progress.update

    def asked_to_end(self: Any, reached: float) -> None:
        update(self, reached)
        self.interrupted = self.interrupted or reached > limit[0]

    limit = [5.0]
    monkeypatch.setattr(integrate.Progress, "update", asked_to_end)
    with pytest.warns(UserWarning, match="interrupted"):
        simulate(Bouncing(), until=20.0, hdf5=file)
    assert "interrupted" in Result.load(file).status.message
    limit[0] = 1e9
    parts(2)
    with pytest.raises(Died):  # the result of the first run becomes a log again
        resume(Bouncing(), file)
    parts(None)
    done = resume(Bouncing(), file)
    assert np.array_equal(done.table, whole.table)
    assert done.statistics["events"] == whole.statistics["events"]
    assert len(done.statistics["resumed"]) == 2
