"""Authors whose machine code a user runs, by their keys. Names are for people; only keys are compared."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from kompono.errors import SealedError, nearest
from kompono.sealed import crypto, files, keys


def place() -> Path:
    """The file of trusted authors."""
    return files.directory() / "trusted.json"


def trusted() -> dict[bytes, str]:
    """Keys and names of trusted authors, in the order they were added."""
    data = files.read(place(), private=False)
    if data is None:
        return {}
    try:
        found: Any = json.loads(data)
        if found["kompono trust"] != 1:
            raise ValueError
        authors = {bytes.fromhex(key): keys.checked_name(name) for key, name in found["authors"].items()}
        if any(len(key) != 32 for key in authors):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, SealedError) as error:
        fix = "Move the file away and add authors again with: kompono trust add FILE"
        raise SealedError("the list of trusted authors is damaged.", path=str(place()), fix=fix) from error
    return authors


def _keep(authors: dict[bytes, str]) -> None:
    listing = {key.hex(): name for key, name in authors.items()}
    files.write(place(), json.dumps({"kompono trust": 1, "authors": listing}, indent=1).encode())


def add(key: bytes, name: str) -> bool:
    """Trust an author from now on; whether that is new. Another key for a known name is refused."""
    authors = trusted()
    if key in authors:
        return False
    same = [known for known, other in authors.items() if other.casefold() == name.casefold()]
    if same:
        raise SealedError(
            f"you trust {name!r} with another key ({crypto.fingerprint(same[0])}); this one is "
            f"{crypto.fingerprint(key)}.",
            fix=f'Ask {name} whether the key was changed; then: kompono trust remove "{name}"',
        )
    _keep(authors | {key: name})
    return True


def remove(word: str) -> list[str]:
    """Trust an author (a name or a fingerprint) no more; the names that were removed."""
    authors = trusted()
    plain = word.replace(" ", "").casefold()
    gone = [
        key
        for key, name in authors.items()
        if name.casefold() == word.casefold() or crypto.fingerprint(key).replace(" ", "") == plain
    ]
    if not gone:
        raise SealedError(f"no trusted author is {word!r}.", fix=nearest(word, authors.values()))
    _keep({key: name for key, name in authors.items() if key not in gone})
    return [authors[key] for key in gone]


def check(key: bytes, name: str, path: str) -> None:
    """Refuse an author that is not trusted; users trust themselves."""
    authors = trusted()
    if key in authors:
        return
    identity = keys.own()
    if identity is not None and identity.card.author == key:
        return
    mark = crypto.fingerprint(key)
    forged = [known for known, other in authors.items() if other.casefold() == name.casefold()]
    doubt = f" You trust that name with another key ({crypto.fingerprint(forged[0])})." if forged else ""
    raise SealedError(
        f"its author {name!r} ({mark}) is not trusted. It holds machine code, which would run with your rights.{doubt}",
        path=path,
        fix=f"If you trust whoever has this fingerprint: kompono trust add {shlex.quote(path)}; if not, put a wall "
        "around it: Sealed(FILE, wall='wasm').",
    )
