"""The routines of a program, traced when they are asked for, or taken from where they were kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kompono.garbage import uncollected
from kompono.translate.declared.stored import KeptTranslation
from kompono.translate.program import Routine


class Routines(Mapping[str, Routine]):
    """Routines by name, traced when first asked for: a run without Jacobian never makes one. Where they are kept, their
    names begin with a `label`.
    """

    def __init__(
        self, makers: dict[str, Callable[[], Routine]], kept: KeptTranslation | None = None, label: str = ""
    ) -> None:  # fmt: skip
        self._makers, self.kept, self._label = makers, kept, label
        self._made: dict[str, Routine] = {}

    def __getitem__(self, name: str) -> Routine:
        if name not in self._made:
            make = self._makers[name]
            with uncollected():
                self._made[name] = make() if self.kept is None else self.kept.routine(self._label + name, make)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def add(self, name: str, maker: Callable[[], Routine]) -> None:
        """Offer one more routine."""
        self._makers.setdefault(name, maker)

    def remove(self, name: str) -> None:
        """Offer one less."""
        del self._makers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)
