"""Impacts: impulses of all contacts that touch, at once, with restitution and friction.

Contacts that do not move one another are treated apart. A single contact that slips on a line is followed exactly along
its impulse (`stroke`); several that move one another, or one whose slip turns, take two phases (`phases`). Velocities
that redundant contacts cannot all reverse leave Newton's law without an answer; Poisson's is taken then. Moreau's is
Newton's with friction by the slip after the impact alone, as time stepping has it, for a single contact, too.

Poisson's and Stronge's laws never add energy: where friction and several contacts would make them, restitution is
reduced, for all contacts of that group, until they do not. Newton's law is left as it is, for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from kompono.solve.laws.phases import Phases
from kompono.solve.laws.stroke import StrokeContact, stroke
from kompono.solve.laws.strokes import Strokes
from kompono.solve.laws.units import Kind, LawProblem, Layout, NoForcesFit, SolvedUnit, layout

LAWS = ("poisson", "newton", "stronge", "moreau")
APART = 1e-13  # of their own mobility: contacts that answer one another less are independent
GAIN = 1e-14  # of the energies involved: more is energy that grows
HALVINGS = 50


def impact(
    problem_v: LawProblem, units: Sequence[SolvedUnit], restitution: Sequence[float] | np.ndarray, law: str = "poisson"
) -> tuple[np.ndarray, np.ndarray]:
    """Impulses (m) and velocities after (m); `b` are the velocities before, `restitution` is per unit.

    One-sided units take impulses, and friction that is limited by an impulse, theirs or that of a joint; given limits
    do not.
    """
    if law not in LAWS:
        raise ValueError(f"law is {law!r}, none of {', '.join(LAWS)}")
    plan, e = layout(units), np.asarray(restitution, dtype=float)
    zero = np.zeros(plan.count)
    problem = replace(problem_v, n0=np.zeros_like(problem_v.n0), mu_static=problem_v.mu, limit=zero, limit_static=zero)
    impulses = np.zeros(len(problem.b))
    for group in _groups(problem, plan):
        rows = [row for unit in group for row in plan.rows[unit]]
        if any(plan.kinds[u] == Kind.ONE_SIDED and problem.b[plan.rows[u][0]] < 0.0 for u in group):
            impulses[rows] = _one_group(problem, units, plan, group, e, law)[rows]
    return impulses, problem.b + problem.A @ impulses


def _one_group(
    problem: LawProblem, units: Sequence[SolvedUnit], plan: Layout, group: list[int], e: np.ndarray, law: str
) -> np.ndarray:
    """Impulses (m) of contacts that move one another."""
    single = _single(problem, plan, group) if law != "moreau" else None
    if single is not None:
        find = _along(problem, plan, group, single, law)
        return find(e) if law == "newton" else _tamed(problem, find, e)
    if law != "moreau" and _straight(plan, group):
        with suppress(NoForcesFit):
            along = Strokes(problem, list(units), plan, group)
            contact = along.contact

            def follow(e: np.ndarray) -> np.ndarray:
                return along.impulses(float(e[contact]), law)

            return follow(e) if law == "newton" else _tamed(problem, follow, e)
    phases = Phases(problem, units, plan, group)
    if law in ("newton", "moreau"):
        with suppress(NoForcesFit):
            return phases.reversed(e)
    squeezed = phases.squeezed()
    if not e[phases.contacts].any():
        return squeezed
    if law == "stronge":
        e = phases.energetic(squeezed, e) * e
    return _tamed(problem, lambda e: phases.expanded(squeezed, e), e)


def _straight(plan: Layout, group: list[int]) -> bool:
    """Whether a group is one contact with friction of joints, all of it on lines."""
    kinds = [plan.kinds[unit] for unit in group]
    return kinds.count(Kind.ONE_SIDED) == 1 and len(kinds) > 1 and Kind.PLANAR not in kinds


def _groups(problem: LawProblem, plan: Layout) -> list[list[int]]:
    """Contacts with their friction, and friction of joints, joined where they move one another, or where the impulses
    of one make up the reaction that limits another.
    """
    heads = [u for u, contact in enumerate(plan.contacts) if contact is None]
    if len(heads) == 1:
        return [[heads[0], *plan.frictions[heads[0]]]]
    root = np.sqrt(np.maximum(problem.A.diagonal(), 1e-300))
    strong = np.abs(problem.A) > APART * np.outer(root, root)
    for unit, (first, last) in enumerate(plan.measures):
        if last > first and not plan.linear[unit]:
            seen = np.abs(problem.B[first:last])
            at = list(plan.rows[unit])
            strong[at] |= (seen > APART * seen.max(initial=1e-300)).any(axis=0)
            strong[:, at] |= strong[at].T
    groups: list[tuple[list[int], list[int]]] = []
    for head in heads:
        members = [head, *plan.frictions[head]]
        rows = [row for unit in members for row in plan.rows[unit]]
        joined = [group for group in groups if strong[np.ix_(rows, group[1])].any()]
        groups = [group for group in groups if group not in joined]
        for others, their_rows in joined:
            members, rows = others + members, their_rows + rows
        groups.append((members, rows))
    return [members for members, _ in groups]


def energy_change(before: np.ndarray, after: np.ndarray, impulses: np.ndarray) -> tuple[float, float]:
    """The kinetic energy that impulses (m) add, and the size of its terms; J."""
    terms = 0.5 * (before + after) * impulses
    return float(terms.sum()), float(0.5 * (np.abs(before) + np.abs(after)) @ np.abs(impulses))


def _tamed(problem: LawProblem, find: Callable[[np.ndarray], np.ndarray], e: np.ndarray) -> np.ndarray:
    """Impulses with as much of the restitution as does not add energy."""

    def grows(impulses: np.ndarray) -> bool:
        change, size = energy_change(problem.b, problem.b + problem.A @ impulses, impulses)
        return change > GAIN * size

    impulses = find(e)
    if not grows(impulses):
        return impulses
    low, high, found = 0.0, 1.0, find(0.0 * e)
    for _ in range(HALVINGS):
        share = (low + high) / 2
        impulses = find(share * e)
        if grows(impulses):
            high = share
        else:
            low, found = share, impulses
    return found


def _single(problem: LawProblem, plan: Layout, group: list[int]) -> np.ndarray | None:
    """The direction (m) of slip of a lone contact, if it slips on a line and friction is mu times its impulse."""
    if len(group) > 2 or sum(plan.kinds[u] == Kind.ONE_SIDED for u in group) != 1:
        return None
    way = np.zeros(len(problem.b))
    if len(group) == 1:
        return way
    contact, friction = group
    row, rows = plan.rows[contact][0], list(plan.rows[friction])
    if not plan.linear[friction]:
        return None
    others = np.delete(problem.B[plan.measures[friction][0]], row)
    if others.any():
        return None
    if len(rows) == 1:
        way[rows] = 1.0
        return way
    slip, pulled, block = problem.b[rows], problem.A[rows, row], problem.A[np.ix_(rows, rows)]
    size = float(np.linalg.norm(slip))
    line = slip if size > 0.0 else pulled
    size = float(np.linalg.norm(line))
    if not size:
        way[rows[0]] = 1.0
        return way
    line = line / size
    across = np.array([-line[1], line[0]])
    root = float(np.sqrt(problem.A[row, row] * block.trace()))
    if abs(across @ pulled) > APART * root or abs(across @ block @ line) > APART * block.trace():
        return None
    way[rows] = line
    return way


def _along(
    problem: LawProblem, plan: Layout, group: list[int], way: np.ndarray, law: str
) -> Callable[[np.ndarray], np.ndarray]:
    """Impulses (m) of a lone contact for given restitution (units)."""
    row = plan.rows[group[0]][0]
    mu = float(problem.mu[group[1]] * problem.B[plan.measures[group[1]][0], row]) if len(group) == 2 else 0.0
    mobility = (float(problem.A[row, row]), float(problem.A[row] @ way), float(way @ problem.A @ way))
    velocity = (float(problem.b[row]), float(problem.b @ way))

    def find(e: np.ndarray) -> np.ndarray:
        normal, tangent = stroke(StrokeContact(*mobility, velocity, mu, float(e[group[0]])), law)
        impulses = tangent * way
        impulses[row] = normal
        return impulses

    return find
