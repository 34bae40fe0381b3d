"""Why a run did not end as planned: the component, the drive or the step that is to blame; and what can be said of
events before it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile import Interpreter
from kompono.compile.law_state import shortest
from kompono.ending import Ending
from kompono.errors import ModelWarning, RunError, warn
from kompono.result import Status
from kompono.solve.endings import NOT_FINITE, no_number
from kompono.solve.methods import METHODS
from kompono.solve.outcome import OPEN, Outcome
from kompono.solve.verify import StepCheck, pick

if TYPE_CHECKING:
    from kompono.solve.integrate import Settings
    from kompono.solve.linked import Linking
    from kompono.translate import Translation
    from kompono.translate.diagnose import Wrong
    from kompono.translate.program import Program

# Ends that have a deeper cause.
STUCK = (Ending.OFF_CONSTRAINTS, Ending.STEP_TOO_SMALL, Ending.HOPELESS)
TRACED = (Ending.NOT_FINITE, Ending.TOO_FAST, Ending.GROWN, *STUCK)
LAST_GOOD = "the last good state is that"
LAST = 40  # records before a failure that are looked at for its cause
TRIES, FAR = 50, 0.1  # projections onto the conditions, and a change [m, rad] no guess should begin with


def check_guards(kernel: Any, state: np.ndarray, parameters: np.ndarray, time: float, inputs: np.ndarray) -> None:
    """Say which events cannot fire yet, because their guards are above zero at the start; refuse guards that are not a
    number there.
    """
    program: Program = kernel.program
    if not program.events:
        return
    evaluator = kernel if program.opaque or program.laws else Interpreter(program)  # nothing is compiled for one look
    (values, *_) = evaluator.evaluate(shortest("guards", program, state), time, state, inputs, parameters)
    for k, (name, value) in enumerate(zip(program.events, values, strict=False)):
        if np.isnan(value):
            what = no_number(program, k, len(values))
            raise RunError(f"{what} at the start.", path=name, fix="Look at its expression.")
    events = values[: len(values) - len(program.laws)]
    early = [name for name, value in zip(program.events, events, strict=False) if value > 0]
    if early:
        text = f"{', '.join(early)}: the guard is above zero at the start; the event waits until it was at or below"
        warn(f"{text} zero. If it shall count as passed, start the modes with what the event sets.", ModelWarning)


@dataclass(frozen=True)
class Explainer:
    """Explains runs of a compiled model; `links` are those of the discrete engine."""

    translation: Translation
    kernel: Any
    links: Linking | None = None

    def status(
        self, outcome: Outcome, settings: Settings, parameters: np.ndarray, trace: bool, records: np.ndarray | None
    ) -> Status:
        """How a run ended; with `trace`, the cause as far as it can be found (in `records`)."""
        row = outcome.blame
        if outcome.ok or row is None:
            return Status(outcome.ok, outcome.message, outcome.time, outcome.ended)
        if outcome.ended is Ending.OPEN and outcome.message:
            return Status(False, f"{outcome.message} from t = {row[0]:.9g} s", float(row[0]), Ending.OPEN)
        if outcome.ended is Ending.OPEN and self.kernel.program.opaque:
            reason = "conditions cannot be kept; drives or constraints contradict, or the position cannot be reached"
            return Status(False, f"{reason}, from t = {row[0]:.9g} s", float(row[0]), outcome.ended)
        if outcome.ended is Ending.OPEN:
            gaps = self._gaps(row[0], row, parameters)
            if self.links is not None:
                reason = "its links give way by more than 3 % of the longest lever, or of a radian; drives or "
                reason += "constraints contradict, a position is out of reach, or the step is too long for the loads"
                where = self._label(gaps / self.links.gives_at(row, parameters))
                return Status(False, f"{where}: {reason}, from t = {row[0]:.9g} s", float(row[0]), Ending.OPEN)
            if gaps.max(initial=0.0) <= OPEN:  # what is held are stops and contacts
                reason = "what stops, contact or friction hold cannot be kept; try a smaller step, or method='dopri5'"
                return Status(False, f"{reason}, from t = {row[0]:.9g} s", float(row[0]), Ending.OPEN)
            where = self._label(gaps)
            reason = "its conditions cannot be kept; drives or constraints contradict, or the position cannot be"
            return Status(False, f"{where}: {reason} reached, from t = {row[0]:.9g} s", float(row[0]), Ending.OPEN)
        if outcome.ended is Ending.UNMET and not self.kernel.program.opaque:
            gaps = self._gaps(row[0], row, parameters)
            if gaps.max(initial=0.0) > OPEN:
                reason = f"{self._label(gaps)}: it is switched on where it is {gaps.max():.3g} off; switch it on where"
                reason += " that is nothing (let the guard of an event be that gap)"
                return Status(False, f"{reason}, at t = {row[0]:.9g} s", float(row[0]), Ending.UNMET)
        message = outcome.message
        if trace and outcome.ended in TRACED:
            message = self._cause(outcome, row, settings, parameters, records)
        return Status(False, f"{message} at t = {outcome.time:.9g} s", outcome.time, outcome.ended, outcome.cause)

    def _cause(
        self,
        outcome: Outcome,
        row: np.ndarray,
        settings: Settings,
        parameters: np.ndarray,
        records: np.ndarray | None,
    ) -> str:
        """Links too stiff, a machine that locks, a step too long, or a component that gives no number."""
        from kompono.solve.unsolved import unsolved

        message, end = outcome.message, 1 + self.kernel.program.state_size
        before = row[None, :] if records is None else records[records[:, 0] <= outcome.time]
        if self.links is not None and records is not None:
            found = self.links.explain(records, parameters, settings.step)
            if found:
                return found
        if self.kernel.program.opaque:  # who is to blame may be inside a part
            wrong = self._wrong(outcome, row, settings, parameters) if message == NOT_FINITE else None
            return f"{wrong.told()}; {LAST_GOOD}" if wrong is not None else message
        if found := unsolved(self.kernel, outcome.time, row[1:end], row[end:], parameters, settings.step):
            return found
        if outcome.ended is Ending.NOT_FINITE and (found := self._port(row, parameters)):
            return found
        wrong = self._wrong(outcome, row, settings, parameters)
        if wrong is not None and wrong.undefined and wrong.prescribes:
            return f"{wrong.told()}; {LAST_GOOD}"
        for record in (row, *before[before[:, 0] < outcome.time][-1:]):
            where = self._locked(record, settings, parameters)
            if where:
                return f"{where}: the position asked for next is not found; the machine seems to lock there,"
        if wrong is not None and wrong.undefined and outcome.ended in STUCK:
            return f"{wrong.told()}; {LAST_GOOD}"
        if outcome.ended in STUCK:
            return message
        found = self._step(before[-LAST:], settings, parameters)
        if found:
            return f"{message.partition(';')[0]}; {found},"
        if outcome.ended is not Ending.NOT_FINITE:
            return message
        hint = "; if the motion grew without bound, take a smaller step or method='dopri5',"
        return f"{wrong.told()}; {LAST_GOOD}" if wrong is not None else message + hint

    def _wrong(self, outcome: Outcome, row: np.ndarray, settings: Settings, parameters: np.ndarray) -> Wrong | None:
        """The element that gives no number at or shortly after a record, if there is one."""
        from kompono.translate.diagnose import Way, diagnose

        if outcome.ended not in (Ending.NOT_FINITE, *STUCK):
            return None
        program, end = self.kernel.program, 1 + self.kernel.program.state_size
        inputs = outcome.fed if outcome.fed is not None else np.array([row[end:]] * 2)

        def rate(time: float, state: np.ndarray, inputs: np.ndarray) -> np.ndarray:
            if program.opaque:  # parts elsewhere are not there any more
                return np.zeros(0)
            return self.kernel.evaluate("derivative", time, state, inputs, parameters)[0]

        way = Way(float(row[0]), row[1:end], inputs, settings.step, rate)
        return self._coefficient(diagnose(self.translation, way, parameters))

    def _coefficient(self, wrong: Wrong | None) -> Wrong | None:
        """The same, but of a soft law whose coefficients leave their bounds, where a root makes them no number."""
        model = self.translation.model
        if wrong is None or wrong.operation is None or wrong.path not in {model.path(one.law) for one in model.soft}:
            return wrong
        if not wrong.operation.words.startswith("the square root of -"):
            return wrong
        advice = "mu goes from 0 on, restitution from 0 to 1"
        words = "mu, its static value or the restitution is out of its bounds"
        return replace(wrong, what="its coefficient", operation=replace(wrong.operation, words=words, advice=advice))

    def _port(self, row: np.ndarray, parameters: np.ndarray) -> str:
        """The port of a closed part that bears too much for what it is fixed on, if there is one."""
        from kompono.translate.elimination.pairs import UNSETTLED

        program, end = self.kernel.program, 1 + self.kernel.program.state_size
        if "ports" not in program.routines:
            return ""
        (values,) = self.kernel.evaluate("ports", float(row[0]), row[1:end], row[end:], parameters)
        paths: tuple[str, ...] = getattr(self.translation.engine, "port_paths", ())
        heavy = [path for path, value in zip(paths, values, strict=True) if not value <= UNSETTLED]
        reason = "what hangs on this port of a closed part is too heavy for what carries it inside (some 1e9 times), so"
        advice = "make what carries it heavier, or leave the part open;"
        return f"{heavy[0]}: {reason} too few digits are left; {advice}" if heavy else ""

    def _step(self, records: np.ndarray, settings: Settings, parameters: np.ndarray) -> str:
        """Why the step was too long for the last records, if it was."""
        if not METHODS[settings.method].judged or not hasattr(self.kernel, "fixed"):
            return ""
        program = self.kernel.program
        start = len(program.coordinates)
        samples = pick(records, program.state_size, slice(start, start + len(program.speeds)))
        return StepCheck(self.kernel, parameters, settings).verdict(samples)[0]

    def _locked(self, row: np.ndarray, settings: Settings, parameters: np.ndarray) -> str:
        """The path of a condition that cannot be met a little later than at a record, if there is one: a drive that
        leads to where the machine cannot go.
        """
        program, time = self.kernel.program, float(row[0])
        end = 1 + program.state_size
        if not settings.stabilize or "project" not in program.routines or not np.all(np.isfinite(row)):
            return ""
        if self._gaps(time, row, parameters).max(initial=0.0) > OPEN:
            return ""
        before, inputs = row[1:end], row[end:]
        for ahead in (settings.step, 3 * settings.step, 10 * settings.step):
            state = before + ahead * self.kernel.evaluate("derivative", time, before, inputs, parameters)[0]
            if not np.abs(state - before).max(initial=0.0) <= FAR:
                state = before
            for _ in range(TRIES):
                state = self.kernel.evaluate("project", time + ahead, state, inputs, parameters)[0]
            after = np.concatenate([row[:1], state if np.all(np.isfinite(state)) else before, inputs])
            gaps = self._gaps(time + ahead, after, parameters)
            if gaps.max(initial=0.0) > OPEN:
                return self._label(gaps)
        return ""

    def _gaps(self, time: float, row: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """How far a record is off each condition at a time."""
        program = self.kernel.program
        end = 1 + program.state_size
        return np.abs(Interpreter(program).evaluate("conditions", time, row[1:end], row[end:], parameters)[0])

    def _label(self, gaps: np.ndarray) -> str:
        return self.translation.engine.row_labels()[int(np.argmax(gaps))]
