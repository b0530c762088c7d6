"""Who sends how many synapses to whom: the class, its readers, signs, gain, spectrum and null models."""

from ordinate.reservoir.connectome.cache import CACHE_VARIABLE, cache_folder
from ordinate.reservoir.connectome.connectome import SIDES, Connectome
from ordinate.reservoir.connectome.gain import NORMALISATIONS, normalise
from ordinate.reservoir.connectome.nulls import (
    NULLS,
    mirrored,
    mixing,
    modular,
    overlap,
    random_edges,
    relabelled,
    rewired,
    shuffled_weights,
)
from ordinate.reservoir.connectome.orientation import Orientation, prove_orientation
from ordinate.reservoir.connectome.spectrum import leading_eigenvalue, spectral_radius
from ordinate.reservoir.connectome.summary import LeadingMode, Summary, leading_mode, summarise, summary_figure

__all__ = [
    "CACHE_VARIABLE",
    "NORMALISATIONS",
    "NULLS",
    "SIDES",
    "Connectome",
    "LeadingMode",
    "Orientation",
    "Summary",
    "cache_folder",
    "leading_eigenvalue",
    "leading_mode",
    "mirrored",
    "mixing",
    "modular",
    "normalise",
    "overlap",
    "prove_orientation",
    "random_edges",
    "relabelled",
    "rewired",
    "shuffled_weights",
    "spectral_radius",
    "summarise",
    "summary_figure",
]
