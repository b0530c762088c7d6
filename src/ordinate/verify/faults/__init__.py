"""The table of known faults, a file for each kind of subject."""

from ordinate.verify.faults.attention import ATTENTION_FAULTS
from ordinate.verify.faults.bias import BIAS_FAULTS, BUCKET_FAULTS
from ordinate.verify.faults.decoder import DECODER_FAULTS
from ordinate.verify.faults.embedding import EMBEDDING_FAULTS
from ordinate.verify.faults.positions import POSITION_FAULTS
from ordinate.verify.faults.rotary import ROTARY_FAULTS
from ordinate.verify.faults.table import FAMILIES, KnownFault

__all__ = [
    "ATTENTION_FAULTS",
    "BIAS_FAULTS",
    "BUCKET_FAULTS",
    "DECODER_FAULTS",
    "EMBEDDING_FAULTS",
    "FAMILIES",
    "KNOWN_FAULTS",
    "POSITION_FAULTS",
    "ROTARY_FAULTS",
    "KnownFault",
]

KNOWN_FAULTS: dict[str, KnownFault] = {
    fault.id: fault
    for fault in (
        *ATTENTION_FAULTS,
        *BIAS_FAULTS,
        *BUCKET_FAULTS,
        *DECODER_FAULTS,
        *EMBEDDING_FAULTS,
        *POSITION_FAULTS,
        *ROTARY_FAULTS,
    )
}
"""Every known fault by its id."""
