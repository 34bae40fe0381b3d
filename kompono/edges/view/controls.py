"""The panel beside the machine: time, curves, and the tree of components to show, hide and highlight."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from kompono.edges.view.stage import ServedStage
from kompono.scene import Scene

NOTHING = "(nothing)"
LISTED = 500  # parts that are all listed


class ComponentPanel:
    """Folders for subsystems, a box to tick for each part; a list to choose what is highlighted."""

    def __init__(self, server: Any, scene: Scene, stage: ServedStage) -> None:
        self.gui, self.scene, self.stage = server.gui, scene, stage
        self.boxes: dict[str, Any] = {}
        self._busy = False
        self.paths = _with_owners([part.path for part in scene.parts])
        self.types = {part.path: part.type for part in scene.parts}
        self.members: dict[str, list[str]] = {}
        for path in self.paths:
            self.members.setdefault(path.rpartition(".")[0], []).append(path)
        self.lit = self.gui.add_dropdown("highlight", (NOTHING, *self.paths[:LISTED]), initial_value=NOTHING)
        self.lit.on_update(lambda _: self.highlight(self.lit.value))
        self.glass = self.gui.add_checkbox("x-ray", False, hint="bodies as if of glass")
        self.glass.on_update(lambda _: stage.glass(self.glass.value))
        with self.gui.add_folder("show", expand_by_default=True):
            self._kinds()
        with self.gui.add_folder("components", expand_by_default=len(scene.parts) < 60):
            self._level("")
        if len(self.paths) <= LISTED:
            stage.on_pick(self._picked)

    def _kinds(self) -> None:
        groups = {"bodies": ("body", "ground"), "joints": ("joint", "constraint"), "forces": ("force", "coupling")}
        for name, kinds in groups.items():
            parts = [i for i, part in enumerate(self.scene.parts) if part.kind in kinds]
            if parts:
                box = self.gui.add_checkbox(f"all {name}", True)
                box.on_update(lambda _, box=box, parts=parts: self._show_all(parts, box.value))

    def _level(self, owner: str, depth: int = 0) -> None:
        """The members of one subsystem; of large models only the upper levels."""
        for path in self.members.get(owner, [])[:LISTED]:
            name = path.rpartition(".")[2]
            if path not in self.members or (depth and len(self.paths) > LISTED):
                self._box(path, f"{name} ({self.types[path]})" if path in self.types else name)
                continue
            with self.gui.add_folder(name, expand_by_default=False):
                self._box(path, f"all of {name}")
                self._level(path, depth + 1)

    def _box(self, path: str, label: str) -> None:
        box = self.gui.add_checkbox(label, True, hint=path)
        self.boxes[path] = box
        box.on_update(lambda _, path=path, box=box: self.show(path, box.value))

    def below(self, path: str) -> list[int]:
        """Numbers of the parts at a path and below it."""
        return [
            i for i, part in enumerate(self.scene.parts) if part.path == path or part.path.startswith(f"{path}.")
        ]  # fmt: skip

    def show(self, path: str, visible: bool) -> None:
        """Show or hide a component and all in it."""
        if self._busy:
            return
        self._tick([path, *(other for other in self.boxes if other.startswith(f"{path}."))], visible)
        self.stage.show(self.below(path), visible)

    def _show_all(self, parts: list[int], visible: bool) -> None:
        self._tick([self.scene.parts[i].path for i in parts], visible)
        self.stage.show(parts, visible)

    def _tick(self, paths: list[str], visible: bool) -> None:
        self._busy = True
        try:
            for path in paths:
                if path in self.boxes and self.boxes[path].value != visible:
                    self.boxes[path].value = visible
        finally:
            self._busy = False

    def highlight(self, path: str) -> None:
        """Colour a component, or nothing."""
        self.stage.light(self.below(path) if path != NOTHING else [])

    def _picked(self, part: int) -> None:
        path = self.scene.parts[part].path
        self.lit.value = NOTHING if self.lit.value == path else path
        self.highlight(self.lit.value)


def _with_owners(paths: list[str]) -> list[str]:
    """The paths and those of all their owners, each before what is in it."""
    found: dict[str, None] = {}
    for path in paths:
        names = path.split(".")
        for k in range(1, len(names) + 1):
            found[".".join(names[:k])] = None
    return list(found)


class CurvePanel:
    """Chosen channels over time, one chart per unit; what lies behind the present time is drawn bold."""

    COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D3B")
    POINTS = 400

    def __init__(self, server: Any, result: Any, offered: list[str], drawn: list[str]) -> None:
        self.gui, self.result = server.gui, result
        rows = np.unique(np.linspace(0, len(result.time) - 1, self.POINTS).astype(int))
        self.rows, self.times = rows, np.array(result.time[rows])
        self.charts: list[tuple[Any, list[str], Any]] = []
        self.names = list(drawn)
        self.choice = self.gui.add_dropdown("add or remove", (NOTHING, *offered), initial_value=NOTHING)
        self.choice.on_update(self._chosen)
        self.folder = self.gui.add_folder(None)
        self._now = float(self.times[0])
        self._lay()

    def _chosen(self, event: Any) -> None:
        name = self.choice.value
        if event.client is None or name == NOTHING:
            return
        self.names = [other for other in self.names if other != name] if name in self.names else [*self.names, name]
        self.choice.value = NOTHING
        self._lay()

    def _lay(self) -> None:
        for chart, _, legend in self.charts:
            chart.remove()
            legend.remove()
        self.charts = []
        groups: dict[str, list[str]] = {}
        for name in self.names:
            groups.setdefault(self.result.units[name], []).append(name)
        with self.folder:
            for unit, names in groups.items():
                self.charts.append((self._chart(unit, names), names, self.gui.add_html(self._legend(names))))
        self.at(self._now)

    def _chart(self, unit: str, names: list[str]) -> Any:
        values = [np.array(self.result[name][self.rows]) for name in names]
        finite = np.concatenate(values)
        finite = finite[np.isfinite(finite)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        pad = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        colours = [self._colour(name) for name in names]
        series = [{"label": "time [s]"}]
        series += [{"label": name, "stroke": colour, "width": 1} for name, colour in zip(names, colours, strict=True)]
        series += [{"label": "", "stroke": colour, "width": 3} for colour in colours]
        return self.gui.add_uplot(
            (self.times, *values, *values), tuple(series),
            scales={"x": {"time": False, "range": (self.times[0], self.times[-1])},
                    "y": {"range": (low - pad, high + pad)}},
            axes=({"label": "time [s]", "size": 42}, {"label": f"[{unit or '-'}]", "size": 58}),
            legend={"show": False}, height=200,
        )  # fmt: skip

    def _colour(self, name: str) -> str:
        return self.COLOURS[self.names.index(name) % len(self.COLOURS)]

    def _legend(self, names: list[str]) -> str:
        mark = "display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px;background:"
        rows = [f'<div><i style="{mark}{self._colour(name)}"></i>{escape(name)}</div>' for name in names]
        return f'<div style="font-size:12px;padding:0 12px 6px">{"".join(rows)}</div>'

    def at(self, time: float) -> None:
        """Draw what lies behind `time` bold."""
        self._now = time
        behind = self.times <= time + 1e-12
        for chart, names, _ in self.charts:
            values = [np.array(self.result[name][self.rows], dtype=float) for name in names]
            chart.data = (self.times, *values, *(np.where(behind, v, np.nan) for v in values))
