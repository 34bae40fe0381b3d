"""Routines by which a settler asks for the laws of a model with parts, some of which cannot be opened.

    law_view      gap, rate and free acceleration of all rows, free measures, numbers of units
    law_respond   what forces on the rows do to rows, measures and speeds
    law_columns   both at once, with a force on each row: one question to parts that are elsewhere
    law_known     the same with what was told beside the guards that rose: what parts wait for
    law_again     `law_view` after a blow, where there are loops
    law_foretold  the same where a part hangs on another one

Two things need not be asked twice. Where there are loops, speeds are made to meet all conditions before anything else;
the state with such speeds is told (`met`), and pushed by what forces on rows do it meets them still. Where a part hangs
on another one, it waits for the motion of the port that carries it; that is told (`moves`), and so is what a force on
each row does to it (`ports`). Hence parts elsewhere are asked once after a blow, unless they wait for each other's
signals. Before it they wait for nothing: guards were looked at in the very state that laws settle in, which took all of
that. So it is told `beside` them: what parts say to each other, the motion of ports, and the state with such speeds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import casadi as ca

from kompono.translate.alike import alike
from kompono.translate.engines.solved import SolvedEngine
from kompono.translate.laws.answer import forced_routine
from kompono.translate.parts.border import MOTION
from kompono.translate.parts.by_parts import ByParts, Told
from kompono.translate.parts.inside import Part
from kompono.translate.parts.law_events import Lawless, crossing, look
from kompono.translate.parts.moment import Moment
from kompono.translate.parts.spoken import said_at, spoken, symbols_for
from kompono.translate.program import Routine
from kompono.translate.symbolic import Vector
from kompono.translate.tracer import Tracer

MOST_COLUMNS = 48  # rows of laws up to which all of their answers are asked for at once
NONE = ca.SX(0, 1)


class LawsByRows(ByParts, SolvedEngine):
    """What laws do at events follows from what parts answer, if these are asked at all."""

    unit_order: list[int]  # of units of laws among those of all compartments
    by_rows: bool  # whether parts are asked at events of laws, because one of them cannot be opened
    here = True  # whether all of the state is

    @cached_property
    def _chained(self) -> bool:
        """Whether a part is moved by a port of another one, so that it waits for what that one tells."""
        topology = self.compartment.topology
        bases = [part.border.base.body for part in self.compartment.parts if part.border.base is not None]
        return any(link.crosses for base in bases for link in topology.path(base, topology.world)[0])

    def routines(self) -> dict[str, Callable[[], Routine]]:
        made, rows = super().routines(), self.law_rows.size if self.by_rows else 0
        if 0 < rows <= MOST_COLUMNS and not self.here:
            made["law_columns"] = self._law_columns
            if self._waits:
                made["law_known"] = self._law_known
        if rows and self._chained:
            made["law_foretold"] = self._law_foretold
        elif rows and self.compartment.settles:
            made["law_again"] = self._law_again
        return made

    def _law_view(self) -> Routine:
        if not self.by_rows:
            return super()._law_view()
        tracer, now = self._met()
        return tracer.routine("law_view", alike([*self._viewed(now, Lawless(now, at_once=True)), *self._once(now)]))

    def _law_columns(self) -> Routine:
        tracer, now = self._met()
        z = ca.SX.sym("z", self.law_rows.size**2)
        return forced_routine("law_columns", tracer, z, alike(self._all(now, z)))

    def _law_known(self) -> Routine:
        tracer, now = self._moment()
        z, said = ca.SX.sym("z", self.law_rows.size**2), symbols_for(self._spoken)
        moves = {part: ca.SX.sym("moves", m.numel()) for part, m in self._moves(now).items()} if self._chained else {}
        told = self._all(now.at(now.values, moves, said), z)
        return forced_routine("law_known", tracer, ca.vertcat(z, *said.values(), *moves.values()), alike(told))

    def _all(self, now: Moment, z: Vector) -> Told:
        """What the laws are, and what a force on each row does."""
        lawless = Lawless(now, at_once=True)
        columns = [self._responded(lawless, forces) for forces in ca.vertsplit(z, self.law_rows.size)]
        return [*self._viewed(now, lawless), *self._once(now), *(one for column in columns for one in column)]

    @cached_property
    def _spoken(self) -> list[tuple[Part, int]]:
        """What parts elsewhere say to each other."""
        return spoken(self._moment()[1])

    @property
    def _may_wait(self) -> bool:
        """Whether a part elsewhere would wait for what others tell, if there was one: files are asked as such parts."""
        if not self.by_rows or not 0 < self.law_rows.size <= MOST_COLUMNS:
            return False
        return self._chained or self.compartment.settles or any(part.shown for part in self.compartment.parts)

    @property
    def _waits(self) -> bool:
        """Whether a part elsewhere waits for what others tell before it can be asked for its laws."""
        return self._may_wait and not self.here and bool(self._chained or self.compartment.settles or self._spoken)

    def _with_beside(self, named: Told, before: Moment, now: Moment) -> Told:
        if not self._waits:
            return alike(named) if self._may_wait else named
        now = self._met_from(before) if self._chained and self.compartment.settles else now
        known = [said_at(now, self._spoken), *(self._moves(now).values() if self._chained else ())]
        met = [self._scattered(now.values)] if self.compartment.settles else []
        return alike([*named, ("beside", ca.vertcat(*known, *met))])

    def _law_again(self) -> Routine:
        tracer, now = self._moment()
        return tracer.routine("law_again", alike(self._viewed(now, Lawless(now, at_once=True))))

    def _law_foretold(self) -> Routine:
        tracer, now = self._moment()
        moves = {part: ca.SX.sym("moves", motion.numel()) for part, motion in self._moves(now).items()}
        now = now.at(now.values, moves)
        told = self._viewed(now, Lawless(now, at_once=True))
        return forced_routine("law_foretold", tracer, ca.vertcat(*moves.values()), alike(told))

    def _viewed(self, now: Moment, lawless: Lawless) -> Told:
        """What the laws are at a state."""
        gap, rate, numbers = look(now)
        by_unit = ca.vertsplit(numbers, 5)
        numbers = ca.vertcat(*[by_unit[k] for k in self.unit_order])
        w, measures = lawless.free(NONE)
        return [("gap", gap), ("rate", rate), ("w", w), ("measures", measures), ("numbers", numbers)]

    def _once(self, now: Moment) -> Told:
        """What need not be asked again after a blow."""
        told = [("met", self._scattered(now.values))] if self.compartment.settles else []
        if self._chained:
            told.append(("moves", ca.vertcat(*self._moves(now).values())))
        return told

    def _moves(self, now: Moment) -> dict[Part, Vector]:
        """Motions of ports that parts move."""
        carriers = [part for part in self.compartment.parts if part.border.others]
        return {part: now.moves[part] if part in now.moves else now._ask(part, "move") for part in carriers}

    def _met(self) -> tuple[Tracer, Moment]:
        """With speeds that meet all conditions; ports of parts that carry others need not be asked for theirs."""
        if not (self._chained and self.compartment.settles):
            return self._now()
        tracer, before = self._moment()
        return tracer, self._met_from(before)

    def _met_from(self, before: Moment) -> Moment:
        condensed, moves = before.violated("rate"), self._moves(before)
        solution = condensed.resolve(NONE)
        for part, motion in moves.items():
            change = [crossing(self.compartment, port, solution) for port in part.border.others]
            still = ca.SX.zeros(MOTION - 6)
            moves[part] = motion + ca.vertcat(*[ca.vertcat(still, turned) for turned in change])
        return before.at(before.corrected(condensed, solution, "rate"), moves)

    def _law_free(self) -> Routine:
        if not self.by_rows:
            return super()._law_free()
        tracer, now = self._met()
        return tracer.routine("law_free", [("rate", self._speeds(Lawless(now).free_rates(NONE)))])

    def _law_respond(self) -> Routine:
        if not self.by_rows:
            return super()._law_respond()
        tracer, now = self._met()
        z, lawless = ca.SX.sym("z", self.law_rows.size), Lawless(now, at_once=True)
        return forced_routine("law_respond", tracer, z, alike(self._responded(lawless, z)))

    def _responded(self, lawless: Lawless, forces: Vector) -> Told:
        """What forces on the rows do."""
        w, measures = lawless.moved(NONE, forces)
        told = [("w", w), ("measures", measures), ("speeds", self._speeds(lawless.moved_rates(NONE, forces)))]
        return [*told, ("ports", lawless.moved_ports(forces))] if self._chained else told

    def _speeds(self, rates: Vector) -> Vector:
        """Speeds in the order of this engine from a state of the compartment."""
        places = {place: k for k, place in enumerate(self.places)}
        return ca.vertcat(NONE, *[rates[places[k]] for k in range(self.nq, self.nq + self.nv)])
