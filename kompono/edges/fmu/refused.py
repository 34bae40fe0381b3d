"""What cannot go into an FMU, said with its path, the reason and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kompono.errors import ModelError, RunError
from kompono.foreign.element import Fmu
from kompono.given import plain, shown
from kompono.sealed.element import Sealed
from kompono.simulation import Simulation
from kompono.solve.inputs import Feed
from kompono.translate.engines.registry import engine_named

KINDS = {"me": ("me",), "cs": ("cs",), "both": ("me", "cs")}


def check_options(fmi: object, kind: object, engine: str) -> int:
    """The version; raise for one or a kind there is not, or an engine without rates."""
    version = plain(fmi)
    if version not in (2, 3):
        raise RunError(f"there is no FMI {shown(fmi)}.", path="export_fmu", fix="Use fmi=2 or fmi=3.")
    if not isinstance(kind, str) or kind not in KINDS:
        fix = "Use kind='me', 'cs' or 'both'."
        raise RunError(f"there is no kind of FMU {shown(kind)}.", path="export_fmu", fix=fix)

    if engine_named(engine).steps != "derivative":
        raise RunError(
            f"engine={engine!r} makes tiny steps of its own and has no rates for an FMU.", fix="Use engine='relative'."
        )
    return int(version)


def check_model(simulation: Simulation) -> None:
    """Raise for a model that needs more than native code of its own."""
    program, model = simulation.program, simulation.translation.model
    if program.laws:
        raise ModelError(
            "contact and dry friction choose their modes with a solver an FMU does not have.",
            path=program.laws[0].path, fix="Export with contact='soft' (--contact soft): forces take their place.",
        )  # fmt: skip
    if program.stops:
        raise ModelError(
            "an FMU cannot end the run of its importer.", path=program.events[program.stops[0]],
            fix="Let the event change a mode and give it out; the importer decides.",
        )  # fmt: skip
    for k, numbers in enumerate(program.ticks):
        if len(program.routines[f"tick_{k}"].outputs) > 1:
            raise ModelError(
                "what is sampled there asks a Python callable, which an FMU does not have.",
                path=f"every {program.rates[numbers[0]][0]:g} s",
                fix="Write it as expressions: Mode(0.0, every=...) and .next.",
            )  # fmt: skip
    for part in model.subsystems:
        if isinstance(part, Fmu):
            raise ModelError(
                "an FMU inside an FMU is code for one machine, which is not ours.", path=model.path(part),
                fix="Couple the two in the importing tool.",
            )  # fmt: skip
        if isinstance(part, Sealed):
            raise ModelError(
                "a sealed part has code for the machines its author chose, and may be locked for you alone.",
                path=model.path(part), fix="Ask its author for the component itself, or for an FMU of it.",
            )  # fmt: skip
    if program.opaque or program.away or program.spread is not None:
        paths = [path for path, _ in program.opaque] or [path for paths in program.away.values() for path in paths]
        raise ModelError(
            "it runs elsewhere, and an FMU has only itself.", path=", ".join(paths), fix="Keep the part in this model."
        )


def check_inputs(feed: Feed) -> None:
    """Raise for inputs that are not fed by a number: the importer feeds them."""
    for source in feed.sources:
        if source.is_callable or source.table is not None:
            what = "a Python callable" if source.is_callable else "a table"
            raise ModelError(
                f"it is fed by {what}, which an FMU does not have: its importer feeds the input.", path=source.name,
                fix=f'Say what it starts with: inputs={{"{source.name}": 0.0}} (--input {source.name}=0).',
            )  # fmt: skip


def check_names(names: Iterable[str], outputs: Sequence[str]) -> None:
    """Raise for two variables of one name: importers find them by it."""
    seen: set[str] = set()
    for name in (*names, *outputs):
        if name in seen:
            raise ModelError("two variables of the FMU would have this name.", path=name, fix="Rename one of them.")
        seen.add(name)
