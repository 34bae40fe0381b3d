"""Condense and resolve (DESIGN sections 3 and 4): who goes first, and the algebra.

rigid.py, linear.py   what needs no unknowns of its own: welded bodies, conditions that are linear forms
unknowns.py   what is solved for, and solutions by body, joint and element
blocks.py, pivots.py   symmetric block elimination; inverses of small matrices with dependent rows dropped
pairs.py, ported.py   ports of closed parts: accelerations and wrenches that go together
plan.py   the order: parts first, then their owner, leaves to root
inertia_form.py   accelerations as unknowns (joint coordinates), in that order
bordered.py   equations with a border: what is left on unknowns that others eliminate
mobility_form.py   wrenches as unknowns (absolute coordinates)
"""
