"""The library of known faults, by family. Importing it fills `SIGNATURES`."""

from ordinate.verify.signatures import (
    attentions,
    biases,
    boundary,
    buckets,
    decoders,
    device_dtype,
    embeddings,
    layout,
    numeric,
    offset_cache,
    padding_packing,
    parsing,
)
from ordinate.verify.signatures.signature import FAMILIES, SIGNATURES, Signature

__all__ = [
    "FAMILIES",
    "SIGNATURES",
    "Signature",
    "attentions",
    "biases",
    "boundary",
    "buckets",
    "decoders",
    "device_dtype",
    "embeddings",
    "layout",
    "numeric",
    "offset_cache",
    "padding_packing",
    "parsing",
]
