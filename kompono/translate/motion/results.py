"""What moves a machine cannot use what follows from its motion: the refusal, with the way the result took."""

from __future__ import annotations

from collections.abc import Sequence

from kompono.errors import TranslationError


class ResultUsed(TranslationError):
    """What moves the machine uses what follows from its motion."""

    def __init__(self, result: str, way: Sequence[str]) -> None:
        self.result, self.way = result, way
        through = " -> ".join((result, *way)) if len(way) > 1 else ""
        super().__init__(
            f"it uses {result}, which is a result{f' ({through})' if through else ''}.", path=way[-1],
            fix="Loads and accelerations are known after the solution: use them in an Output, an Event, the rate of a "
            "State or the next value of a sample; a law may use such a State or sample, or what the load follows from.",
        )  # fmt: skip

    def further(self, user: str) -> ResultUsed:
        """The same, met by a user of the signal."""
        return self if user in ("", self.way[-1]) else ResultUsed(self.result, (*self.way, user))
