import subprocess
import sys

import pytest

from ordinate.encodings import REGISTRY, canonical_name, registry_row
from ordinate.errors import UnknownNameError
from ordinate.position import ENCODINGS, build
from ordinate.spec import PositionSpec


def test_names_and_aliases_are_each_of_one_encoding():
    names = [name for row in REGISTRY.values() for name in (row.name, *row.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("row", REGISTRY.values(), ids=lambda row: row.name)
def test_every_row_is_loaded_and_built_from_its_example_by_any_of_its_names(row):
    for name in (row.name, *row.aliases):
        assert canonical_name(name) == row.name
        assert type(build(PositionSpec(name, row.example))) is ENCODINGS[row.name]


@pytest.mark.parametrize(
    ("alias", "name"), [("rope", "rotary"), ("mrope", "multimodal-rotary"), ("t5-bucket", "t5"), ("deberta", "disentangled")]
)
def test_what_inspect_calls_a_kind_is_an_alias(alias, name):
    assert registry_row(alias).name == name


def test_an_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(UnknownNameError, match=r'encoding: expected one of none, .* got rotory; did you mean "rotary"'):
        registry_row("rotory")


def test_the_registry_needs_no_torch():
    code = "import sys, ordinate.encodings; print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert out.strip() == "False"
