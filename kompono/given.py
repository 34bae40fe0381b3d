"""What users hand over, made into numbers, expressions and names, or refused where it was written.

Every constructor and every option passes through here, so that `None`, a text, a complex number, an array of another
shape, a function or a number that is none is refused by one sentence: where, what, and what to write instead.
Numbers are Python's and NumPy's, arrays without dimension, fractions and decimals. Expressions are CasADi SX.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from math import inf
from numbers import Real
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import KomponoError, ModelError, ModelWarning, suggest, warn

Error = type[KomponoError]
CLOSED: set[str] = set()  # names of functions that have native code of their own: those of FMUs
UNSUPPORTED = {ca.OP_CALL, ca.OP_ERFINV, ca.OP_PRINTME}  # operations there is no native code for
ELSEWHERE = {  # what other programs call the arguments of ours, small and without underscores
    **dict.fromkeys(("tend", "tstop", "tfinal", "tmax", "stoptime", "endtime", "duration"), "until"),
    **dict.fromkeys(("dt", "h", "timestep", "stepsize", "maxstep"), "step"),
    **dict.fromkeys(("solver", "integrator"), "method"),
    **dict.fromkeys(("tol", "tolerance", "reltol"), "rtol"),
    "abstol": "atol", "params": "parameters", "y0": "initial", "x0": "initial", "outputs": "channels",
    "stiffness": "k", "damping": "c", "restlength": "rest", "freelength": "rest",
}  # fmt: skip
_SYMBOL = "It is an expression, which has no value yet; a start that shall vary is given to the run by initial=."
_NAN = "Functions of Python's math and float() make NaN of symbols: use ca.sin, ca.sqrt, ..."
_CALL = (
    "Call no MX, external or interpolating function in it: write a curve as ca.pw_lin(x, points, values), a choice as "
    "ca.if_else, a curve over time as Input(table=(times, values))."
)


def shown(value: Any) -> str:
    """A value in a message, short."""
    if callable(value) and hasattr(value, "__name__"):
        return f"{'the class' if isinstance(value, type) else 'the function'} {value.__name__!r}"
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape}"
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"an object of class {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def plain(value: Any) -> float | None:
    """The number a value is (it may be NaN or infinite), None if it is none; a truth value is none either."""
    if type(value) is float:
        return value
    if isinstance(value, ca.SX | ca.DM):
        known = value.is_scalar() and (isinstance(value, ca.DM) or value.is_constant())
        return float(value) if known else None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):
        return inf


def number(
    value: Any,
    what: str,
    where: str = "",
    *,
    error: Error = ModelError,
    positive: bool = False,
    finite: bool = True,
    truth: bool = False,
    fix: str = "",
) -> float:
    """A number, finite unless said otherwise; with `positive` above zero, with `truth` True and False are 1 and 0."""
    if truth and isinstance(value, bool | np.bool_):
        return float(value)
    found, fix = plain(value), fix or f"Give a {'positive ' * positive}number."
    if found is None:
        symbol = isinstance(value, ca.SX) and not value.is_constant()
        raise error(
            f"{what} {shown(value)} is not a number.", path=where, fix=f"{fix} {_SYMBOL}".strip() if symbol else fix
        )
    if finite and not np.isfinite(found):
        advice = f"{fix} {_NAN}".strip() if found != found else fix
        raise error(f"{what} {shown(value)} is not finite.", path=where, fix=advice)
    if positive and found <= 0:
        raise error(f"{what} {shown(value)} is not positive.", path=where, fix=fix)
    return found


def tell_unused(what: str, fix: str) -> None:
    """Warn, where it was written, of what does nothing as it is declared."""
    warn(f"{what}: it does nothing. {fix}", ModelWarning)


def tell_unused_number(value: Any, what: str, fix: str) -> None:
    """The same of a number that acts only beside another option; None and zero are none."""
    found = None if value is None else scalar(value, what)
    if found is not None and (isinstance(found, ca.SX) or found != 0):
        tell_unused(what, fix)


def numbers(
    value: Any,
    shape: tuple[int, ...],
    what: str,
    where: str = "",
    *,
    error: Error = ModelError,
    finite: bool = True,
    fix: str = "",
) -> np.ndarray:
    """Numbers of a shape, finite unless said otherwise; a size of -1 may be any."""
    if type(value) is tuple and shape == (len(value),) and all(map(_usual, value)):
        return np.array(value, dtype=float)  # a million times in a large model
    result = _checked(entries_of(value), value, shape, what, where, error, fix)
    if finite and not np.isfinite(result).all():
        fix = fix or "Give finite numbers."
        advice = f"{fix} {_NAN}" if np.isnan(result).any() else fix
        raise error(f"{what} {shown(value)} has entries that are not finite.", path=where, fix=advice)
    return result


def _usual(entry: Any) -> bool:
    return type(entry) in (float, int) and -1e300 < entry < 1e300


def _checked(
    array: np.ndarray, value: Any, shape: tuple[int, ...], what: str, where: str, error: Error, fix: str
) -> np.ndarray:
    fits = array.ndim == len(shape) and all(want in (-1, size) for want, size in zip(shape, array.shape, strict=True))
    if fits and array.dtype.kind in "fiu":
        return array.astype(float)
    entries = [plain(entry) for entry in array.ravel().tolist()] if fits else [None]
    if any(entry is None for entry in entries):
        symbol = any(isinstance(e, ca.SX) and not e.is_constant() for e in (value, *array.ravel().tolist()))
        size = " by ".join("a list of" if size < 0 else str(size) for size in shape)
        wanted = f"{size} numbers" if shape else "a number"
        fix = fix or f"Give {wanted}."
        advice = f"{fix} {_SYMBOL}".strip() if symbol else fix
        raise error(f"{what} {shown(value)} is not {wanted}.", path=where, fix=advice)
    return np.array(entries, dtype=float).reshape(array.shape)


def scalar(
    value: Any, what: str, where: str = "", *, positive: bool = False, truth: bool = False, fix: str = ""
) -> Any:
    """A finite number (with `positive` above zero), or an expression (SX) with one component."""
    if type(value) is float and abs(value) < inf and not positive:
        return value
    fix = fix or "Give a number, or an expression of time, coordinates, motion, inputs and parameters."
    if not isinstance(value, ca.SX) or value.is_constant():
        return number(value, what, where, positive=positive, truth=truth, fix=fix)
    if not value.is_scalar():
        size = f"{value.shape[0]} by {value.shape[1]}"
        raise ModelError(f"{what} has {size} components, not one.", path=where, fix=fix)
    check_expression(value, what, where)
    return value


def column(value: Any, size: int, what: str, where: str = "", *, fix: str = "") -> ca.SX:
    """Numbers or expressions as a column (size, 1)."""
    array, fix = entries_of(value), fix or f"Give {size} numbers or expressions."
    if array.shape not in ((size,), (size, 1)):
        raise ModelError(f"{what} {shown(value)} has not {size} components.", path=where, fix=fix)
    return ca.SX(ca.vertcat(*[scalar(entry, what, where, fix=fix) for entry in array.ravel().tolist()]))


def has_symbols(value: Any) -> bool:
    """Whether any entry is an expression that is not constant."""
    if type(value) is tuple and all(map(_usual, value)):
        return False
    entries = [value] if isinstance(value, ca.SX) else entries_of(value).ravel().tolist()
    return any(isinstance(entry, ca.SX) and not entry.is_constant() for entry in entries)


def check_expression(value: ca.SX, what: str, where: str = "", error: Error = ModelError) -> None:
    """Raise if an expression holds a constant that is not a number, or an operation that cannot be compiled."""
    if value.is_scalar() and value.is_symbolic():
        return
    law = ca.Function("law", [ca.vertcat(*ca.symvar(value))], [value])
    for k in range(law.n_instructions()):
        operation = law.instruction_id(k)
        if operation == ca.OP_CONST and np.isnan(law.instruction_constant(k)):
            raise error(f"{what} holds a constant that is not a number (NaN).", path=where, fix=_NAN)
        if operation == ca.OP_CALL and all(f.name() in CLOSED for f in law.find_functions(0)):
            continue
        if operation in UNSUPPORTED:
            raise error(f"{what} {shown(value)} calls a function that cannot be compiled.", path=where, fix=_CALL)


def text(value: Any, what: str, where: str = "", *, error: Error = ModelError, fix: str = "") -> str:
    """A text."""
    if not isinstance(value, str):
        raise error(f"{what} {shown(value)} is not a text.", path=where, fix=fix or "Give a text in quotes.")
    return value


def texts(value: Any, what: str, where: str = "", *, error: Error = ModelError, fix: str = "") -> tuple[str, ...]:
    """Several texts, or a single one."""
    if isinstance(value, str):
        return (value,)
    entries = listed(value, what, where, error=error, fix=fix)
    return tuple(text(entry, what, where, error=error, fix=fix) for entry in entries)


def listed(value: Any, what: str, where: str = "", *, error: Error = ModelError, fix: str = "") -> list[Any]:
    """The entries of anything that can be gone through; a text is one entry."""
    try:
        return [value] if isinstance(value, str) else list(value)
    except Exception as cause:
        why = "" if isinstance(cause, TypeError) else f" ({type(cause).__name__}: {cause})"
        raise error(f"{what} {shown(value)} is not a list{why}.", path=where, fix=fix or "Give a list.") from None


def flag(value: Any, what: str, where: str = "", *, error: Error = ModelError) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise error(f"{what} {shown(value)} is neither True nor False.", path=where, fix="Use True or False.")
    return bool(value)


def choice(value: Any, what: str, known: Iterable[str], where: str = "", *, error: Error = ModelError) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in known:
        fix = f"Use {' or '.join(map(repr, known))}."
        raise error(f"{what} {shown(value)} is not known.", path=where, fix=fix)
    return value


def misused(error: TypeError) -> bool:
    """Whether Python itself refused the arguments of a call, where it was made."""
    return error.__traceback__ is None or error.__traceback__.tb_next is None


def how_to_call(function: Any, error: TypeError, given: Iterable[str]) -> tuple[str, str]:
    """What was wrong with the arguments of a call, and which there are."""
    from inspect import signature  # only mistakes need it

    names = [name for name in signature(function).parameters if name != "self"]
    unknown = next((name for name in given if name not in names and f"'{name}'" in str(error)), None)
    if unknown is not None:
        ours = ELSEWHERE.get(unknown.casefold().replace("_", ""))
        fix = f"It is called {ours!r} here." if ours in names else suggest(unknown, names)
        return f"there is no argument {unknown!r}.", fix
    what = str(error).partition("() ")[2] or str(error)
    missing = re.match(r"missing \d+ required \S+ arguments?: (.*)", what)
    if missing is not None:
        return f"{missing[1]} {'are' if ' and ' in missing[1] else 'is'} missing.", f"It takes {', '.join(names)}."
    by_name = "Give the others by name. " if "positional argument" in what else ""
    fix = f"{by_name}It takes {', '.join(names) or 'none'}."
    return f"it was called with other arguments than it takes: {what}.", fix


def entries_of(value: Any) -> np.ndarray:
    """Entries as they are, in the shape of nested sequences; what is no array becomes one of a single object."""
    if isinstance(value, ca.SX | ca.DM):
        rows, columns = value.shape
        entries = [value[i, j] for i in range(rows) for j in range(columns)]
        return _filled(entries, (rows,) if columns == 1 else (rows, columns))
    if isinstance(value, list | tuple | range):
        if any(isinstance(entry, list | tuple) or (isinstance(entry, np.ndarray) and entry.ndim) for entry in value):
            parts = [entries_of(entry) for entry in value]
            if len({part.shape for part in parts}) == 1:
                return _filled([e for part in parts for e in part.ravel().tolist()], (len(parts), *parts[0].shape))
        else:
            return _filled(list(value), (len(value),))
    elif hasattr(value, "__array__") and not isinstance(value, type):
        try:
            return np.asarray(value)
        except Exception:  # it only says that it is one
            return _filled([value], ())
    return _filled([value], ())


def _filled(entries: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    result = np.empty(len(entries), dtype=object)
    for k, entry in enumerate(entries):
        result[k] = entry
    return result.reshape(shape)
