"""Engines: which coordinates are the state, and the routines that move it.

registry.py   one entry per engine: names, options, defaults, refusals
engine.py   what all share: the state and its names
posed.py, traced.py, solved.py   where the model is at a state; how it moves (channels.py); conditions held and kept
relative.py   joint coordinates of the spanning tree
absolute.py   position and orientation of every body (placed.py: what it shares with discrete/)
discrete/   tiny explicit steps, joints as visco-elastic links
large/   joint coordinates of large trees: one trace per type of component, instances in tables
"""
