"""`ordinate golden`: a case on standard output, all cases in files."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.verify.golden import CASES, POSITION_CASES


def golden(*words: str):
    return CliRunner().invoke(app, ["golden", *words])


def test_a_case_is_printed_for_people_and_as_json():
    told = golden("alibi")
    assert told.exit_code == 0
    assert "float32 within" in told.stdout
    assert json.loads(golden("alibi", "--json").stdout)["id"] == "alibi"
    assert "following" in golden("positions-qwen2-vl").stdout
    assert json.loads(golden("positions-grid", "--json").stdout)["outputs"]["positions"]["shape"] == [6, 2]


def test_all_cases_are_written_whole(tmp_path):
    done = golden("--all", "--out", str(tmp_path / "vectors"))
    assert done.exit_code == 0, done.stderr
    files = sorted(path.name for path in (tmp_path / "vectors").iterdir())
    assert files == sorted(f"{name}.json" for name in (*CASES, *POSITION_CASES))
    schemas = {name: json.loads((tmp_path / "vectors" / name).read_text())["schema"] for name in files}
    assert all(schemas[f"{name}.json"] == "ordinate.golden/1" for name in CASES)
    assert all(schemas[f"{name}.json"] == "ordinate.golden.positions/1" for name in POSITION_CASES)


def test_one_case_is_written_into_the_folder(tmp_path):
    assert golden("alibi", "--out", str(tmp_path)).stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["alibi.json"]
    assert json.loads((tmp_path / "alibi.json").read_text()) == json.loads(golden("alibi", "--json").stdout)


def test_cases_can_be_listed():
    assert {row["id"] for row in json.loads(golden("--list", "--json").stdout)} == {*CASES, *POSITION_CASES}


def test_wrong_use_is_one_line_and_exit_2(tmp_path):
    wrong = (([], "a name"), (["rotary-hlaf"], "rotary-half"), (["rope"], "rotary-interleaved"), (["--all"], "a folder"))
    for words, told in wrong:
        done = golden(*words)
        assert done.exit_code == 2
        assert told in done.stderr
    (tmp_path / "file").write_text("")
    assert golden("--all", "--out", str(tmp_path / "file")).exit_code == 2
