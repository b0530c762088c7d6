"""The figure shows what the record says, and the page stands alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from ordinate.errors import ArgumentError, OutputError, RefusedError
from ordinate.inspection import inspect_config
from ordinate.inspection.figure import draw, write_figure, write_html

GEMMA: dict[str, Any] = {
    "model_type": "gemma3_text",
    "num_hidden_layers": 12,
    "head_dim": 256,
    "rope_theta": 1e6,
    "rope_local_base_freq": 10000.0,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    "max_position_embeddings": 131072,
}


def test_each_kind_of_layer_has_a_panel_with_its_wavelengths() -> None:
    wide, near = draw(inspect_config(GEMMA)).axes
    before, after = (line.get_ydata() for line in wide.get_lines()[:2])
    assert before[1] == pytest.approx(2 * math.pi * 1e6 ** (2 / 256))
    assert after[1] == pytest.approx(8 * before[1])
    assert near.get_lines()[0].get_ydata()[1] == pytest.approx(2 * math.pi * 10000 ** (2 / 256))
    assert "claimed 131,072 tokens" in [text.get_text() for text in wide.get_legend().get_texts()]


def test_frequencies_at_the_claimed_length_are_drawn_where_they_differ() -> None:
    told = {
        "model_type": "phi3",
        "hidden_size": 512,
        "num_attention_heads": 8,
        "max_position_embeddings": 16384,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 32, "long_factor": [4.0] * 32},
    }
    labels = [text.get_text() for text in draw(inspect_config(told)).axes[0].get_legend().get_texts()]
    assert "at 16,384 tokens" in labels
    assert "trained 4,096 tokens" in labels


def test_a_figure_is_written_in_the_format_of_its_suffix(tmp_path: Path) -> None:
    write_figure(inspect_config(GEMMA), tmp_path / "out.svg")
    assert (tmp_path / "out.svg").read_text(encoding="utf-8").count("<svg") == 1


def test_the_page_holds_the_figure_the_findings_and_no_script(tmp_path: Path) -> None:
    inspection = inspect_config({**GEMMA, "rope_wobble": "<script>"}, name="<b>name</b>")
    write_html(inspection, tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "keys-unknown" in page
    assert "<script>" not in page
    assert "<b>name</b>" not in page


def test_a_model_that_does_not_rotate_has_a_page_and_no_figure(tmp_path: Path) -> None:
    inspection = inspect_config({"model_type": "bert"})
    write_html(inspection, tmp_path / "out.html")
    assert "<svg" not in (tmp_path / "out.html").read_text(encoding="utf-8")
    with pytest.raises(RefusedError, match="expected a model that rotates"):
        draw(inspection)


def test_a_figure_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="--figure: expected a file that can be written"):
        write_figure(inspect_config(GEMMA), tmp_path / "file" / "out.svg")
    with pytest.raises(ArgumentError, match=r"--figure: expected a name that ends in \.png, \.svg or \.pdf"):
        write_figure(inspect_config(GEMMA), tmp_path / "out.nonsense")


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="--html: expected a file that can be written"):
        write_html(inspect_config(GEMMA), tmp_path)
