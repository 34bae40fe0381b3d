"""One model on several processes (MPI ranks) that run in step: `simulate(..., ranks=True)` (docs/ranks.md).

world.py       the message library: who is there, what native code calls, what happens when one fails
placement.py   which process gets which cells of a large tree, by operation counts
tree.py        the one kind of model that is spread so far: large trees, cell by cell (`SpreadEngine`)
member.py      what one process has and does
conductor.py   how the first process leads: to a `Simulation` it is a kernel like any other
session.py     a run on all processes, from the model to the result
launch.py      `mpiexec` started for the user

Every process declares the same model. The first one translates all of it, for names and channels, and decides who gets
what; each translates, compiles, keeps the state of and steps its own cells only. The kind of model decides what a
member has; conductor and members need no more of it than a program, a kernel, and which entries of the whole state are
its own.
"""

from kompono.ranks.session import Wish, on_ranks, run_on_ranks

__all__ = ["Wish", "on_ranks", "run_on_ranks"]
