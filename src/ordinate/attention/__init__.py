"""Attention that is told where its tokens are: one function, masks that compose, a readable reference."""

from ordinate.attention.attend import attend
from ordinate.attention.masks import Causal, Documents, Mask, Padding, Window

__all__ = ["Causal", "Documents", "Mask", "Padding", "Window", "attend"]
