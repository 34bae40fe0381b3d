"""A model in joint coordinates for who closes its loops and places its bodies, and asks nothing else."""

from __future__ import annotations

from kompono.translate.engines.relative import RelativeEngine


class PlacingEngine(RelativeEngine):
    """What is found from numbers is less than the dynamics need."""

    def _find_numbers(self) -> None:
        from kompono.translate.engines.decided import find_places, told_tree  # starts from the cache go without

        numbers = self.model.numbers
        assert numbers is not None
        numbers.decided("tree", told_tree(self.model, self.topology))
        find_places(self._inlined[1], self.closing)
        self._opened_rows(self._found)
