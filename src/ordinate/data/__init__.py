"""Data: word vectors and digits that travel with a package, and where larger data are looked for.

It stands on floor 1, below everything that measures something. Larger data (MNIST, the larval connectome) are never part of the
package: a path is given, or a folder of the name is found by `data_folder`.
"""

from ordinate.data.digits import Digits, DigitSet, digits
from ordinate.data.finding import DATA_VARIABLE, data_folder
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
