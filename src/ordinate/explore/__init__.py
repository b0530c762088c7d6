"""One page to play with, offline: how encodings tell positions, what a model's file says, a circuit, a two-sided network."""

from ordinate.explore.page import page_html
from ordinate.explore.presets import PRESETS, facts

__all__ = ["PRESETS", "facts", "page_html"]
