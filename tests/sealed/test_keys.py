"""Keys and trusted authors: files of the user's own, and nobody else's."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kompono.errors import SealedError
from kompono.sealed import crypto, keys, trust

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes of files")


def test_a_key_is_kept_and_never_replaced(me: keys.Identity) -> None:
    assert keys.own() == me
    with pytest.raises(SealedError, match="is there already"):
        keys.make("Eve")
    assert keys.needed().name == "Ada"
    assert "signing" not in repr(me)


@posix
def test_a_key_is_private(me: keys.Identity, config: Path) -> None:
    assert stat.S_IMODE((config / "key.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(config.stat().st_mode) == 0o700
    (config / "key.json").chmod(0o640)
    with pytest.raises(SealedError, match="chmod 600"):
        keys.own()


@posix
def test_a_key_of_another_user_is_not_used(me: keys.Identity, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(SealedError, match="another user"):
        keys.own()


@posix
def test_links_and_open_folders_are_not_used(me: keys.Identity, config: Path, tmp_path: Path) -> None:
    config.chmod(0o777)
    with pytest.raises(SealedError, match="others may write in this folder"):
        keys.own()
    config.chmod(0o700)
    (config / "key.json").rename(tmp_path / "elsewhere.json")
    (config / "key.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(SealedError):
        keys.own()


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 5000, b'{"kompono key": 1, "name": "x"}', b"\xff"])
def test_a_damaged_key_is_a_sentence(me: keys.Identity, config: Path, content: bytes) -> None:
    (config / "key.json").write_bytes(content)
    with pytest.raises(SealedError, match="no kompono key"):
        keys.own()


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\x1b[31mred", "x" * 81, None])
def test_names_are_one_line(name: str) -> None:
    with pytest.raises(SealedError, match="one line"):
        keys.new_identity(name)


def test_trust_is_kept_by_key(config: Path) -> None:
    grace, other = keys.new_identity("Grace").card, keys.new_identity("Grace").card
    assert trust.add(grace.author, grace.name)
    assert not trust.add(grace.author, grace.name)
    assert trust.trusted() == {grace.author: "Grace"}
    with pytest.raises(SealedError, match="with another key"):
        trust.add(other.author, "GRACE")
    with pytest.raises(SealedError, match="not trusted"):
        trust.check(other.author, "Grace", "f.part")
    trust.check(grace.author, "Any name", "f.part")
    assert trust.remove(grace.fingerprint) == ["Grace"]
    assert trust.trusted() == {}
    with pytest.raises(SealedError, match="no trusted author"):
        trust.remove("Grace")


def test_users_trust_themselves(me: keys.Identity) -> None:
    trust.check(me.card.author, me.name, "f.part")


@posix
def test_a_list_that_others_may_change_is_not_believed(config: Path) -> None:
    trust.add(keys.new_identity("Grace").card.author, "Grace")
    (config / "trusted.json").chmod(0o666)
    with pytest.raises(SealedError, match="others may change it"):
        trust.trusted()


@pytest.mark.parametrize("content", [b"", b"{}", b'{"kompono trust": 1, "authors": {"00": "x"}}', b"[]"])
def test_a_damaged_list_is_a_sentence(config: Path, content: bytes) -> None:
    trust.add(keys.new_identity("Grace").card.author, "Grace")
    (config / "trusted.json").write_bytes(content)
    with pytest.raises(SealedError, match="damaged"):
        trust.trusted()


def test_cards_go_through_files(tmp_path: Path) -> None:
    card = keys.new_identity("Grace Ž").card
    (tmp_path / "grace.card").write_text(card.text(), encoding="utf-8")
    assert keys.read_card(tmp_path / "grace.card") == card
    with pytest.raises(SealedError, match="cannot be read"):
        keys.read_card(tmp_path / "nobody.card")


def test_boxes_open_for_their_recipient_beside_their_code() -> None:
    grace, eve = keys.new_identity("Grace"), keys.new_identity("Eve")
    box = crypto.lock(b"numbers", grace.card.recipient, b"code")
    assert crypto.unlock(box, grace.opening, b"code") == b"numbers"
    assert crypto.unlock(box, eve.opening, b"code") is None
    assert crypto.unlock(box, grace.opening, b"other code") is None
    assert crypto.unlock(box[:20], grace.opening, b"code") is None
    assert crypto.unlock(box[:-1] + bytes([box[-1] ^ 1]), grace.opening, b"code") is None
    assert len(box) == 60 + len(b"numbers")
    with pytest.raises(SealedError, match="no key"):
        crypto.lock(b"numbers", bytes(32), b"code")
