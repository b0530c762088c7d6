"""Numbers of tokens and bytes as people write them."""

from __future__ import annotations

import pytest

from ordinate.cli.numbers import byte_count, token_count
from ordinate.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("131072", 131072),
        ("131,072", 131072),
        ("131_072", 131072),
        ("128k", 131072),
        ("128K", 131072),
        (" 1M ", 1048576),
        ("1.5k", 1536),
        ("1,048,576", 1048576),
        ("1", 1),
        ("1e6", 1000000),
        ("1.5E3", 1500),
        ("1_000", 1000),
        ("1 M", 1048576),
    ],
)
def test_tokens_are_read(text: str, number: int) -> None:
    assert token_count(text) == number


@pytest.mark.parametrize(
    "text", ["", "k", "12,34", "1,0000", "-1", "1.5", "1e-3", "1e", "1.55e1", "1e400", "0x10", "128kk", "nan", "inf", "1__0"]
)
def test_other_texts_are_no_number_of_tokens(text: str) -> None:
    with pytest.raises(ArgumentError, match="expected"):
        token_count(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("24GiB", 24 * 2**30),
        ("24G", 24 * 2**30),
        ("24 GB", 24 * 10**9),
        ("512MiB", 2**29),
        ("80gib", 80 * 2**30),
        ("1.5TiB", 3 * 2**39),
        ("1,024", 1024),
        ("17179869184", 2**34),
        ("512B", 512),
    ],
)
def test_bytes_are_read(text: str, number: int) -> None:
    assert byte_count(text) == number


@pytest.mark.parametrize("text", ["", "GiB", "-1GiB", "24 gigabytes", "1.0001B", "nan"])
def test_other_texts_are_no_number_of_bytes(text: str) -> None:
    with pytest.raises(ArgumentError, match="expected"):
        byte_count(text)
