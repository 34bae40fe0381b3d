"""Errors while something is declared say what was being declared, though it has no path yet.

An element gets its name after its constructor returns. Until then its class stands for it: an error without a path
gets the name of the innermost class under construction (and says the line, see `errors.py`). CasADi's complaint about
`if` on a symbol, and Python's about arguments that do not exist or are missing, are put into words.
What was made leaves its record (`making.py`). An element is equal to itself only, and so a key of tables.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kompono.errors import KomponoError, ModelError
from kompono.given import how_to_call, misused
from kompono.model.making import note, running
from kompono.model.symbol import Symbol

CHOICE = "Write ca.if_else(condition, yes, no), ca.fmin and ca.fmax: the decision belongs into the equations."


def decides_by_a_symbol(error: BaseException) -> bool:
    """Whether this is what CasADi says to the truth value of an expression."""
    return isinstance(error, RuntimeError) and "truth value" in str(error)


def _told_apart(cls: Any) -> None:
    """Let objects of a class be equal to themselves only, as keys of tables must be: a dataclass compares contents, and
    so may a class of a user. Symbols stay: `==` makes an expression of them, and they have the hash of an object.
    """
    if not issubclass(cls, Symbol):
        cls.__eq__, cls.__hash__ = object.__eq__, object.__hash__


class Declared(type):
    """The class of classes of elements: calling one is a declaration."""

    @property
    def __signature__(cls) -> Any:
        """That of the constructor, for `help` and notebooks."""
        from inspect import signature  # only they need it

        found = signature(cls.__init__)
        return found.replace(parameters=list(found.parameters.values())[1:])

    if not TYPE_CHECKING:  # to a type checker, calling one gives an object of it as ever

        def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
            if cls.__eq__ is not object.__eq__ or cls.__hash__ is not object.__hash__:
                _told_apart(cls)
            element = cls.__new__(cls, *arguments, **keywords)
            keywords = element._taken(keywords)
            running.stack.append(element._records())
            try:
                element.__init__(*arguments, **keywords)
            except KomponoError as error:
                error.at(cls.__name__)
                raise
            except TypeError as error:
                if not misused(error):
                    raise
                message, fix = how_to_call(cls.__init__, error, keywords)
                raise ModelError(message, path=cls.__name__, fix=fix) from None
            except RuntimeError as error:
                if not decides_by_a_symbol(error):
                    raise
                message = "a Python decision (`if`, `and`, `min`, ...) depends on a symbol, which has no value yet."
                raise ModelError(message, path=cls.__name__, fix=CHOICE) from error
            finally:
                made = running.stack.pop()
            note(element, made, sys._getframe(1))  # elements that fail leave none
            return element
