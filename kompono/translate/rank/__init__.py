"""Which conditions depend on others, decided before a run: combinations nothing can move, conditions that others imply,
and the sizes that pivots are compared with."""
