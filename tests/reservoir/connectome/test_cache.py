"""What is kept is what was parsed, a spoilt file is made anew, and a folder that cannot be written is no error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordinate.reservoir import Connectome
from ordinate.reservoir.connectome.cache import CACHE_VARIABLE, cache_folder, cached, load, save
from ordinate.reservoir.connectome.connectome import draw_synthetic


def test_a_saved_connectome_is_the_same_connectome(tmp_path):
    built = Connectome.synthetic(4)
    save(vars(built), tmp_path / "a.npz")
    again = Connectome(**load(tmp_path / "a.npz"))
    assert (again.weights != built.weights).nnz == 0
    assert again.weights.dtype == built.weights.dtype
    for name in ("ids", "side", "mate", "kind"):
        assert np.array_equal(getattr(again, name), getattr(built, name))
    assert (again.labels, again.name, again.assumptions) == (built.labels, built.name, built.assumptions)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"], "no draft is left"


def test_a_spoilt_file_is_made_anew(tmp_path):
    source, built = tmp_path / "source", []
    source.write_bytes(b"one")

    def read() -> dict[str, Any]:
        built.append(1)
        return draw_synthetic()

    def get() -> dict[str, Any]:
        return cached(source, read, tables=(), folder=tmp_path / "kept", form="t")

    get()
    get()
    assert len(built) == 1
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_bytes(kept.read_bytes()[:200])
    assert get()["ids"].size == 100
    assert len(built) == 2
    source.write_bytes(b"two")
    get()
    assert len(built) == 3


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    source = tmp_path / "source"
    source.write_bytes(b"")
    fields = cached(source, draw_synthetic, tables=(), folder=tmp_path / "file" / "kept", form="t")
    assert fields["ids"].size == 100


def test_the_folder_can_be_named(monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, "elsewhere")
    assert cache_folder() == Path("elsewhere")
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    assert cache_folder() == Path("caches/ordinate")


def test_pickles_are_not_read(tmp_path):
    """A cache is a place others can write to: no file in it may run code."""
    np.savez(tmp_path / "a.npz", indptr=np.zeros(1), texts=np.array([object()], dtype=object))
    with pytest.raises((ValueError, KeyError)):
        load(tmp_path / "a.npz")
