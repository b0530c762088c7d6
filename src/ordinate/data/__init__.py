"""Data: word vectors and digits that travel with a package, and where larger data are looked for.

Larger data (MNIST, the larval connectome) are never part of the package: the caller passes a path, or `data_folder` looks for a
folder of that name.
"""

from ordinate.data.digits import Digits, DigitSet, digits
from ordinate.data.folders import DATA_VARIABLE, data_folder
from ordinate.data.idx import MNIST_MD5, read_idx
from ordinate.data.vectors import WordVectors, word_vectors

__all__ = [
    "DATA_VARIABLE",
    "MNIST_MD5",
    "DigitSet",
    "Digits",
    "WordVectors",
    "data_folder",
    "digits",
    "read_idx",
    "word_vectors",
]
