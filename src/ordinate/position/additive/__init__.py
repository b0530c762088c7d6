"""Encodings that add a vector to each token or patch."""

from ordinate.position.additive.absolute import LearnedTable, NoPosition, Sinusoidal
from ordinate.position.additive.calendar import unix_seconds
from ordinate.position.additive.fourier_features import FourierFeatures
from ordinate.position.additive.grid import LearnedGrid, SinusoidalGrid
from ordinate.position.additive.time import Time2Vec, TimeEncoding

__all__ = [
    "FourierFeatures",
    "LearnedGrid",
    "LearnedTable",
    "NoPosition",
    "Sinusoidal",
    "SinusoidalGrid",
    "Time2Vec",
    "TimeEncoding",
    "unix_seconds",
]
