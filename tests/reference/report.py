"""Print error, drift and energy drift of the reference problems: `python tests/reference/report.py [words of one]`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from reference import machines  # noqa: F401 (adds the car and the manipulator)
from reference.problems import PROBLEMS, Outcome


def value(outcome: Outcome, name: str) -> str:
    """One check as text; a star marks what is over its limit."""
    if name not in outcome.checks:
        return "-"
    number, limit = outcome.checks[name]
    return f"{number:.1e}" + ("" if number <= limit else "*")


def main(words: list[str]) -> int:
    head = ("problem", "method", "compared with", "error", "drift q", "drift v", "energy [J]", "steps", "s")
    form = "{:36} {:13} {:19} {:>9} {:>9} {:>9} {:>10} {:>8} {:>6}"
    print(form.format(*head))
    failed = 0
    for problem in PROBLEMS:
        if words and not all(word.lower() in f"{problem.name} {problem.how}".lower() for word in words):
            continue
        try:
            done = problem.solve()
        except Exception as error:
            print(f"{problem.name:36} {problem.how:13} failed: {error}")
            failed += 1
            continue
        first = next(iter(done.checks))
        drifts = [value(done, f"drift {level}") for level in ("position", "velocity")]
        print(
            form.format(
                problem.name,
                problem.how,
                first,
                value(done, first),
                *drifts,
                value(done, "energy"),
                done.steps,
                f"{done.seconds:.1f}",
            ),
            flush=True,
        )
        for failure in done.failures():
            print(f"    over its limit: {failure}")
        failed += bool(done.failures())
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
