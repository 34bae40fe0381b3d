"""The result of a run: a table of named channels over time, how the run ended, and what it cost.

It reads like a dictionary of arrays: `result["body.position.z"]`, `result.select("left_*.angle")`. A run that failed
has a result too: everything up to the failure, with the reason in `status`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.ending import Ending
from kompono.errors import FileError, RunError, suggest
from kompono.given import number, shown, texts
from kompono.result.late import Late
from kompono.result.summary import summarize
from kompono.result.target import keeps_result
from kompono.run_end import RunEnd

if TYPE_CHECKING:
    from kompono.result import store

Scenery = Mapping[str, Any] | Callable[["Result"], Mapping[str, Any] | None] | None


def _untold() -> RunError:
    fix = "Results of `simulate`, and HDF5 and Parquet files of them, do; else give `initial` values."
    return RunError("this result does not say in which state its run ended.", fix=fix)


class UnknownChannel(RunError, KeyError):
    """No channel has this name, or none matches this pattern."""

    __str__ = Exception.__str__  # KeyError would show the message in quotes
    names_call = False


@dataclass(frozen=True)
class Status:
    """How a run ended: whether as planned, the reason if not, and the time [s] reached or from which on it is wrong.

    `kind` is its name for programs, which compares with a text: `status.kind == "not finite"`. `cause` is the exception
    of a callable that ended it; files do not keep it.
    """

    ok: bool = True
    message: str = ""
    time: float = 0.0
    kind: Ending = None  # type: ignore[assignment] (left out: DONE or UNKNOWN, as `ok` says)
    cause: BaseException | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        kind = Ending(self.kind or (Ending.DONE if self.ok else Ending.UNKNOWN))
        object.__setattr__(self, "kind", kind)
        if kind.ok != self.ok:
            raise ValueError(f"a status of the kind {kind.value!r} cannot be {'ok' if self.ok else 'not ok'}")

    def check(self, what: str = "") -> None:
        """Raise RunError, with its cause, unless the run ended as planned."""
        if not self.ok:
            raise RunError(f"{what}{self.message}.") from self.cause

    def __getstate__(self) -> dict[str, Any]:  # an exception need not be fit to travel
        return {**self.__dict__, "cause": None}


class Result(Mapping[str, np.ndarray]):
    """Channels by name, each an array (n,) over `time` (n,) [s].

    `table` (n, k) holds all of them, column by column in the order of `names`; arrays are read-only. `units` maps names
    to SI units, `statistics` says what the run cost (steps, evaluations, seconds), `model` what was simulated. `scene`
    is what the model looks like (plain data), or a function of the result that says so when it is first asked for.
    """

    def __init__(
        self,
        time: np.ndarray,
        names: Sequence[str],
        table: np.ndarray,
        *,
        units: Mapping[str, str] | None = None,
        status: Status | None = None,
        statistics: Mapping[str, Any] | None = None,
        model: str = "",
        scene: Scenery = None,
        end: Mapping[str, Any] | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        self.time = frozen(time)
        self.names = tuple(names)
        self.table = frozen(table)
        if self.time.ndim != 1 or self.table.shape != (len(self.time), len(self.names)):
            raise ValueError(f"{self.table.shape} values, {self.time.shape} times and {len(self.names)} names disagree")
        self._columns = {name: i for i, name in enumerate(self.names)}
        if len(self._columns) < len(self.names) or "time" in self._columns:
            raise RunError("channels need different names, and none may be called 'time'.", fix="Rename one.")
        self.units = {name: (units or {}).get(name, "") for name in self.names}
        self.status = status or Status(time=float(self.time[-1]) if len(self.time) else 0.0)
        self.statistics = dict(statistics or {})
        self.model = model
        self.file: Path | None = None  # that the run has written itself to
        self.scene, self.origin, self.end = scene, origin or {}, RunEnd.from_data(end)

    scene: Any = Late()  # plain data for viewers (`kompono.scene.Scene.from_data`); None if not known
    origin: Any = Late()  # versions, hash of the equations, parameters, inputs, starts, options
    end: Any = Late(missing=_untold)  # a `RunEnd`: all that another run needs to go on

    def view(self, **options: Any) -> Any:
        """Show the motion in 3D in the browser or notebook; options as of `kompono.view`."""
        from kompono.result.extras import edge

        return edge("view").view(self, **options)

    def __getitem__(self, name: str) -> np.ndarray:
        """The values (n,) of one channel, or the times for `time`."""
        if isinstance(name, str) and name == "time":
            return self.time
        if not isinstance(name, str) or name not in self._columns:
            raise UnknownChannel(f"there is no channel {shown(name)}.", fix=suggest(name, self.names))
        return self.table[:, self._columns[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __eq__(self, other: object) -> bool:  # arrays have no one answer; a result equals itself
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def select(self, patterns: str | Iterable[str]) -> Result:
        """The channels that match a glob pattern (or any of several), in their order here."""
        columns = matching(patterns, self.names)
        chosen = Result(
            self.time,
            [self.names[i] for i in columns],
            self.table[:, columns],
            units=self.units,
            status=self.status,
            statistics=self.statistics,
            model=self.model,
        )
        for place in ("_scene", "_origin", "_end"):
            vars(chosen)[place] = vars(self)[place]
        return chosen

    def at(self, time: float) -> dict[str, float]:
        """All channels at one `time` [s]: exact at recorded times, linear between them."""
        time = number(time, "the time", error=RunError, finite=False, fix="Give seconds.")
        if not len(self.time) or not self.time[0] <= time <= self.time[-1]:
            span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self.time) else "nothing"
            fix = "Give a time inside of it."
            raise RunError(f"there is no value at {time:g} s: the result covers {span}.", fix=fix)
        i = int(np.searchsorted(self.time, time, side="right")) - 1
        row = self.table[i]
        if self.time[i] != time:
            share = (time - self.time[i]) / (self.time[i + 1] - self.time[i])
            row = (1 - share) * row + share * self.table[i + 1]
        return dict(zip(self.names, row.tolist(), strict=True))

    @property
    def ending(self) -> str:
        """How a run that did not end as planned did: `ended early at 0.3 s`, or `wrong from 0.3 s on` if it went on."""
        if self.status.ok:
            return ""
        how = "wrong from {:.9g} s on" if went_on(self) else "ended early at {:.9g} s"
        return how.format(self.status.time)

    def check(self) -> Result:
        """This result if the run ended as planned; else RunError with the reason: `simulate(...).check()`."""
        self.status.check(f"{self.model or 'the run'} did not run as planned: ")
        return self

    def summary(self) -> str:
        """A few lines for people: how it ended, what it cost, drift, energy, ranges of the first channels."""
        return summarize(self)

    def plot(self, *patterns: str, compare: Any = None, out: str | Path | None = None, **options: Any) -> Any:
        """A picture of the channels that match globs: `save`, `show`, or a look at it in a notebook.

        compare: further results, one, several or by label. `out` is a file to write it to (png, svg, pdf). Options are
        those of `kompono.edges.plot.plot`: x, difference, log, panels, events, title. Needs the extra `plot`.
        """
        from kompono.result.extras import edge

        picture = edge("plot").plot(edge("plot").alongside(self, compare), *patterns, **options)
        if out is not None:
            picture.save(out)
        return picture

    def animate(self, path: str | Path, **options: Any) -> Path:
        """Write the motion as a movie (gif or mp4) and return its path; options as of `kompono.edges.animate.animate`.

        speed, fps, camera, size, curves. Needs the extra `animate`.
        """
        from kompono.result.extras import edge

        return edge("animate").animate(self, path, **options)

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`: one column per channel, the time [s] as index, the rest in `attrs`."""
        from kompono.result.extras import extra

        index = extra("pandas", "pandas").Index(self.time, name="time")
        frame = extra("pandas", "pandas").DataFrame(self.table, index=index, columns=list(self.names))
        frame.attrs.update(self._notes())
        return frame

    def to_xarray(self) -> Any:
        """An `xarray.Dataset`: one variable per channel along `time`, each with its `units`."""
        from kompono.result.extras import extra

        variables = {name: ("time", values, {"units": self.units[name]}) for name, values in self.items()}
        time = ("time", self.time, {"units": "s"})
        return extra("xarray", "xarray").Dataset(variables, coords={"time": time}, attrs=self._notes())

    @keeps_result
    def to_csv(self, path: str | Path) -> None:
        """A text table: header `time,<channels>`, every double with all its digits; at the end, in lines that begin
        with #, units, status and an end mark. What the model looks like is not kept.
        """
        from kompono.result import store

        store.write_csv(path, store.Record(self.time, self.names, self.table, self._notes()))

    @keeps_result
    def to_parquet(self, path: str | Path) -> None:
        """A Parquet file: one column per channel; `Result.load` gives the same result back."""
        from kompono.result import store

        store.write_parquet(path, record_of(self))

    @keeps_result
    def to_hdf5(self, path: str | Path) -> None:
        """An HDF5 file: datasets `time`, `values`, `names`; `Result.load` gives the same result back."""
        from kompono.result import store

        store.write_hdf5(path, record_of(self))

    @staticmethod
    def load(path: str | Path) -> Result:
        """The result in a file written by `to_csv`, `to_parquet` or `to_hdf5` (by suffix: csv, parquet, h5, hdf5).

        A file that is damaged, cut off or of another kind is a FileError. One without an end mark (of another program)
        warns; a text table without one is not ok, for it may be cut off between two rows.
        """
        from kompono.result import store

        record = store.read(path)
        notes = dict(record.notes)
        status = Status(**notes.pop("status")) if "status" in notes else None
        try:
            return Result(record.time, record.names, record.table, status=status, **notes)
        except (RunError, ValueError) as cause:
            raise FileError(f"{str(path)!r} is no file of a result: {cause}") from cause

    def __getstate__(self) -> dict[str, Any]:  # a model cannot be pickled, its scene can
        told = {"_end": vars(self)["_end"] and self.end, "_origin": self.origin, "_scene": self.scene}
        return {**self.__dict__, **told}

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self.time) else "no times"
        outcome = "" if self.status.ok else f", {self.ending}: {self.status.message}"
        return f"<Result {self.model}: {len(self.names)} channels, {len(self.time)} rows, {span}{outcome}>"

    def _notes(self) -> dict[str, Any]:
        status = {name: getattr(self.status, name) for name in ("ok", "message", "time", "kind")}
        notes = {"units": self.units, "status": status, "statistics": self.statistics}
        return {**notes, "model": self.model}


