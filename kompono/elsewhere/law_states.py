"""States of a model with parts elsewhere, as laws change them at events: keepers change what is inside."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kompono.compile.law_state import LawStates
from kompono.elsewhere.session import PartSession
from kompono.elsewhere.which import moved


class AwayStates(LawStates):
    """`kernel` is an `AwayKernel`."""

    def ask_modes(self, state: np.ndarray) -> None:
        for session, here, places in self._away(state):
            if places:
                session.ask_modes(state[None, here], len(places))

    def modes(self, state: np.ndarray) -> np.ndarray:
        engine = self.kernel.engine
        modes = np.zeros(len(engine.near.model.modes))
        modes[engine.modes_here] = state[self.places]
        for session, here, places in self._away(state):
            modes[places] = session.modes(state[None, here], len(places))[0, :, 0]
        self.kernel.check_answered(state)
        return modes

    def modes_of_all(self, states: np.ndarray) -> np.ndarray:
        engine = self.kernel.engine
        modes = np.full((len(states), len(engine.near.model.modes)), np.nan)
        modes[:, engine.modes_here] = states[:, self.places]
        for session, here, places in self._away(states[0]) if self.kernel.can_ask(states[:1]) else ():
            modes[:, places] = session.modes(states[:, here], len(places))[:, :, 0]
        return modes

    def other_modes(self, modes: np.ndarray, state: np.ndarray) -> np.ndarray:
        found = modes.copy()
        found[self.kernel.engine.modes_here] = state[self.places]
        return found

    def with_modes(self, state: np.ndarray, modes: np.ndarray) -> np.ndarray:
        made = super().with_modes(state, modes[self.kernel.engine.modes_here])
        for session, here, places in self._away(state):
            if places:
                made[here] = session.settle(state[here], modes[places][:, None])
        return made

    def faster(
        self, state: np.ndarray, base: np.ndarray, factor: float = 0.0, change: np.ndarray | None = None
    ) -> np.ndarray:  # fmt: skip
        count = len(self.program.speeds)
        made = super().faster(state, base, factor, None if change is None else change[:count])
        for k, (session, here, _) in enumerate(self._away(state)):
            if base is not state:
                made[here] = session.with_speeds(state[here], base[here])
            if change is not None:
                made[here] = session.push(made[here], factor, change[count + k : count + k + 1])
        return made

    def moved(self, state: np.ndarray, factor: float, rate: np.ndarray) -> np.ndarray:
        return moved(self.program, state, factor, rate)

    def lasting(self, state: np.ndarray) -> np.ndarray:
        made = state.copy()
        for session, here, _ in self._away(state):
            made[here] = session.pin(state[here])
        return made

    def check(self, state: np.ndarray) -> None:
        for session, here, _ in self._away(state):
            session.check(state[here])

    def coasted(
        self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, span: float
    ) -> np.ndarray:  # fmt: skip
        rate = self.kernel.evaluate("derivative", time, state, inputs, parameters)[0]
        return self.faster(self.moved(state, span, rate), state)

    def _away(self, state: np.ndarray) -> Iterator[tuple[PartSession, slice, list[int]]]:
        """Of each part elsewhere its session, the place of its handle, and those of modes of its laws."""
        engine = self.kernel.engine
        for k, (session, places) in enumerate(zip(self.kernel.sessions(state), engine.modes_away, strict=True)):
            yield session, slice(len(engine.kept) + k, len(engine.kept) + k + 1), places
