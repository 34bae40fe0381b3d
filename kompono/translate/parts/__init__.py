"""A part is a thing: a component that stays closed while the whole is solved (DESIGN section 7).

enclosed.py     what lies inside, which ports others use, and what cannot be closed
border.py       what crosses: motion, fields, a block and a vector; how it is packed
compartment.py  a model, or the inside of a part, with its own closed parts as things
condensing.py   the elimination of a compartment, with ports of its own and of its parts
inside.py       the functions of a part: move, condense, resolve, correct, report, guards, switch
owner.py        the engine of a model with closed parts
"""
