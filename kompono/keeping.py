"""Runs that write themselves down as they go, and runs that go on where another was: what must be the same for that.

A file of a run says what was run: the instructions of the model's equations, the settings, parameters, inputs, the
start. Whoever wants to go on with it must ask for the same; what differs is named. Options that change no number
(cache, threads, progress) may differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile.block import loop_routines
from kompono.elsewhere.which import refuse_elsewhere
from kompono.errors import FileError, KomponoError, RunError, RunWarning, warn
from kompono.request import SEVERAL, Request
from kompono.result import Result, extra
from kompono.result.result import record_of
from kompono.result.target import check_target
from kompono.solve.inputs import Feed
from kompono.solve.integrate import Settings
from kompono.solve.outcome import Outputs
from kompono.translate.declared.ours import sources
from kompono.translate.program import Program, Routine, TableRoutine

if TYPE_CHECKING:
    from kompono.result.unfinished import Stored
    from kompono.solve.journal import Journal

NEAR = 1e-9  # starts and strengths of links are computed anew, perhaps by another processor


def checked_file(path: Any, name: str) -> Path | None:
    """The file a run shall be written to or go on from."""
    if path is None:
        return None
    try:
        found = Path(path)
    except TypeError:
        raise RunError(f"{name} = {path!r} is no name of a file.", fix=f"Use e.g. {name}='run.h5'.") from None
    if found.suffix.lower() not in (".h5", ".hdf5"):
        raise RunError(f"{name} = {str(path)!r}: runs are written to HDF5 files as they go.", fix="Use e.g. 'run.h5'.")
    if found.is_dir():
        raise RunError(f"cannot write {str(path)!r}: it is a folder.", fix="Name a file in it.")
    return check_target(found) if name == "hdf5" else found


def kept(simulation: Any, request: Request, noted: Mapping[str, Any] | None) -> Keeping:
    """The file of a run that shall be written to `hdf5` as it goes, or go on in the one of `resume`; `noted` are the
    options it is remembered by.
    """
    path, old = checked_file(request.hdf5, "hdf5"), checked_file(request.resume, "resume")
    if old is not None and request.realtime:
        raise RunError("a run in real time cannot be resumed.", fix="Leave realtime out.")
    refuse_elsewhere(simulation.program, "to resume a run", old is not None and not simulation.kernel.lasts)
    if path is not None and old is not None and path != old:
        raise RunError("a resumed run goes on in its own file.", fix="Leave hdf5 out.")
    where = old or path
    assert where is not None
    return Keeping(simulation, where, old is not None, noted)


class Keeping:
    """The file of a run, from its beginning or where another process left it, to its end."""

    def __init__(self, simulation: Any, path: Path, resume: bool, noted: Mapping[str, Any] | None) -> None:
        from kompono.result.unfinished import read_stored
        from kompono.solve.remembered import Remembered

        self._simulation, self.path, self._request = simulation, path, None if noted is None else _noted(noted)
        extra("h5py", "hdf5")
        path.parent.mkdir(parents=True, exist_ok=True)
        self.stored: Stored | None = read_stored(path) if resume else None
        if self.stored is not None:
            _check_words(path, self.stored)
        if self.stored is not None and self._request is not None and self.stored.head.get("request"):
            _compare(path, self.stored.head["request"], self._request)
        self.journal: Journal | None = None
        self._memory = Remembered(())

    def journal_of(
        self,
        settings: Settings,
        outputs: Outputs,
        state: np.ndarray,
        parameters: np.ndarray,
        feed: Feed,
        scene: Callable[..., Any],
        statistics: Mapping[str, Any],
    ) -> tuple[Journal, np.ndarray]:
        """The journal of a run about to begin, and the parameters to go on with; refuses what is another run."""
        from kompono.solve.journal import Journal
        from kompono.solve.remembered import Remembered

        kernel = self._simulation.kernel
        self._memory = Remembered(feed.sources)
        columns = [[channel.name, channel.unit, channel.angle] for channel in outputs.computed]

        def identity() -> dict[str, Any]:
            return {
                "code": sources(), "model": self._simulation.name, "engine": self._simulation.engine,
                **{f"settings {name}": value for name, value in asdict(settings).items()},
                "equations": equations(kernel.program, outputs.routine), "inputs": _feed(feed),
                "callables": self._memory.digest(), "channels": [name for name, *_ in columns],
            }  # fmt: skip

        def head(rows: np.ndarray, values: np.ndarray) -> dict[str, Any]:
            return {
                "model": self._simulation.name, "channels": columns, "wanted": list(outputs.wanted),
                "until": settings.until, "scene": self._scene(scene, settings, outputs, rows, values, statistics),
                "statistics": {**statistics, "method": settings.method, "step": settings.step},
                "identity": plain(identity()), "parameters": parameters.tolist(), "start": state.tolist(),
                "request": self._request,
            }  # fmt: skip

        def values_of(rows: np.ndarray) -> np.ndarray:
            end = 1 + kernel.program.state_size
            if kernel.program.opaque:  # they were computed as the run went on, and stand behind
                return rows[:, end + len(kernel.program.inputs) :]
            return kernel.map(outputs.routine, rows[:, 0], rows[:, 1:end], rows[:, end:], parameters)

        if self.stored is not None:
            self._check(identity(), state, parameters)
            parameters = np.array(self.stored.head["parameters"], dtype=float)
            feed.recall(self.stored.words["feed"])
            self._memory.recall(self.stored.words["callables"])
        more = lambda: {"callables": self._memory.words(), "resumed": self.resumed}  # noqa: E731
        self.journal = Journal(self.path, head, values_of, more, self.stored)
        return self.journal, parameters

    @property
    def resumed(self) -> list[float]:
        """The times [s] at which the run went on in another process."""
        if self.stored is None:
            return []
        words = self.stored.words
        where = words["scipy"]["time"] if "scipy" in words else words["run"]["time"]
        return [*words.get("resumed", ()), float(where)]

    def _check(self, identity: Mapping[str, Any], state: np.ndarray, parameters: np.ndarray) -> None:
        assert self.stored is not None
        head = self.stored.head
        _compare(self.path, head["identity"], plain(identity))
        own = len(state) - len(self._simulation.program.opaque)  # what is behind are handles
        starts = np.array(head["start"], dtype=float)[:own], state[:own]
        for name, before, now in (
            ("parameters", np.array(head["parameters"], dtype=float), parameters), ("start", *starts)
        ):  # fmt: skip
            if before.shape != now.shape or not np.allclose(before, now, rtol=NEAR, atol=NEAR):
                raise _other(self.path, f"the {name} of the model {'are' if name[-1] == 's' else 'is'} not the same")

    def _scene(
        self, scene: Callable[..., Any], settings: Settings, outputs: Outputs, rows: np.ndarray, values: np.ndarray,
        statistics: Mapping[str, Any],
    ) -> Any:  # fmt: skip
        names = [outputs.computed[i].name for i in outputs.wanted]
        shown = Result(rows[:, 0], names, values[:, list(outputs.wanted)], statistics=statistics)
        try:
            return scene(shown, until=settings.until)
        except KomponoError:  # whoever asks for it will hear why
            return None

    def finish(self, result: Result) -> Result:
        """Write the result of a run that is over to its file; if that fails, it is said and the result stays."""
        if self.stored is not None:
            result.statistics["resumed"] = self.resumed
        try:
            if self.journal is not None and self.journal.last is not None:  # a run in real time has none
                self.journal.conclude(record_of(result))
            else:
                result.to_hdf5(self.path)
            result.file = self.path
        except (OSError, KomponoError) as error:
            warn(f"{self.path} could not be written: {error}; the result is in memory only.", RunWarning)
        return result


def scenery(*arguments: Any, **options: Any) -> Any:
    """The scene of a run, made when it is asked for; most runs are not looked at in 3D."""
    from kompono.scene.record import scenery

    return scenery(*arguments, **options)


def resume_request(path: str | Path) -> dict[str, Any]:
    """The options of `simulate` that the run in a file was begun with."""
    from kompono.result.unfinished import read_stored

    found = checked_file(path, "resume")
    assert found is not None
    request = read_stored(found, light=True).head.get("request")
    if not isinstance(request, dict):
        raise FileError(f"{str(path)!r} does not say with which options its run began.", fix="Give them again.")
    return request


def _check_words(path: Path, stored: Stored) -> None:
    """Whether all is there that a run goes on with."""
    wanted = {"identity", "parameters", "start"} - set(stored.head)
    wanted |= {"feed", "callables", "seconds"} - set(stored.words)
    wanted |= {"run", "course"} - set(stored.words) if "scipy" not in stored.words else set()
    if wanted or not stored.rows or ("run" in stored.words and "vectors" not in stored.arrays):
        raise FileError(f"{str(path)!r} does not hold all that its run needs to go on.", fix="Begin the run again.")


def _compare(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name in {**before, **now}:
        if before.get(name) != now.get(name):
            said = f"{before.get(name)!r} then, {now.get(name)!r} now"
            told = {
                "equations": "the equations of the model are not the same",
                "code": "another version of Kompono began it",
                "callables": "the callables that feed inputs are not the same",
                "inputs": "the inputs are not the same",
            }  # fmt: skip
            raise _other(path, told.get(name, f"{name.removeprefix('settings ')} was {said}"))


def _other(path: Path, why: str) -> RunError:
    fix = "Go on with the same model and options, or begin a new run."
    return RunError(f"the run in {str(path)!r} is another one: {why}.", fix=fix)


def _noted(request: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a run as a file keeps them: what may be one name or several is several."""
    lists = {name: [value] for name, value in request.items() if name in SEVERAL and isinstance(value, str)}
    return plain({**request, **lists})


