"""A part is a thing: a component that stays closed while the whole is solved (DESIGN section 7).

enclosed.py     what lies inside, which ports others use, and what cannot be closed
border.py       what crosses: motion, fields, a block and a vector; how it is packed
compartment.py  a model, or the inside of a part, with its own closed parts as things
condensing.py   the elimination of a compartment, with ports of its own and of its parts
floating.py     bodies that only conditions connect with the base
inside.py       the functions of a part: move, condense, resolve, correct, report, guards, switch
moment.py       a compartment at one state: parts are asked, equations condensed, what parts do resolved
linked.py       the same among stiff links, where parts are pushed and nothing is condensed
by_parts.py, owner.py   engines of a model with closed parts; twins.py: the same with all parts opened, for decisions
law_*.py        laws inside parts: at fixed modes, and at events (law_events.py, law_routines.py)
heavy.py        loads on ports that are much heavier than what carries them inside
report.py, fields.py   channels and loads of compartments; gauge.py: who looks inside a part in a finished program
alone.py, assembling.py, sealed.py   a part for a file, and a part whose inside is a file
away.py, far.py   parts whose state is kept elsewhere
"""
