"""Attention that knows where its tokens are: one function, masks that compose, layers, caches, pooling, a decoder."""

from ordinate.attention.attend import attend
from ordinate.attention.backend_selection import Choice, choose
from ordinate.attention.cache import KVCache
from ordinate.attention.decoder import Decoder, load_decoder
from ordinate.attention.generation import Sampling, generate
from ordinate.attention.layers import MultiHeadAttention
from ordinate.attention.masks import Causal, Documents, Mask, Padding, Window
from ordinate.attention.pooling import AttentionPooling, MeanPooling

__all__ = [
    "AttentionPooling",
    "Causal",
    "Choice",
    "Decoder",
    "Documents",
    "KVCache",
    "Mask",
    "MeanPooling",
    "MultiHeadAttention",
    "Padding",
    "Sampling",
    "Window",
    "attend",
    "choose",
    "generate",
    "load_decoder",
]
