"""Which channels a run gives, and what must be computed beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kompono.errors import RunError
from kompono.result import matching
from kompono.result.unwrap import with_companions
from kompono.solve.outcome import Outputs
from kompono.translate import Translation


def select_outputs(translation: Translation, patterns: str | Iterable[str]) -> Outputs:
    """The channels a run shall give, and those computed with them because they are needed to make them continuous."""
    channels = translation.program.channels
    columns, drift = matching(patterns, channels), matching("drift.position", channels)
    needed = with_companions(channels, [*columns, *drift])
    places = {column: place for place, column in enumerate(needed)}
    computed = tuple(channels[i] for i in needed)
    names = {channel.name: place for place, channel in enumerate(computed)}
    _check_names([channel.name for channel in computed], names)
    energy = [names[name] for name in ("energy.kinetic", "energy.total") if name in names]
    return Outputs(
        translation.select(needed),
        computed,
        tuple(places[i] for i in columns),
        places[drift[0]],
        (energy[0], energy[1]) if len(energy) == 2 else None,
    )


def _check_names(listed: list[str], names: Mapping[str, int]) -> None:
    """Raise RunError for a channel that has the name of another, or of the times."""
    if "time" in names:
        raise RunError("a channel is called as the times are.", path="time", fix="Rename that element of the model.")
    if len(names) < len(listed):
        twice = next(name for place, name in enumerate(listed) if names[name] != place)
        raise RunError("two channels have this name.", path=twice, fix="Rename one of the elements they belong to.")
