"""What each process of `test_mpi.py` runs: `python on_ranks.py CASES FOLDER`; the first writes what came out."""

from __future__ import annotations

import pickle
import shutil
import sys
import warnings
from pathlib import Path

from machines import Chain, Forest, Tree  # beside this file

sys.path.append(str(Path(__file__).parents[1]))
from parts.machines import Walker

import kompono
from kompono.ranks import member
from kompono.ranks.world import World
from kompono.solve import integrate, journal

OPTIONS = {"until": 0.02, "step": 1e-3, "ranks": True}


def same_bits() -> dict:
    """Results by model and method."""
    found = {}
    for model, method in ((Tree, "rk4"), (Tree, "dopri5"), (Chain, "rk4")):
        result = kompono.simulate(model(), method=method, channels=["*.angle", "energy.total"], **OPTIONS)
        found[model.__name__, method] = result.names, result.table, result.status.ok

    def held(t: float, read) -> float:  # asked inside steps
        return 2.0 * t - 0.1 * read("arms.3.elbow.angle")

    inputs = {"arms.0.level": (held, 2.5e-3), "arms.9.level": ([0, 0.01], [0, 0.4])}
    result = kompono.simulate(Forest(), inputs=inputs, place={"arms.0": 0}, channels=["*.angle"], **OPTIONS)
    found["inputs"] = result.names, result.table, result.status.ok
    return found


def errors() -> dict:
    """What is said of wrong requests, in every process."""
    found = {}
    for name, options in {
        "channel": {"channels": ["nothing.like.this"]},
        "method": {"method": "Radau"},
        "place": {"place": {"stem.stems.0": 7}},
        "resume": {"resume": "no such file.h5"},
    }.items():
        try:
            kompono.simulate(Tree(), **{**OPTIONS, **options})
        except kompono.RunError as error:
            found[name] = str(error)
    try:
        kompono.simulate(Tree(levels=5 - (World().rank == 1)), **OPTIONS)
    except kompono.RunError as error:
        found["another model"] = str(error)
    return found


def fails() -> dict:
    """The second process has an error of its own in the middle of the run."""
    before = member.Member.advance

    def advance(self: member.Member, number: int, steps: int):
        if self.world.rank == 1 and self.runs[number].time > 0.005:
            raise ValueError("the disk is full")
        return before(self, number, min(steps, 3))

    member.Member.advance = advance
    return {"result": kompono.simulate(Tree(), **OPTIONS)}


RESUMED = {
    "tree": (Tree, {"method": "rk4"}),
    "history": (Tree, {"method": "adams"}),
    "adaptive": (Tree, {"method": "dopri5", "rtol": 1e-12, "step": 0.02, "until": 0.14}),
    "parts": (Walker, {"method": "adams", "closed": ["drive", "guide"], "until": 0.012}),
}
LENGTH = {"until": 0.4, "step": 1e-3, "ranks": True}


def begun() -> dict:
    """Whole runs; what a process that is killed after the first part leaves in the file of each is kept."""
    for name in ("FIRST", "PERIOD", "PATIENCE", "SHARE"):
        setattr(journal, name, 0.0)
    monkey, found = journal.Journal.write, {}

    def copied(self: journal.Journal, *where) -> None:
        monkey(self, *where)
        kept = self.path.with_suffix(".kept.h5")
        if self._written > 1:
            shutil.copy(self.path, kept)
            self._due = float("inf")  # once is enough

    journal.Journal.write = copied
    integrate.CHUNK_SECONDS = 1e-9  # some steps at a time
    for name, (model, options) in RESUMED.items():
        result = kompono.simulate(model(), hdf5=Path(sys.argv[2]) / f"{name}.h5", **{**LENGTH, **options})
        found[name] = result.time, result.table, result.status.ok
    return found


def resumed() -> dict:
    """The runs that were killed, gone on with; in the end the files hold them whole."""
    found = {}
    for name, (model, _) in RESUMED.items():
        file = Path(sys.argv[2]) / f"{name}.kept.h5"
        result = kompono.resume(model(), file, ranks=True)
        found[name] = result.time, result.table, result.status.ok
        assert result.statistics["resumed"][0] > 0
        kompono.Result.load(file).check()
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    outcome = {"same_bits": same_bits, "errors": errors, "fails": fails, "begun": begun, "resumed": resumed}[
        sys.argv[1]
    ]()
    (Path(sys.argv[2]) / f"{sys.argv[1]}.{World().rank}").write_bytes(pickle.dumps(outcome))
