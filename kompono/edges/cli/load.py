"""From `FILE.py:NAME` to a model: load the file or module, choose the model in it, build it with the values of `--set`.
A file of another program (URDF, MJCF, CAD) is a model by itself.

NAME is a Subsystem class, a function that returns a Subsystem, or a Subsystem. Without NAME a module-level `model` is
taken, else the class named like the file (`four_bar.py`: `FourBar`), else the last class defined there.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from kompono.edges.cli.complain import cut
from kompono.edges.cli.find import LoadError, ModelFile, find, split
from kompono.errors import KomponoError, RunError, nearest
from kompono.interruption import listening
from kompono.model.signal import Parameter
from kompono.model.subsystem import Subsystem, relative_path

ENDINGS = (".urdf", ".xacro", ".xml", ".mjcf", ".fcstd", ".step", ".stp")  # of files that are taken for machines


@dataclass(frozen=True)
class Loaded:
    """A model ready to run: its name, the model, and values of its tunable parameters by path."""

    name: str
    model: Subsystem
    parameters: dict[str, float]


def load(
    target: str, settings: Mapping[str, str], *, quiet: bool = False, build: Callable[..., Any] | None = None
) -> Loaded:
    """The model `target` (`FILE.py[:NAME]`) built with `settings` (constructor keywords or tunable parameters);
    `build(class, **keywords)` builds it in another way than by calling its class.
    """
    if is_machine(target):
        return _machine(target, settings)
    place, name = split(target)
    source = find(place, quiet=quiet)
    path = source.file
    with listening(insist=True) as heard:
        try:
            return _load(source, name, path, settings, build)
        finally:
            heard.keeps = False  # a file that makes a run when it is loaded has kept what it wanted


def is_machine(target: str) -> bool:
    """Whether a target is a file of another program (URDF, MJCF, CAD)."""
    return target.lower().endswith(ENDINGS) and Path(target).is_file()


def _machine(target: str, settings: Mapping[str, str]) -> Loaded:
    """The machine of such a file, with `--set` as options of `kompono.load`."""
    from kompono.files import load as load_machine

    model = load_machine(target, **{name: _value(text) for name, text in settings.items()})
    return Loaded(Path(target).stem, model, {})


def load_named(target: str) -> tuple[Path, Any]:
    """The file of `FILE.py:NAME`, and whatever it calls NAME."""
    place, name = split(target)
    source = find(place)
    with _neighbours(source), _blame(source.file), listening(insist=True):
        module = importlib.import_module(source.module) if source.module else _execute(source.file)
        return source.file, _named(module, name)[1]


def _load(
    source: ModelFile, name: str, path: Path, settings: Mapping[str, str], build: Callable[..., Any] | None
) -> Loaded:
    with _neighbours(source), _blame(path):
        module = importlib.import_module(source.module) if source.module else _execute(path)
        name, found = _named(module, name) if name else _chosen(module, path)
        known = _keywords(found)
        arguments = {key: _value(text) for key, text in settings.items() if key in known}
        if build is not None and _is_class(found):
            found = functools.partial(build, found)
        model = _build(name, found, known, arguments)
    rest = {key: text for key, text in settings.items() if key not in known}
    return Loaded(name, model, _parameters(model, rest, known))


@contextmanager
def _neighbours(source: ModelFile) -> Iterator[None]:
    """Let a file import others of its folder while it is loaded, and a module those of the current folder."""
    folder = "" if source.module else str(source.file.parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def _blame(path: Path) -> Iterator[None]:
    """Add to whatever goes wrong inside the file the line of the file it came from."""
    try:
        yield
    except KomponoError as error:
        if line := _line_of(error, path):
            error.add_note(f"  at {line}")
        raise
    except SyntaxError as error:
        line = f":{error.lineno}: {cut((error.text or '').strip())}" if error.lineno else ""
        where = f"{error.filename or path}{line}"
        raise LoadError(f"cannot load {path.name}: {type(error).__name__}: {error.msg}\n  at {where}") from error
    except (Exception, SystemExit) as error:
        cause = cut("".join(traceback.format_exception_only(error)).strip())
        raise LoadError(f"cannot load {path.name}: {cause}\n  at {_line_of(error, path) or path}") from error


def _line_of(error: BaseException, path: Path) -> str:
    """`FILE:LINE: code` of the innermost frame of `error` in the file, empty if there is none."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}:{frames[-1].lineno}: {frames[-1].line}" if frames else ""


