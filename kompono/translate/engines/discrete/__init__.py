"""The discrete engine: nothing is solved, every element is a force; a kernel per kind, instances in tables."""
