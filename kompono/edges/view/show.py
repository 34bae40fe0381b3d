"""`kompono.view`: from whatever the user has (a model, a result, a file) to a viewer or a page."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kompono.edges.view.living import living
from kompono.edges.view.page import fragment, page
from kompono.edges.view.played import Played
from kompono.edges.view.serve import PageServer
from kompono.errors import CompileError, ModelError, RunError
from kompono.given import number
from kompono.model.subsystem import Subsystem
from kompono.result import Result
from kompono.result.beside import write_text
from kompono.result.target import check_target
from kompono.scene import POSE_CHANNELS, Scene
from kompono.scene.record import record
from kompono.single import simulate

ENGINE = ("engine", "cut", "independent", "projection", "metric")


def view(
    source: Subsystem | Result | str | Path,
    *,
    model: Subsystem | None = None,
    channels: str | Iterable[str] | None = None,
    html: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    speed: float = 1.0,
    live: bool | str = False,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Show a model as assembled at its start, or the motion of a result (or of a file with one), in the browser.

    Returns a `PageServer`; its `url` is the address, on this machine only unless `host` says otherwise. In a notebook
    it returns the page itself, shown below the cell. With `html` the self-contained page is written to that file and
    its path returned. `model` is what a result is of that does not say so itself (CSV). `channels` are globs of the
    curves.

    With `live` the machine itself runs in the page, as WebAssembly: equal steps of the model's own step loop, with
    events and projections, sliders for inputs, parameters, springs and gravity, and bodies that can be pulled. A result
    (give its `model`, too) is drawn beside it to compare. `options` are those of `simulate` the machine runs with; by
    default the model's `run_defaults`. What cannot run in a page is refused if one is written; if it is served, it
    runs in this process and the page shows it, as `live="here"` wants it in any case.
    """
    number(speed, "speed", error=RunError, fix="Give simulated seconds per second, e.g. speed=0.5.")
    path = None if html is None else check_target(html)
    scene, result = scene_of(source, model)
    machine = None
    if live:
        model = _model(source, model)
        options = model.run_defaults if options is None else options
        written = path is not None or in_notebook()
        machine = _in_page(model, options, must=written) if live != "here" or written else None
        if machine is None:
            return Played(model, scene, options, result=result, channels=channels, host=host, port=port, speed=speed)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, page(scene, result, channels=channels, speed=speed, living=machine))
        return path
    if in_notebook():
        from IPython.display import HTML  # type: ignore[import-not-found]

        return HTML(f"<div>{fragment(scene, result, channels=channels, speed=speed, living=machine)}</div>")
    return PageServer(page(scene, result, channels=channels, speed=speed, living=machine), host=host, port=port)


def _in_page(model: Subsystem, options: Mapping[str, Any], must: bool) -> Any:
    """The machine for a page; None if no page can run it, which is an error if it `must`."""
    try:
        return living(model, options)
    except (ModelError, RunError, CompileError):
        if must:
            raise
        return None


def _model(source: Any, model: Subsystem | None) -> Subsystem:
    """The machine that shall run."""
    machine = source if isinstance(source, Subsystem) else model
    if machine is None:
        fix = "Give the model itself, or say which model the result is of (model=..., --model FILE.py)."
        raise RunError("only a model can live in a page, a result is over.", fix=fix)
    return machine


def scene_of(source: Subsystem | Result | str | Path, model: Subsystem | None = None) -> tuple[Scene, Result | None]:
    """The scene to show and, if it moves, the result that says how."""
    if isinstance(source, str | Path):
        source = Result.load(source)
    if isinstance(source, Subsystem):
        return start_scene(source), None
    if not isinstance(source, Result):
        raise RunError(f"a {type(source).__name__} cannot be viewed.", fix="Give a model, a Result or a file of one.")
    if model is not None:
        return record(model, None, source), source
    if source.scene is None:
        raise RunError(
            f"the result of {source.model or 'unknown model'} does not say what the model looks like.",
            fix="CSV files do not: write --hdf5 or --parquet, or say which model it is (--model FILE.py).",
        )
    return Scene.from_data(source.scene), source


def start_scene(model: Subsystem) -> Scene:
    """The scene of a model as assembled at its start."""
    chosen = {name: value for name, value in model.run_defaults.items() if name in (*ENGINE, "initial", "parameters")}
    result = simulate(model, until=0.0, channels=POSE_CHANNELS, progress=False, **chosen)
    return record(model, chosen.get("parameters"), result)


def in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
