"""The live faults of installed libraries are found; a few every day, all of them when there is time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ordinate.verify.peers import PEERS, check_peers, table_of

LIVE = [
    ("rotary-embedding-torch", "rotate_queries_with_cached_keys", "prefill-equals-decode", "offset-for-queries-only"),
    ("rotary-embedding-torch", "get_axial_freqs", "offsets-after", None),
    ("rotary-embedding-torch", "xPos in attention", "prefill-equals-decode", None),
    ("positional-encodings", "PositionalEncoding1D", "earlier-dtypes", "embedding-dtype-missing-from-cache-key"),
    ("transformers", "bloom build_alibi_tensor", "half-precision", "bias-of-absolute-positions-in-input-dtype"),
    ("transformers", "LlamaRotaryEmbedding, dynamic", "batch-neighbour", "longest-row-decides"),
    ("x-transformers", "AlibiPositionalBias, 12 heads", "module-cast", "slopes-in-a-buffer"),
]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("library", "subject", "law", "cause"), LIVE, ids=lambda value: str(value))
def test_a_live_fault_is_found_and_named(library, subject, law, cause):
    """Where a library has mended it, this test says so: take the row out, and make the table of the docs again."""
    pytest.importorskip(library.replace("-", "_"))
    check = next(check for owner, name, check in PEERS if (owner, name) == (library, subject))
    outcome = check().outcome(law)
    assert outcome.status == "failed"
    assert cause is None or cause in outcome.causes


@pytest.mark.slow
def test_every_peer_can_be_asked_and_ours_is_clean():
    rows = check_peers()
    unasked = [(row.library, row.subject, row.why) for row in rows if row.verdict is None and row.why != "not installed"]
    assert unasked == []
    ours = [row for row in rows if row.library == "ordinate"]
    assert len(ours) > 5
    assert all(row.verdict is not None and row.verdict.passed for row in ours)
    assert len(table_of(rows).splitlines()) > 40


def test_the_kept_table_names_every_subject():
    kept = (Path(__file__).resolve().parents[2] / "docs" / "verify-peers.md").read_text()
    for library, subject, _ in PEERS:
        assert f"| {subject} |" in kept, f"run `ordinate verify --peers > docs/verify-peers.md`: {library} {subject} is missing"


def test_a_library_that_is_missing_is_a_row_and_no_error(monkeypatch):
    monkeypatch.setattr("ordinate.verify.peers.PEERS", [("no-such-library", "thing", lambda: None)])
    (row,) = check_peers()
    assert row.why == "not installed"
    assert "not installed" in table_of([row])
