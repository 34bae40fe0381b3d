"""The result of many runs of one model: named channels over runs and time, and how each run ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import RunError, suggest
from kompono.given import shown
from kompono.result.extras import edge, extra
from kompono.result.result import Result, Status, UnknownChannel, frozen, matching
from kompono.result.summary import summarize_ensemble


class Ensemble(Mapping[str, np.ndarray]):
    """Channels by name, each an array (runs, n) over `time` (n,) [s].

    `table` (runs, n, k) holds all of them; arrays are read-only. `varied` maps the paths of parameters and start values
    that differ to their values (runs,), `status` has one entry per run, `failed` the numbers of the runs that ended
    early; after its end a run's values are NaN. `units`, `statistics` and `model` are those of a `Result`.
    """

    def __init__(
        self,
        time: np.ndarray,
        names: Sequence[str],
        table: np.ndarray,
        *,
        status: Sequence[Status],
        varied: Mapping[str, np.ndarray] | None = None,
        units: Mapping[str, str] | None = None,
        statistics: Mapping[str, Any] | None = None,
        model: str = "",
    ) -> None:
        self.time, self.names, self.table = frozen(time), tuple(names), frozen(table)
        self.status = tuple(status)
        if self.table.shape != (len(self.status), len(self.time), len(self.names)):
            raise ValueError(
                f"{self.table.shape} values, {len(self.status)} runs, {len(self.time)} times and {len(self.names)} "
                "names disagree"
            )
        self._columns = {name: i for i, name in enumerate(self.names)}
        self.varied = {name: frozen(values) for name, values in (varied or {}).items()}
        self.units = {name: (units or {}).get(name, "") for name in self.names}
        self.statistics = dict(statistics or {})
        self.model = model

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.status)

    @property
    def failed(self) -> list[int]:
        """The numbers of the runs that did not end as planned; `status` has the reasons."""
        return [i for i, status in enumerate(self.status) if not status.ok]

    def __getitem__(self, name: str) -> np.ndarray:
        """The values (runs, n) of one channel, or the times (n,) for `time`."""
        if isinstance(name, str) and name == "time":
            return self.time
        if not isinstance(name, str) or name not in self._columns:
            raise UnknownChannel(f"there is no channel {shown(name)}.", fix=suggest(name, self.names))
        return self.table[:, :, self._columns[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __eq__(self, other: object) -> bool:  # arrays have no one answer; an ensemble equals itself
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def run(self, i: int) -> Result:
        """One run as the result of `simulate`: of a run that failed, the rows up to its end."""
        if not isinstance(i, int | np.integer) or isinstance(i, bool) or not -self.runs <= i < self.runs:
            raise RunError(f"there is no run {shown(i)}: the ensemble has {self.runs}.", fix="Runs are counted from 0.")
        status, rows = self.status[i], len(self.time)
        if not status.ok:
            known = np.flatnonzero(np.isfinite(self.table[i]).any(axis=1))
            rows = int(known[-1]) + 1 if len(known) else 0
        values = {name: float(values[i]) for name, values in self.varied.items()}
        shared, own = dict(self.statistics), {}
        leaps = shared.pop("fallback", {})
        if "events" in shared:
            own["events"] = shared["events"][i]
        if i % self.runs in leaps:
            own["fallback"] = leaps[i % self.runs]
        return Result(
            self.time[:rows],
            self.names,
            self.table[i, :rows],
            units=self.units,
            status=status,
            statistics={**shared, **own, "run": i % self.runs, "varied": values},
            model=self.model,
        )

    def select(self, patterns: str | Iterable[str]) -> Ensemble:
        """The channels that match a glob pattern (or any of several), in their order here."""
        columns = matching(patterns, self.names)
        return Ensemble(
            self.time,
            [self.names[i] for i in columns],
            self.table[:, :, columns],
            status=self.status,
            varied=self.varied,
            units=self.units,
            statistics=self.statistics,
            model=self.model,
        )

    def plot(self, *patterns: str, out: str | Path | None = None, **options: Any) -> Any:
        """A picture of channels over all runs (median, middle 90 %, range); options as of `Result.plot`."""
        picture = edge("plot").plot(self, *patterns, **options)
        if out is not None:
            picture.save(out)
        return picture

    def to_xarray(self) -> Any:
        """An `xarray.Dataset`: one variable per channel over `run` and `time`, what was varied as coordinates."""
        variables = {name: (("run", "time"), self[name], {"units": self.units[name]}) for name in self.names}
        coordinates: dict[str, Any] = {"time": ("time", self.time, {"units": "s"}), "run": np.arange(self.runs)}
        coordinates |= {
            (f"{name} at start" if name in self else name): ("run", values) for name, values in self.varied.items()
        }
        notes = {"model": self.model, "failed": self.failed, "statistics": self.statistics}
        return extra("xarray", "xarray").Dataset(variables, coords=coordinates, attrs=notes)

    def check(self) -> Ensemble:
        """This ensemble if all runs ended as planned; else RunError with the reason of the first that did not."""
        for i in self.failed:
            self.status[i].check(f"{len(self.failed)} of {self.runs} runs did not run as planned; run {i}: ")
        return self

    def summary(self) -> str:
        """A few lines for people: how many runs, what they cost, which failed and why, ranges over all runs."""
        return summarize_ensemble(self)

    def __repr__(self) -> str:
        outcome = f", {len(self.failed)} failed" if self.failed else ""
        size = f"{self.runs} runs, {len(self.names)} channels, {len(self.time)} rows"
        return f"<Ensemble {self.model}: {size}{outcome}>"