def plain(value: Any) -> Any:
    """Options as JSON would give them back."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    return value if isinstance(value, str | int | float | bool | type(None)) else repr(value)


def equations(program: Program, outputs: str) -> str:
    """A name for all that a run evaluates: kernels are known by their instructions. Laws are known by what is seen of
    them while all gaps are open, for what is computed when one closes follows from that, and need not be traced yet.
    """
    names = (program.coordinates, program.speeds, program.modes, program.events, *program.states, *program.rates)
    digest = hashlib.sha256(repr((names, program.laws) if program.laws else names).encode())
    view = [program.routines["law_view"]] if "law_view" in program.routines else []
    for routine in (*loop_routines(program, waiting=True), *view, program.routines[outputs]):
        for word in _words(routine):
            digest.update(word)
    return digest.hexdigest()


def _words(routine: Routine) -> list[bytes]:
    plain = (routine.name, routine.inputs, routine.outputs, routine.result, routine.workspace)
    words = [repr((plain, [(call.kernel, call.inputs, call.outputs) for call in routine.calls])).encode()]
    if isinstance(routine, TableRoutine):
        words.append(repr(routine.loops).encode())
        words += [np.ascontiguousarray(t).tobytes() for t in (*routine.tables, routine.sweeps)]
    return words


def _feed(feed: Feed) -> str:
    """A name for constants, tables and periods."""
    digest = hashlib.sha256()
    for source in feed.sources:
        value = None if source.is_callable else source.value
        digest.update(repr((source.name, value, source.period)).encode())
        for part in source.table or ():
            digest.update(np.ascontiguousarray(part, dtype=float).tobytes())
    return digest.hexdigest()