def _execute(path: Path) -> ModuleType:
    """The file as a module, under a name of its own so that it hides no other module."""
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(f"kompono_file_{path.stem}", path)
    if spec is None or spec.loader is None:
        sealed = f' A sealed part belongs into a model: self.part = Sealed("{path.name}").'
        raise LoadError(f"{path.name} is no Python file.{sealed if path.suffix == '.part' else ''}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle look it up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _named(module: ModuleType, name: str) -> tuple[str, Any]:
    if name not in vars(module):
        known = [key for key, value in vars(module).items() if callable(value) or isinstance(value, Subsystem)]
        raise LoadError(f"{Path(str(module.__file__)).name} has no {name!r}.", fix=nearest(name, known))
    return name, getattr(module, name)


def _chosen(module: ModuleType, path: Path) -> tuple[str, Any]:
    """The model a file means when no name is given."""
    if "model" in vars(module):
        return path.stem, module.model
    classes = {name: value for name, value in vars(module).items() if _is_class(value)}
    own = {name: value for name, value in classes.items() if value.__module__ == module.__name__}
    models = own or {name: value for name, value in vars(module).items() if isinstance(value, Subsystem)}
    if not models:
        raise LoadError(f"{path.name} defines no Subsystem.", fix="Write a class, or name a function: FILE.py:NAME.")
    camel = path.stem.replace("_", "").casefold()
    alike = [name for name in models if name.casefold() == camel]
    name = (alike or list(models))[-1]
    return name, models[name]


def _is_class(value: object) -> TypeGuard[type[Subsystem]]:
    return isinstance(value, type) and issubclass(value, Subsystem) and value is not Subsystem


def _keywords(found: Any) -> dict[str, bool]:
    """Keywords that build the model, and whether each must be given; keywords a base class takes count as well."""
    functions: list[Callable[..., Any]] = [] if isinstance(found, Subsystem) or not callable(found) else [found]
    if _is_class(found):
        functions = [vars(base)["__init__"] for base in inspect.getmro(found)[:-1] if "__init__" in vars(base)]
    known: dict[str, bool] = {}
    for function in functions:
        kinds = inspect.signature(function).parameters.values()
        named = [p for p in kinds if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != "self"]
        for parameter in named:
            known.setdefault(parameter.name, parameter.default is parameter.empty)
        if not any(p.kind is p.VAR_KEYWORD for p in kinds):
            break
    return known


def _build(name: str, found: Any, known: Mapping[str, bool], arguments: Mapping[str, Any]) -> Subsystem:
    if callable(found) and not isinstance(found, Subsystem):
        missing = [key for key, required in known.items() if required and key not in arguments]
        if missing:
            raise RunError(f"{name} needs a value for {', '.join(missing)}.", fix=f"Try: --set {missing[0]}=VALUE")
        found = found(**arguments)
    if not isinstance(found, Subsystem):
        raise LoadError(f"{name} is no model but a {type(found).__name__}.", fix="Give a Subsystem or its class.")
    return found


def _parameters(model: Subsystem, settings: Mapping[str, str], keywords: Mapping[str, bool]) -> dict[str, float]:
    """`settings` as values of tunable parameters by path; an unknown name is an error that lists what can be set."""
    tunable = [relative_path(element, model) for element in model.walk() if isinstance(element, Parameter)]
    known = [*keywords, *tunable]
    for name, text in settings.items():
        if name not in tunable:
            listing = f"Can be set: {', '.join(known)}." if known else "It has nothing that can be set."
            fix = " ".join(filter(None, [nearest(name, known), listing]))
            raise RunError(f"{type(model).__name__} has no parameter {name!r}.", fix=fix)
        if not isinstance(_value(text), int | float):
            raise RunError(f"the parameter {name!r} is a number, not {text!r}.")
    return {name: float(_value(text)) for name, text in settings.items()}


def _value(text: str) -> Any:
    """A Python literal (number, text, tuple, True, None), else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
