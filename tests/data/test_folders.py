"""Where larger data are looked for."""

import pytest

from ordinate.data import DATA_VARIABLE, data_folder
from ordinate.errors import MissingDataError


@pytest.fixture
def somewhere(tmp_path, monkeypatch):
    """An empty working directory, two levels down, and no variable."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def test_nothing_is_found_where_nothing_is(somewhere):
    assert data_folder("mnist") is None


def test_only_the_folder_data_of_the_working_directory_is_searched(somewhere):
    for elsewhere in ("data", "shared/data", "work/shared/data"):
        (somewhere / elsewhere / "mnist").mkdir(parents=True)
    assert data_folder("mnist") is None
    (somewhere / "work/data/mnist").mkdir(parents=True)
    assert data_folder("mnist").resolve() == somewhere / "work/data/mnist"
    assert data_folder("larval-drosophila") is None


def test_the_variable_goes_before_what_is_near_and_a_given_folder_before_both(somewhere, monkeypatch):
    for place in ("work/data", "variable", "given"):
        (somewhere / place / "mnist").mkdir(parents=True)
    monkeypatch.setenv(DATA_VARIABLE, str(somewhere / "variable"))
    assert data_folder("mnist") == somewhere / "variable" / "mnist"
    assert data_folder("mnist", somewhere / "given") == somewhere / "given" / "mnist"


def test_a_folder_that_was_named_must_be_there(somewhere, monkeypatch):
    with pytest.raises(MissingDataError, match="data: expected a folder"):
        data_folder("mnist", somewhere / "nowhere")
    monkeypatch.setenv(DATA_VARIABLE, str(somewhere / "nowhere"))
    with pytest.raises(MissingDataError, match="ORDINATE_DATA"):
        data_folder("mnist")
