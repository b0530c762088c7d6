"""The room stays light: what only some need is imported when they need it."""

from __future__ import annotations

import subprocess
import sys


def test_importing_and_running_by_scipy_brings_in_neither_numba_nor_torch_nor_plots():
    heavy = {"numba", "torch", "sklearn", "matplotlib", "pyarrow", "networkx", "cect"}
    program = (
        "import sys; from ordinate.reservoir import Connectome, Reservoir; "
        "Reservoir(Connectome.synthetic(), inputs=['sensory'], impl='scipy').run([[1.0]]); "
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert told.stdout.strip() == "[]"
