"""What came from files is escaped in every page, drawing and table."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app
from tests.external import CASES

CONFIG = CASES / "configs" / "Meta-Llama-3.1-8B.json"
HOSTILE = "<script>alert(1)</script> \"' onload=x $\\frac{ [bold]x[/] [/] {{ 7331 * 7 }} ]]> a\u202eb &amp;& \x1b[31m"


def test_texts_of_a_config_reach_page_and_table_as_text(tmp_path: Path) -> None:
    config = json.loads(CONFIG.read_text())
    config |= {"architectures": [HOSTILE], "_name_or_path": HOSTILE, "layer_types": [HOSTILE] * 32, "torch_dtype": HOSTILE}
    config["rope_scaling"] |= {HOSTILE: HOSTILE}
    path, page = tmp_path / "config.json", tmp_path / "page.html"
    for model_type in ("llama", HOSTILE):
        path.write_text(json.dumps(config | {"model_type": model_type}))
        result = CliRunner().invoke(app, ["inspect", str(path), "--html", str(page)])
        assert result.exit_code in (0, 1), result.output
        assert "Traceback" not in result.output
        content = page.read_text()
        assert "<script>alert" not in content
        assert str(7331 * 7) not in content
        assert '" onload' not in content
        assert "<title" in content
        assert json.loads(CliRunner().invoke(app, ["inspect", str(path), "--json"]).stdout)


@pytest.mark.parametrize("text", ["<script>", "$\\frac{", "[bold]x[⁄]"])
def test_the_name_of_a_file_reaches_page_drawing_and_table_as_text(text: str, tmp_path: Path) -> None:
    path = tmp_path / f"{text}.json"
    path.write_text(CONFIG.read_text())
    page, figure = tmp_path / "page.html", tmp_path / "figure.svg"
    result = CliRunner().invoke(app, ["inspect", str(path), "--html", str(page), "--figure", str(figure)])
    assert result.exit_code == 0, result.output
    assert path.name in result.stdout.replace("\n", "")
    assert "<script>" not in page.read_text()
    ElementTree.parse(figure)
