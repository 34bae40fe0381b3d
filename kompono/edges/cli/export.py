"""`kompono export`: a model for other tools: as an FMU (FMI 2.0 and 3.0, with code for some systems), URDF or MJCF; a
stored result as animated glTF (.glb) or an MCAP log.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kompono.edges.cli.asked import add_engine, add_set, pairs
from kompono.edges.cli.load import load
from kompono.errors import RunError
from kompono.given import number
from kompono.request import OF_CONCERN, Concern
from kompono.result.target import check_target

FORMATS = ("fmu", "urdf", "mjcf", "glb", "mcap")


def add_command(commands: Any) -> None:
    """Add `export` to the command line."""
    parser = commands.add_parser("export", help="write a model for other tools", description=__doc__)
    parser.set_defaults(command=command)
    add = parser.add_argument
    add("format", metavar="FORMAT", choices=FORMATS, help=f"what to write: {', '.join(FORMATS)}")
    add(
        "target", metavar="FILE", help="the model, as for `kompono run`; for glb and mcap a stored result (parquet, h5)"
    )
    add("--out", required=True, metavar="FILE", help="the file to write")
    add("--rate", type=float, metavar="N", help="glb, mcap: frames in a second of the run (default: 60, 100)")
    add("--fmi", type=int, default=3, metavar="2|3", help="version of FMI (default: 3)")
    add("--kind", default="both", metavar="me|cs|both", help="model exchange, co-simulation or both (default)")
    add("--channels", action="append", default=[], metavar="GLOB", help="further outputs; may be repeated")
    add("--step", type=float, metavar="H", help="longest step of co-simulation [s] (default: 1e-3)")
    add(
        "--until", type=float, metavar="T", help="end of the default experiment [s] (default: the model's own, else 10)"
    )
    add("--tolerance", type=float, metavar="R", help="tolerance of the default experiment (default: 1e-6)")
    add("--platform", action="append", metavar="NAME", help="system to make code for; may be repeated")
    add("--input", action="append", default=[], metavar="PATH=VALUE", help="start value of an input; may be repeated")
    add("--initial", action="append", default=[], metavar="CHANNEL=VALUE", help="start value; may be repeated")
    add_set(parser)
    add_engine(parser)


def command(options: argparse.Namespace) -> int:
    """Export and show what was written."""
    if options.format in ("urdf", "mjcf"):
        return _robot(options)
    if options.format in ("glb", "mcap"):
        return _run(options)
    from kompono.edges.fmu import export_fmu

    loaded = load(options.target, pairs(options.set, "--set"))
    defaults = dict(loaded.model.run_defaults)
    solution = {name: defaults[name] for name in OF_CONCERN[Concern.SOLUTION] if name in defaults}
    solution |= {n: v for n in OF_CONCERN[Concern.SOLUTION] if (v := getattr(options, n, None)) is not None}
    until = options.until if options.until is not None else defaults.get("until")
    steps = {"step": options.step, "until": until, "tolerance": options.tolerance}
    start = dict(defaults.get("initial") or {}) | _numbers(options.initial, "--initial")
    made = export_fmu(
        loaded.model, options.out, fmi=options.fmi, kind=options.kind, channels=options.channels,
        inputs=_numbers(options.input, "--input") or None, parameters=loaded.parameters or None, initial=start or None,
        platforms=options.platform, **{name: value for name, value in steps.items() if value is not None}, **solution,
    )  # fmt: skip
    print(made)
    return 0


def _robot(options: argparse.Namespace) -> int:
    """Write URDF, with loops as YAML beside it, or MJCF, and list what is lost."""
    from kompono.edges.machines import loops_text, mjcf_text, taken, urdf_text

    out = Path(options.out)
    check_target(options.out)
    found = taken(load(options.target, pairs(options.set, "--set")).model)
    text, lost = urdf_text(found) if options.format == "urdf" else mjcf_text(found)
    out.write_text(text, encoding="utf-8")
    written = [out.name]
    if options.format == "urdf" and (loops := loops_text(found)):
        beside = out.with_suffix(".yaml")
        beside.write_text(loops, encoding="utf-8")
        written.append(beside.name)
    for line in lost:
        print(f"lost: {line.name}: {line.told}")
    print(f"wrote {' and '.join(written)}" + (f"; {len(lost)} things are lost" if lost else ""))
    return 0


def _run(options: argparse.Namespace) -> int:
    """Write a stored result for viewers."""
    from kompono.edges.cli.plot import load as load_result
    from kompono.edges.machines import write_gltf, write_mcap

    check_target(options.out)
    write = write_gltf if options.format == "glb" else write_mcap
    result = load_result(options.target)
    if options.rate is None:
        count = write(result, options.out)
    else:
        count = write(result, options.out, rate=number(options.rate, "--rate", positive=True))
    print(f"wrote {options.out}: {count} frames")
    return 0


def _numbers(texts: list[str], option: str) -> dict[str, float]:
    found = {}
    for name, text in pairs(texts, option).items():
        try:
            found[name] = float(text)
        except ValueError:
            raise RunError(f"{option} {name}: {text!r} is not a number.") from None
    return found
