"""Native code of a model some of whose parts are elsewhere: a run begins by opening sessions with their hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from kompono.compile import FixedRun, Kernel
from kompono.compile.evaluator import Unanswered
from kompono.compile.law_state import HOLDS, TIED, LawStates
from kompono.compile.run_adaptive import AdaptiveRun
from kompono.elsewhere.hosts import Host
from kompono.elsewhere.session import KeptSession, PartSession, session_of
from kompono.errors import RunError


class AwayKernel(Kernel):
    """`engine` is the one that knows which entries of an assembled state are whose (`translate.parts.away`)."""

    def __init__(self, program: Any, engine: Any, hosts: Mapping[str, Host], *, cache: bool = True) -> None:
        super().__init__(program, cache=cache, threads=1)
        self.engine, self.hosts = engine, dict(hosts)

    @contextmanager
    def begun(
        self, state: np.ndarray, lanes: int = 1, kept: Sequence[KeptSession] | None = None
    ) -> Iterator[np.ndarray]:  # fmt: skip
        """Parts are told where they start, or go on where they were `kept`; they can be asked about any state of the
        run until this ends.
        """
        given = np.asarray(state, dtype=float).reshape(-1, lanes)
        sessions: list[PartSession] = []
        try:
            for part, before in zip(self.engine.parts, kept or [None] * len(self.engine.parts), strict=True):
                sessions.append(self.hosts[part.path].open(part, lanes, before))
            rows = [
                self.hosts[part.path].start(part, session, given[places]) if kept is None else session.first
                for part, session, places in zip(self.engine.parts, sessions, self.engine.inner, strict=True)
            ]
            yield np.concatenate([given[self.engine.kept], np.array(rows)]).ravel()
        finally:
            for session in sessions:
                session.close()

    @property
    def lasts(self) -> bool:
        """Whether a run can go on in another process."""
        return all(host.lasts for host in self.hosts.values())

    @property
    def may_lose_parts(self) -> bool:
        """Whether a run may be left without a part, and go on later."""
        return any(host.may_be_lost for host in self.hosts.values())

    def keep(self, state: np.ndarray) -> list[KeptSession]:
        """What another process needs of all parts to go on from here; Unanswered if it cannot be told."""
        found = [session.keep() for session in self.sessions(state)]
        if None in found:
            raise Unanswered(self.trouble(state) or "a part elsewhere cannot be kept")
        return [one for one in found if one is not None]

    def sessions(self, state: np.ndarray) -> list[PartSession]:
        """The open sessions a state belongs to, part by part."""
        handles = np.asarray(state).reshape(self.program.state_size, -1)[-len(self.program.opaque) :, 0]
        return [session for handle in handles if (session := session_of(handle)) is not None]

    def fixed(self, method: str, time: float, state: Any, **options: Any) -> FixedRun:
        if getattr(self.settle, "steps", False):
            self._refuse_memory()
        self._clear(state)
        return super().fixed(method, time, state, **{**options, "capacity": _capacity(options)})

    def _refuse_memory(self) -> None:
        """Equal steps over contact are of second order for coordinates and speeds alone, which keepers can take from
        one vector or another; suppliers do not tell modes from states.
        """
        for part, laws in zip(self.engine.parts, self.engine.modes_away, strict=True):
            sealed = getattr(part.near, "variant", None)
            if sealed.modes > len(laws) if sealed is not None else part.near.inside.whole.states:
                what = "modes or states" if sealed is not None else "states"
                raise RunError(
                    f"contact='steps' does not go with {what} of its own in a part that is elsewhere.",
                    path=part.path, fix="Use contact='events'.",
                )  # fmt: skip

    def adaptive(self, time: float, state: Any, **options: Any) -> AdaptiveRun:
        self._clear(state)
        return super().adaptive(time, state, **{**options, "capacity": _capacity(options)})

    def evaluate(self, routine: str, time: float, state: Any, inputs: Any = (), parameters: Any = ()) -> Any:
        found = super().evaluate(routine, time, state, inputs, parameters)
        if routine.startswith("law_"):
            self.check_answered(state)
        return found

    def level(self, time: float, state: Any, inputs: Any, parameters: Any) -> int:
        """Modes of parts elsewhere are not here: who chose them knows it of that state, and else they are asked."""
        state = np.asarray(state, dtype=float)
        if self.settle is None or "tied_derivative" not in self.program.routines or not self.can_ask(state):
            return HOLDS
        given = np.asarray(inputs, dtype=float), np.asarray(parameters, dtype=float)
        try:
            return TIED if cast(Any, self.settle).ties(time, state, *given) else HOLDS
        except Unanswered:
            return HOLDS  # whoever asks next hears that nobody answers

    def can_ask(self, state: np.ndarray) -> bool:
        """Whether all parts can be asked about a state: those of a run that goes on have forgotten its first one."""
        sessions = self.sessions(state)
        handles = np.asarray(state).reshape(self.program.state_size, -1)[-len(self.program.opaque) :, 0]
        begun = [one.goes_on and one.first[0] == handle for one, handle in zip(sessions, handles, strict=False)]
        return len(sessions) == len(handles) and not any(begun)

    def check_answered(self, state: np.ndarray) -> None:
        """Raise Unanswered if a part cannot be asked any more."""
        if why := self.trouble(state):
            raise Unanswered(f"{why}.")

    def law_states(self) -> LawStates:
        from kompono.elsewhere.law_states import AwayStates

        return AwayStates(self)

    def _clear(self, state: Any) -> None:
        """What was not finite in another run is nothing to this one."""
        for session in self.sessions(state):
            session.flags[:] = 0.0

    def trouble(self, state: np.ndarray) -> str:
        """Which part cannot be asked any more, and why; nothing if all can."""
        for session in self.sessions(state):
            if session.problem is not None:
                words = str(session.problem)
                return words if session.path in words else f"{session.path}: {words}"
        return ""

    def counts(self, state: np.ndarray) -> dict[str, Any]:
        """Messages with replies so far, by part."""
        return {"round_trips": {session.path: session.round_trips for session in self.sessions(state)}}


def _capacity(options: Mapping[str, Any]) -> int:
    """Records that wait: no more than keepers surely have."""
    from kompono.elsewhere.keeper import BOOK

    return min(options.get("capacity", BOOK // 2), BOOK // 2)


def away_kernel(translation: Any, hosts: Mapping[str, Host], compiled: Any) -> Kernel:
    """Native code of a model with parts elsewhere; `compiled` is how others are compiled (`compile_program`)."""
    if not compiled.keywords.get("native", True):
        names = ", ".join(hosts)
        raise RunError(f"{names}: parts elsewhere are asked by native code.", fix="Leave native=False out.")
    return AwayKernel(translation.program, translation.engine, hosts, cache=compiled.keywords.get("cache", True))
