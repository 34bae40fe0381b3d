"""Algebra of rotations, poses, twists and wrenches, on numbers and CasADi symbols alike; knows no model."""