def went_on(result: Result) -> bool:
    """Whether a run that did not end as planned has rows after the time from which on it is wrong."""
    return bool(len(result.time) and result.status.time < result.time[-1] * (1 - 1e-9))


def record_of(result: Result) -> store.Record:
    """All of a result as a file keeps it."""
    from kompono.result import store

    notes = {**result._notes(), "scene": result.scene, "origin": result.origin}
    if vars(result)["_end"] is not None:
        notes["end"] = result.end.data()
    return store.Record(result.time, result.names, result.table, notes)


def matching(patterns: str | Iterable[str], names: Sequence[Any]) -> list[int]:
    """Positions of the `names` (or channels) that match any glob pattern; a pattern that matches none is an error.

    A list too long to be made may bring its own `matching(pattern)`.
    """
    known = names if hasattr(names, "matching") else [getattr(entry, "name", entry) for entry in names]
    chosen: set[int] = set()
    fix = 'Give names or globs, e.g. ["*.angle", "energy.*"].'
    for pattern in texts(patterns, "channels", error=RunError, fix=fix):
        if hasattr(known, "matching"):
            found = known.matching(pattern)  # type: ignore[attr-defined]
        else:
            plain = not any(sign in pattern for sign in "*?[")
            found = [i for i, name in enumerate(known) if name == pattern or (not plain and fnmatchcase(name, pattern))]
        if not found and pattern != "*":
            hint = suggest(pattern, known) if isinstance(known, list) else "Give other globs."
            raise UnknownChannel(f"no channel matches {pattern!r}.", fix=hint)
        chosen.update(found)
    return sorted(chosen)


def frozen(array: np.ndarray) -> np.ndarray:
    """A read-only float64 view (or copy, if it is not float64 yet)."""
    view = np.asarray(array, dtype=np.float64).view()
    view.flags.writeable = False
    return view
