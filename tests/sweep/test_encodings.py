"""Every encoding of a sweep is built from the catalogue by its name, and your own class stands beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ordinate.encodings import REGISTRY
from ordinate.errors import RefusedError, UnknownNameError
from ordinate.position import FIRE, LearnedTable, MusicRelative, NoPosition, Rotary, ShawRelative
from ordinate.position.catalogue import ENCODINGS as CATALOGUE
from ordinate.sweep.encodings import ENCODINGS, Shape, entry, make
from ordinate.sweep.model import SweepDecoder

SHAPE = Shape(32, 2, 16, 64)
ASKED_FOR = {
    "none", "sinusoidal", "learned", "shaw", "music", "t5", "alibi", "rope", "p-rope", "xpos", "kerple", "fire", "random-rope",
    "none-temperature", "clipped-rope", "path-fox",
}  # fmt: skip

NOT_FOR_A_ROW = {
    **{row.name: "encoding: expected" for row in REGISTRY.values() if row.positions in ("image", "time height width")},
    "convolution": "which looks ahead",
    **dict.fromkeys(("axial-rotary", "mixed-rotary", "sinusoidal-grid"), "positions in a row, got .*, over several axes"),
    "multimodal-rotary": "MultimodalRotary with sections",
    "learned-grid": "LearnedGrid with size",
    "window": "WindowBias2D with window",
    "continuous-window": "ContinuousWindowBias2D with window",
    "streaming-llm": "StreamingLLM with rotary, sinks, window",  # it needs a mask of its own
}


def test_the_table_has_all_that_were_asked_for() -> None:
    assert set(ENCODINGS) == ASKED_FOR


@pytest.mark.parametrize("name", [*ENCODINGS, "sandwich", "cope", "dape", "disentangled", "transformer-xl", "self-extend"])
def test_each_is_made_and_learns_something_in_a_decoder(name: str) -> None:
    model = SweepDecoder(8, dim=32, layers=1, heads=2, encodings=make(name, SHAPE))
    model(torch.arange(8).repeat(1, 2), torch.arange(16)).sum().backward()
    for encoding in model.encoding_modules:
        assert all(p.grad is not None for p in encoding.parameters()), name


def test_settings_follow_the_shape() -> None:
    assert isinstance(make("none", SHAPE)[0], NoPosition)
    (learned,) = make("learned", SHAPE)
    assert isinstance(learned, LearnedTable)
    assert (learned.num_positions, learned.dim) == (16, 32)
    (shaw,) = make("shaw", SHAPE)
    assert isinstance(shaw, ShawRelative)
    assert (shaw.head_dim, shaw.max_distance) == (16, 4)
    (music,) = make("music", SHAPE)
    assert isinstance(music, MusicRelative)
    assert music.max_distance == 15
    (fire,) = make("fire", SHAPE)
    assert isinstance(fire, FIRE)
    assert fire.initial_threshold == 4
    (partial,) = make("p-rope", SHAPE)
    assert isinstance(partial, Rotary)
    assert int((partial.inverse_frequencies() == 0).sum()) == 2  # a quarter of eight pairs


def test_your_own_class_is_imported_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_of_mine.py").write_text(
        "import torch\n"
        "class Slow(torch.nn.Module):\n"
        "    needs_content = False\n"
        "    def __init__(self, num_heads, slope=0.5):\n"
        "        super().__init__()\n"
        "        self.num_heads, self.slope = num_heads, slope\n"
        "    def bias(self, q, k, query=None, key=None, scale=None):\n"
        "        return -self.slope * (q[:, None] - k).float().expand(self.num_heads, -1, -1)\n"
        "class Bare:\n"
        "    pass\n"
        "class Greedy:\n"
        "    def __init__(self, flavour):\n"
        "        pass\n"
    )
    monkeypatch.chdir(tmp_path)
    (made,) = make("mine_of_mine:Slow", SHAPE)
    assert made.num_heads == 2
    assert entry("mine_of_mine:Slow").name == "mine_of_mine:Slow"
    with pytest.raises(RefusedError, match="an object with encode, rotate, rotate_query, bias or scores"):
        make("mine_of_mine:Bare", SHAPE)
    with pytest.raises(RefusedError, match="Greedy with flavour; wrap it in a class of your own"):
        make("mine_of_mine:Greedy", SHAPE)
    with pytest.raises(UnknownNameError, match="in mine_of_mine, got None_such"):
        entry("mine_of_mine:None_such")


def test_unknown_names_are_answered_with_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"one of none, sinusoidal, .*; or of the catalogue: .*cope.*module:object"):
        entry("rotatory")


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - set(ENCODINGS)))
def test_all_others_of_the_catalogue_are_made_or_refused_in_words(name: str) -> None:
    if name in NOT_FOR_A_ROW:
        with pytest.raises(RefusedError, match=NOT_FOR_A_ROW[name]):
            make(name, SHAPE)
    else:
        assert len(make(name, SHAPE)) == 1
