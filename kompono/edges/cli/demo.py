"""`kompono demo`: run an example that comes with Kompono and show it moving, on one page in the browser.

Without a name it is the car; `kompono demo --list` tells what else there is. The page is a file of its own: it can be
kept, opened again and sent to others.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import webbrowser
from pathlib import Path
from typing import Any

import kompono
from kompono.edges.cli.complain import say
from kompono.edges.cli.deliver import check_files, deliver
from kompono.edges.cli.find import EXAMPLES, examples
from kompono.edges.cli.load import load
from kompono.errors import RunError, nearest
from kompono.result.target import check_target

DEFAULT = "car"


def add_command(commands: Any) -> None:
    """Add `demo` to the command line."""
    parser = commands.add_parser("demo", help="run and show an example", description=__doc__)
    parser.set_defaults(command=command)
    add = parser.add_argument
    add("name", nargs="?", default=DEFAULT, metavar="NAME", help=f"of the example (default: {DEFAULT})")
    add("--list", action="store_true", help="tell which examples there are")
    add("--out", metavar="FILE", help="where to write the page (default: NAME.html in this folder)")
    add("--csv", metavar="FILE", help="write the channels as text, too")
    add("--plot", metavar="FILE.png", help="draw what moves most, too")
    add("--no-open", action="store_true", help="write the page and open no browser")


def command(options: argparse.Namespace) -> int:
    """Run, write the page, open it where there is a screen."""
    if options.list:
        print("\n".join(f"{name:<28} {about}" for name, about in known().items()))
        return 0
    name = options.name.removeprefix("examples/").removesuffix(".py")
    if name not in known():
        found = [other for other in known() if other.rpartition("/")[2] == name]
        if len(found) != 1:
            raise RunError(
                f"there is no example {options.name!r}.", fix=nearest(name, known()) or "kompono demo --list"
            )
        name = found[0]
    page = Path(options.out or f"{name.rpartition('/')[2]}.html")
    check_target(page)
    files = {kind: Path(file) for kind in ("csv", "plot") if (file := getattr(options, kind))}
    check_files(files)
    target = f"examples/{name}.py"
    model = load(target, {}, quiet=True).model
    result = kompono.simulate(model, **{"until": 1.0, **model.run_defaults})
    print(result.summary())
    delivery = deliver(result, files)
    for kind, path in delivery.written.items():
        print(f"  {kind:10s} {path}")
    for problem in delivery.problems:
        say(problem)
    kompono.view(result, html=page)
    print(f"  page       {page} ({page.stat().st_size / 1e6:.2f} MB, one file: open it, press Play)")
    print(f"  next       kompono run {target} --plot      its code: {EXAMPLES / f'{name}.py'}")
    if not options.no_open and has_screen():
        webbrowser.open(page.resolve().as_uri())
    return 1 if delivery.problems else 0 if result.status.ok else 3


def known() -> dict[str, str]:
    """The examples by name, with a sentence on each."""
    found = {}
    for place in examples():
        tree = ast.parse((EXAMPLES.parent / place).read_text(encoding="utf-8"))
        about = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
        found[place.removeprefix("examples/").removesuffix(".py")] = about
    return found


def has_screen() -> bool:
    """Whether somebody could see a browser that is opened here."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
