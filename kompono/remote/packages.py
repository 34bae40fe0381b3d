"""Optional packages of the extra `remote`, imported where they are used; a missing one is one sentence."""

from __future__ import annotations

import importlib
import os
from typing import Any

from kompono.errors import RemoteError


def needed(module: str) -> Any:
    """An optional module, or the error that says how to install it."""
    if module == "grpc":  # its own words about broken connections go to stderr; ours are in errors and logs
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        return importlib.import_module(module)
    except ImportError as cause:
        package = {"grpc": "grpcio"}.get(module, module.partition(".")[0])
        fix = "Try: pip install 'kompono[remote]'"
        raise RemoteError(f"remote parts need the package {package}, which is not installed.", fix=fix) from cause
