"""One page about a model and a run of it: structure, figures, the machine in 3D, cost, and whatever went wrong.

`write_report(Car(), "car.html")`, or `kompono report examples/car.py`. Needs the extra `plot` (matplotlib).
"""

from __future__ import annotations

import base64
import io
import time as clock
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kompono
from kompono.costs import WAYS, cost
from kompono.edges.animate import still
from kompono.edges.figures import figures
from kompono.edges.plot import Picture
from kompono.edges.report import html, run
from kompono.edges.report import model as structure
from kompono.edges.view.page import fragment, policy
from kompono.errors import KomponoError, ModelWarning
from kompono.interruption import asked as interruptions
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.report import Report, inspect
from kompono.request import Request
from kompono.result import Result, extra
from kompono.result.beside import write_text
from kompono.result.result import went_on
from kompono.result.target import check_target
from kompono.scene import Scene
from kompono.translate.declared.elaborate import Elaborated, elaborate

__all__ = ["Written", "write_report"]

INSPECTION = ("engine", "projection", "metric", "cut", "independent", "baumgarte")
SHOWN = 2000  # bodies of a scene
HEAVY = 500_000  # operations; a model with more takes minutes to translate for another engine
PATIENCE = 10.0  # s; after that, the model is not translated for further engines to compare their cost


@dataclass(frozen=True)
class Written:
    """The page, the result of the run (None if there was none), and what went wrong on the way."""

    path: Path
    result: Result | None
    problems: tuple[str, ...]


@dataclass
class _Gathered:
    """What is known about a model when the page is written."""

    model: Subsystem
    request: dict[str, Any]
    parts: Elaborated | None = None
    report: Report | None = None
    result: Result | None = None
    costs: str = ""
    problems: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)

    def attempt(self, what: str, work: Callable[[], Any]) -> Any:
        """The outcome of some work, None if it fails; the reason is kept for the page."""
        if interruptions():
            self.problems.append(f"{what}: left out, interrupted by the user")
            return None
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ModelWarning)
                done = work()
            self.warned += [str(w.message) for w in caught if issubclass(w.category, ModelWarning)]
            return done
        except KomponoError as error:
            self.problems.append(f"{what}: {error}")
        except Exception as error:  # a force law, a figure of the user: the page tells, the rest goes on
            self.problems.append(f"{what}: {type(error).__name__}: {error}")
        return None


@heeded
def write_report(
    model: Subsystem,
    path: str | Path,
    *,
    plots: Iterable[str] = (),
    source: str = "",
    request: Mapping[str, Any] | None = None,
) -> Written:
    """Run a model and write one self-contained HTML page about it and the run.

    request: keyword arguments of `simulate` (None: the model's `run_defaults`). `plots` are globs of channels to draw
    instead of the joint coordinates; figures the model declares are always there. `source` says where it came from.
    """
    extra("matplotlib", "plot")
    target = check_target(path)
    asked = {"until": 1.0, **(model.run_defaults if request is None else request)}
    gathered = _Gathered(model, asked)
    gathered.parts = gathered.attempt("The model", lambda: elaborate(model))
    if gathered.parts is not None:
        gathered.result = gathered.attempt("The run", lambda: kompono.simulate(model, **asked))
        _inspect(gathered)
    text = _compose(gathered, tuple(plots), source)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, text)
    return Written(target, gathered.result, tuple(gathered.problems))


def _inspect(gathered: _Gathered) -> None:
    chosen = {name: gathered.request[name] for name in INSPECTION if gathered.request.get(name) is not None}
    known, begun = len(gathered.warned), clock.perf_counter()
    gathered.report = gathered.attempt("Inspection", lambda: inspect(gathered.model, **chosen))
    del gathered.warned[known:]  # the run has said the same
    if gathered.report is None:
        return
    gathered.costs = _costs(gathered, begun)


def _costs(gathered: _Gathered, begun: float) -> str:
    """Operations per step of each way to move, until patience ends; the last of `WAYS` are quicker to count."""
    rows: list[tuple[Any, ...]] = []
    left = [WAYS[0], *WAYS[:0:-1]]
    heavy = gathered.report is not None and sum(gathered.report.operations.values()) > HEAVY
    while left and not heavy and clock.perf_counter() - begun < PATIENCE:
        counted = gathered.attempt("Cost", lambda: cost(gathered.model, [left.pop(0)]))
        for way in counted.ways if counted else ():
            rows.append((way.engine, way.projection, way.derivative, way.project, way.step(2), way.step(4)))
    note = (
        f"Not counted, for it takes long: {', '.join(' '.join(way) for way in left)}. See kompono cost." if left else ""
    )
    head = ("engine", "projection", "derivative", "projection", "rk2 step", "rk4 step")
    return html.table(head, rows) + (f"<p>{html.text(note)}</p>" if note else "")


