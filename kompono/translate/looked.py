"""One routine that asks every element of a model by itself at a state: joints, grounds, conditions, forces, efforts,
fields, laws and rates of states, each a call of a kernel under its own path. Nobody runs it; who looks for the element
that gives no number goes through its calls. Nothing is solved, so it is there for models with laws, too, and inside
closed parts, whose state is that of the model with all of them opened.
"""

from __future__ import annotations

import casadi as ca

from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.posed import PosedEngine
from kompono.translate.laws.by_joints import trace_rows
from kompono.translate.laws.rows import LawRows
from kompono.translate.motion.conditions import trace_closure
from kompono.translate.motion.loads import Loads
from kompono.translate.motion.signals import states_with_results
from kompono.translate.program import Routine

_KINDS = (
    (("joints", "grounds", "bodies"), "its motion"),
    (("constraints", "couplings"), "its condition"),
    (("forces",), "its force"),
    (("efforts",), "its effort"),
    (("fields",), "its acceleration"),
    (("outputs", "fed", "sensors"), "its value"),
    (("states",), "its rate"),
    (("modes",), "its value"),
    (("laws",), "its gap, slip or coefficient"),
    (("networks",), "its solution"),
    (("subsystems",), "what it answers"),
)


def elements_alone(engine: PosedEngine) -> Routine:
    """The routine: (time, state, inputs, parameters) -> what all elements give, in the order in which they were asked;
    what uses results of the motion is left out.
    """
    model = engine.model
    tracer, kinematics = engine._start(shared=True)
    found = []
    for link in engine.topology.links:
        step = kinematics.step(link)
        found += [step.pose.position, step.pose.rotation, step.twist, step.bias, step.rate]
    for element in engine.closing:
        closure = trace_closure(kinematics, element, engine.laws)
        found += [closure.residual, closure.rate, closure.bias]
    later = set(states_with_results(model))
    known = [state for state in model.states if state not in later]
    found += [tracer.call(lambda s=state: s.rate, path=model.path(state), free=True) for state in known]
    loads = Loads(kinematics)
    found += [*loads.wrenches.values(), *loads.efforts.values(), loads.uniform]
    rows = LawRows(model)
    for closure in trace_rows(kinematics, rows, engine.laws).values():
        found += [closure.residual, closure.rate, closure.bias]
    found += rows.numbers(kinematics)
    return tracer.routine("elements", [("values", ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.SX(v)) for v in found]))])


def words_for(model: Elaborated) -> dict[str, str]:
    """What of an element is not a number, in words, by its path."""
    found: dict[str, str] = {}
    for names, words in reversed(_KINDS):
        for name in names:
            found |= {model.path(element): words for element in getattr(model, name)}
    return found
