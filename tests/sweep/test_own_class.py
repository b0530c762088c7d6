"""A class of your own in a sweep: every interface works with defaults for the rest, and an edited source is another cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ordinate.errors import DataError, OrdinateError, RefusedError
from ordinate.sweep.cell import Cell
from ordinate.sweep.encodings import Shape, entry, make
from ordinate.sweep.engine import run_cells
from ordinate.sweep.measure import run_cell
from ordinate.sweep.own_class import TEMPLATES, build_own, fill_arguments, source_digest
from ordinate.sweep.store import Store

SHAPE = Shape(16, 2, 16, 32)
SMALL: dict[str, Any] = {"train_length": 16, "test_lengths": (16, 32), "layers": 1, "dim": 16, "heads": 2}
SMALL |= {"steps": 2, "batch_rows": 2, "tested_rows": 2}


def cell_of(name: str, **changes: Any) -> Cell:
    return Cell("k-back", name, 0, **{**SMALL, "source": source_digest(name), **changes})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", TEMPLATES)
def test_every_template_runs_as_it_is_printed(kind: str, folder: Path) -> None:
    (folder / "mine.py").write_text(TEMPLATES[kind])
    record = run_cell(cell_of("mine.py:MyEncoding"))
    assert record["result"]["status"] == "not learned", record["result"].get("reason")
    assert record["result"]["parameters"] > run_cell(Cell("k-back", "none", 0, **SMALL))["result"]["parameters"]


def test_two_rotations_and_a_bias_by_content_need_nothing_but_their_methods(folder: Path) -> None:
    (folder / "two.py").write_text(
        "class Two:\n"
        "    def rotate_query(self, x, positions): return x\n"
        "    def rotate_key(self, x, positions): return x * 0.5\n"
        "class ByContent:\n"
        "    def bias(self, at, by, query, key, scale): return 0.1 * scale * query @ key.transpose(-1, -2)\n"
        "class Alone:\n"
        "    def rotate_query(self, x, positions): return x\n"
    )
    for name in ("two.py:Two", "two.py:ByContent"):
        assert run_cell(cell_of(name))["result"]["status"] == "not learned"
    assert build_own("two.py:ByContent", {}).needs_content is True
    with pytest.raises(RefusedError, match="rotate_key beside rotate_query"):
        make("two.py:Alone", SHAPE)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("def __init__(self): raise ValueError('no luck')", "ValueError: no luck"),
        ("def __init__(self): raise SystemExit(3)", "SystemExit: 3"),
        ("def __init__(self, flavour): pass", "with flavour"),
        ("def bias(self, at, by): return at[:, None, None, None, None]", "Error"),
        ("def encode(self, positions): return 1 / 0", "ZeroDivisionError"),
        ("pass", "an object with encode, rotate, rotate_query, bias or scores"),
    ],
)
def test_what_cannot_be_made_or_run_is_a_row_and_not_the_end(body: str, reason: str, folder: Path) -> None:
    (folder / "broken.py").write_text(f"class Broken:\n    {body}\n")
    cells = [cell_of("broken.py:Broken"), Cell("k-back", "none", 0, **SMALL)]
    records: list[dict[str, Any]] = []
    run_cells(cells, Store(folder / "out"), jobs=1, done=records.append)
    results = {record["settings"]["encoding"]: record["result"] for record in records}
    assert results["broken.py:Broken"]["status"] == "cannot"
    assert reason in results["broken.py:Broken"]["reason"]
    assert results["none"]["status"] == "not learned"


def test_an_edited_class_or_helper_is_another_cell(folder: Path) -> None:
    (folder / "helper_of_mine.py").write_text("SLOPE = 0.5\n")
    (folder / "edited.py").write_text("import helper_of_mine\n" + TEMPLATES["biases"])
    first = cell_of("edited.py:MyEncoding")
    assert cell_of("edited.py:MyEncoding") == first
    (folder / "edited.py").write_text("import helper_of_mine\n" + TEMPLATES["biases"].replace("0.5", "0.25"))
    second = cell_of("edited.py:MyEncoding")
    (folder / "helper_of_mine.py").write_text("SLOPE = 0.25\n")
    third = cell_of("edited.py:MyEncoding")
    assert len({first.key, second.key, third.key}) == 3
    with pytest.raises(DataError, match=r"the source of edited\.py:MyEncoding that this cell is for"):
        run_cell(first)
    assert Cell.from_dict(json.loads(json.dumps(first.to_dict()))) == first


@pytest.mark.parametrize(
    "line",
    [
        "import helper_of_mine",
        "from helper_of_mine import SLOPE",
        "import importlib; importlib.import_module('helper_of_mine')",
        "__import__('helper_of_mine')",
        "import packed_helper.inner",
        "from packed_helper import inner",
        "from packed_helper.above import SLOPE",
    ],
)
def test_however_a_helper_is_imported_it_is_part_of_the_source(line: str, folder: Path) -> None:
    (folder / "packed_helper" / "deep").mkdir(parents=True)
    for name in ("__init__", "inner", "deep/__init__"):
        (folder / "packed_helper" / f"{name}.py").write_text("")
    (folder / "packed_helper" / "above.py").write_text("from .deep.below import SLOPE\n")
    (folder / "packed_helper" / "deep" / "below.py").write_text("from ..inner import __name__ as SLOPE\n")
    (folder / "helper_of_mine.py").write_text("SLOPE = 0.5\n")
    (folder / "own.py").write_text(f"{line}\n" + TEMPLATES["biases"])
    before = source_digest("own.py:MyEncoding")
    changed = "packed_helper/inner.py" if "packed" in line else "helper_of_mine.py"
    (folder / changed).write_text("SLOPE = 0.25\n")
    assert before
    assert source_digest("own.py:MyEncoding") != before


def test_what_has_no_source_is_run_again(folder: Path) -> None:
    (folder / "dynamic.py").write_text("exec('class Made:\\n    def rotate(self, x, positions): return x')\n")
    assert source_digest("dynamic.py:Made")  # the file that makes it is its source
    assert source_digest("collections:OrderedDict") == source_digest("collections:OrderedDict")
    unread = cell_of("dynamic.py:Made", source="")
    store = Store(folder / "out")
    assert not unread.reusable
    for _ in range(2):
        assert run_cells([unread], store, jobs=1) == 1
    assert run_cells([cell_of("dynamic.py:Made")], store, jobs=1) == 1
    assert run_cells([cell_of("dynamic.py:Made")], store, jobs=1) == 0


def test_names_of_cells_without_a_class_of_their_own_have_not_changed() -> None:
    assert Cell("k-back", "rope", 0).key == "02cccd5c05b8bbb890dba7e3"
    assert "source" not in Cell("k-back", "rope", 0).to_dict()


def test_arguments_are_filled_in_by_the_names_that_people_use() -> None:
    def usual(d_model: int, n_heads: int, max_len: int, dropout: float = 0.1) -> None: ...

    known = {"dim": 16, "num_heads": 2, "longest": 32}
    assert fill_arguments(usual, known) == {"d_model": 16, "n_heads": 2, "max_len": 32}


def test_a_name_that_is_nowhere_is_wrong_use(folder: Path) -> None:
    for name, said in (
        ("nowhere.py:X", "a Python file, got nowhere.py, no such file"),
        ("no_such_module:X", "a module 'no_such_module' that imports, got ModuleNotFoundError"),
        ("math:sqr", r'one of acos, .* in math, got sqr; did you mean "sqrt"'),
    ):
        with pytest.raises(OrdinateError, match=f"encoding: expected {said}"):
            entry(name)