def _compose(gathered: _Gathered, patterns: tuple[str, ...], source: str) -> str:
    """The page as text; figures come first into being, for they may fail too."""
    counter = iter(range(1, 10_000))
    seen = _scene(gathered)
    declared = _figures(gathered, "Figures", lambda result: figures(gathered.model, result), counter)
    parts = gathered.parts
    curves = (
        _figures(gathered, "Curves", lambda result: run.overview(parts, result, patterns), counter) if parts else ""
    )
    sections = [
        *_outcome(gathered),
        html.section("3D", seen),
        html.section("Figures", declared),
        html.section("Run", *_run(gathered), curves),
        html.section("Model", *_model(gathered)),
        html.section("Cost", _cost(gathered)),
    ]
    subtitle = structure.purpose(gathered.model)
    day = clock.strftime("%Y-%m-%d %H:%M")
    foot = " · ".join(filter(None, [f"Kompono {kompono.__version__}", source, day]))
    return html.page(type(gathered.model).__name__, subtitle, _facts(gathered), sections, foot, policy())


def _outcome(gathered: _Gathered) -> Iterator[str]:
    result = gathered.result
    if result is not None and result.status.ok:
        yield html.notice(f"The run reached its end at {result.status.time:g} s.", bad=False)
    elif result is not None:
        yield html.notice(f"The run {'is ' * went_on(result)}{result.ending}: {result.status.message}", bad=True)
    for problem in gathered.problems:
        yield html.notice(problem, bad=True)
    for warning in dict.fromkeys(gathered.warned):
        yield html.notice(f"Warning: {warning}", bad=True)


def _facts(gathered: _Gathered) -> Iterator[tuple[str, Any]]:
    report, result = gathered.report, gathered.result
    if report is not None:
        yield "bodies", report.bodies
        yield "joints", report.joints
        if report.constraints:
            yield "constraints", report.constraints
        yield "degrees of freedom", report.degrees_of_freedom
        yield "redundant conditions", report.redundant_count
    if result is not None:
        known = result.statistics
        yield (
            "method",
            ", ".join(filter(None, [str(known.get("method", "")), run.duration(float(known.get("step", 0)))])),
        )
        yield "steps", known.get("steps", "")
        yield "to run", run.duration(float(known.get("seconds_run", 0)))


def _scene(gathered: _Gathered) -> str:
    """The moving scene, and a still for paper and for browsers without it."""
    result = gathered.result
    if result is None or not len(result.time):
        return ""

    def draw() -> str:
        if gathered.parts is not None and len(gathered.parts.bodies) > SHOWN:
            return f"<p>Left out: more than {SHOWN} bodies.</p>"
        if result.scene is None:
            return "<p>The run did not record where its bodies are.</p>"
        file = io.BytesIO()
        extra("PIL.Image", "plot").fromarray(still(result, float(result.time[0]), size=(1000, 620))).save(file, "png")
        data = base64.b64encode(file.getvalue()).decode()
        picture = f'<img alt="the machine at the start" src="data:image/png;base64,{data}">'
        caption = f"<figcaption>At the start, {result.time[0]:g} s.</figcaption>"
        live = fragment(Scene.from_data(result.scene), result, height=560)
        return f'{live}<figure class="paper">{picture}{caption}</figure>'

    return gathered.attempt("The scene", draw) or ""


def _figures(
    gathered: _Gathered, what: str, make: Callable[[Result], Iterable[Picture]], counter: Iterator[int]
) -> str:
    """Figures one by one: those made before one fails are kept."""
    result, shown = gathered.result, []
    if result is None or not len(result.time):
        return ""

    def draw() -> None:
        for picture in make(result):
            shown.append(html.figure(picture.svg(), picture.caption, next(counter), picture.size[0]))

    gathered.attempt(what, draw)
    return "\n".join(shown)


def _run(gathered: _Gathered) -> Iterator[str]:
    if gathered.result is not None:
        kept = html.pairs(run.quality(gathered.result))
        yield html.beside(run.settings(gathered.request, gathered.result), kept)
        yield run.events(gathered.result)
        yield run.channels(gathered.result)


def _model(gathered: _Gathered) -> Iterator[str]:
    yield structure.tree(gathered.model)
    if gathered.report is not None:
        yield "<h3>Freedoms and conditions</h3>"
        yield structure.structure(gathered.report)
    if gathered.parts is not None:
        yield structure.bodies(gathered.parts, gathered.request.get("parameters"))
        engine = str(gathered.request.get("engine", Request.engine))
        yield structure.connections(gathered.parts, gathered.report, engine)
        yield structure.laws(gathered.parts)
        yield structure.loads(gathered.parts)


def _cost(gathered: _Gathered) -> str:
    if gathered.report is None:
        return ""
    counts = [(name, count) for name, count in gathered.report.operations.items()]
    own = html.table(("routine of this run", "operations per evaluation"), counts)
    every = f"<h3>Operations on every engine</h3>{gathered.costs}" if gathered.costs else ""
    return own + every
