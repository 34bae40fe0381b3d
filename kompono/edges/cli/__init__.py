"""The command line: `kompono demo`, `new`, `run`, `view`, `plot`, `animate`, `report`, `inspect`, `cost`,
`statics`, `modes`, `export`, `seal`, `keys`, `trust`, `serve`, `cert`, `cache`.

Exit codes: 0 done, 1 wrong model or request, or a file that could not be written, 2 wrong usage or a file that cannot
be loaded, 3 a run that ended early or whose result is not right (it is written all the same), 130 interrupted (143 by
SIGTERM).
"""

from __future__ import annotations

import argparse
import atexit
import gc
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from kompono.edges.cli.complain import background, brief, mute, origin, say, show_all
from kompono.edges.cli.find import LoadError
from kompono.garbage import uncollected
from kompono.interruption import listening

# What a run takes like Ctrl-C: to be ended by others, or by a terminal that is closed.
ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

COMMANDS = {  # in the order of the help, with the modules that have them
    **{name: name for name in ("demo", "new", "run", "view", "plot", "animate", "report", "inspect", "cost")},
    "statics": "analyses",
    "modes": "analyses",
    "import": "imported",
    **{name: name for name in ("export", "seal", "keys", "trust", "serve", "cert", "cache")},
}

SHORT = """Kompono simulates mechanisms built from components.

  kompono demo                            the car of the papers, on a page that moves
  kompono new machine.py                  a model of your own to begin from
  kompono run machine.py --plot           simulate it, print a summary, draw curves

All commands: kompono --help. The options of one: kompono run --help."""


atexit.register(gc.freeze)  # what is left when Python ends is not looked through once more


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors are one message on stderr, a traceback only with `--debug`."""
    _open_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        print(SHORT)
        return 0
    try:
        with uncollected():
            options = _parser(given[0]).parse_args(given)
    except SystemExit:
        _flush()
        raise
    if arguments is None:
        gc.freeze()  # what is imported stays, and need not be looked through again
    options.arguments = given
    heard = listening(*ENDINGS)
    listener = heard.__enter__()
    try:
        with warnings.catch_warnings(), _told(options):
            warnings.showwarning = _show_warning
            code = options.command(options)
            sys.stdout.flush()
            return code
    except BaseException as error:
        listener.keeps = True  # what follows is short
        return _failed(error, options.debug, listener.number)
    finally:
        heard.__exit__(None, None, None)
        if listener.asked and arguments is None:  # Python ends now; who asks again shall not see it stumble
            for number in (signal.SIGINT, *ENDINGS):
                signal.signal(number, signal.SIG_IGN)


def _failed(error: BaseException, debug: bool, number: int) -> int:
    """Say what went wrong; the exit code."""
    if isinstance(error, BrokenPipeError):  # the reader of our output has left, as in `kompono inspect ... | head`
        mute()
        return 1
    if debug:
        show_all(error)
    if isinstance(error, KeyboardInterrupt):
        say("interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}")
        return 128 + number
    if isinstance(error, SystemExit):
        place = origin(error)
        say(f"the model ended Python: sys.exit({error.code!r})" + (f"\n  at {place}" if place else ""))
        return 1
    if isinstance(error, OSError):
        mute()  # perhaps it was stdout that has no room
    say(brief(error))
    return 2 if isinstance(error, LoadError) else 1


@contextmanager
def _told(options: argparse.Namespace) -> Iterator[None]:
    """Messages of `kompono.notice` on stderr, those that are not urgent only with `--verbose`; no tracebacks of
    threads.
    """
    log, handler = logging.getLogger("kompono"), _Handler()
    before = threading.excepthook, sys.unraisablehook, log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO if options.verbose else logging.WARNING)
    log.propagate = False
    threading.excepthook = sys.unraisablehook = background(options.debug)
    try:
        yield
    finally:
        log.removeHandler(handler)
        threading.excepthook, sys.unraisablehook, level, log.propagate = before
        log.setLevel(level)


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def _open_streams() -> None:
    """Standard streams that were closed lead nowhere, instead of into the next file that is opened; characters they
    cannot show are shown as codes.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    """Have the help printed, even to nobody."""
    try:
        sys.stdout.flush()
    except OSError:
        mute()


def _parser(first: str = "") -> argparse.ArgumentParser:
    """The options of all commands, or of the one that is asked for: the others need not be imported."""
    parser = argparse.ArgumentParser(prog="kompono", description="Simulate mechanisms built from components.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    if first == "--version":
        return parser
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    chosen = [COMMANDS[first]] if first in COMMANDS else dict.fromkeys(COMMANDS.values())
    for module in chosen:
        import_module(f"kompono.edges.cli.{module}").add_command(commands)
    parser.set_defaults(debug=False, verbose=False)
    for command in (parser, *commands.choices.values()):
        add = command.add_argument_group("messages").add_argument
        add(
            "--verbose", action="store_true", default=argparse.SUPPRESS, help="say how much it is and how long it takes"
        )
        add("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks of errors")
    return parser


class _Version(argparse.Action):
    """Looks the version up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("kompono")
        except PackageNotFoundError:  # used from a source tree that was never installed
            found = "unknown"
        print(f"kompono {found}")
        parser.exit()


def _show_warning(message: Warning | str, *_: object) -> None:
    say(f"warning: {message}")
