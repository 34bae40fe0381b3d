"""What was declared: the hierarchy walked once, everything in it checked where it was written, and its name.

elaborate.py   every element with its path, sorted by kind
ownership.py, ports.py, uses.py, references.py   nothing left out, nothing reached that is hidden
laws.py, law_checks.py, joint_laws.py, allowed.py   the laws users write: asked once and checked
ours.py, sameness.py, stored.py   what a translation depends on has a name; a translation made before is found by it
"""
