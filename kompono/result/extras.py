"""Optional packages, imported where they are used; a missing one is one sentence with its remedy."""

from __future__ import annotations

import importlib
from typing import Any

from kompono.errors import RunError


class MissingExtra(RunError, ImportError):
    """An optional package is not installed."""

    by_the_user = False


def extra(module: str, name: str) -> Any:
    """The optional `module`, or the error that says how to install the extra `name` it belongs to."""
    try:
        return importlib.import_module(module)
    except ImportError as cause:
        package = module.partition(".")[0]
        raise MissingExtra(f"{package} is not installed.", fix=f"Try: pip install 'kompono[{name}]'") from cause


def edge(name: str) -> Any:
    """The module `kompono.edges.<name>`, found when it is used: edges import results, results offer what edges do."""
    return importlib.import_module(f"kompono.edges.{name}")
