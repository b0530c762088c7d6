"""Compiled code of logic networks, behind functions that run everywhere.

| function | computes |
|---|---|
| `relaxed_gates` | a layer of relaxed gates, with its gradient |
| `relaxed_trees` | trees of relaxed gates at every place of an image, with their gradient |
| `largest_of_windows` | OR pooling relaxed as the maximum, with its gradient |
| `by_rows`, `signals_of` | a batch turned into the layout that these read fastest |

Where numba is installed (the extra `fast`) and numbers are float32 on a CPU, they run the modules `compiled_*`; elsewhere plain
torch. `compiled_words` runs whole circuits on 64 images a word for `ordinate.logic.circuit.runtime`. `eight_images` is the
only hand-written vector code, four steps that `compiled_images` is made of. `reference` says in plain numpy, in float64,
what each compiled function and each vector step has to compute; the tests compare them one by one.
"""

from __future__ import annotations

from ordinate.logic.kernels.gates import by_rows, relaxed_gates, signals_of
from ordinate.logic.kernels.trees import largest_of_windows, relaxed_trees

__all__ = ["by_rows", "largest_of_windows", "relaxed_gates", "relaxed_trees", "signals_of"]
