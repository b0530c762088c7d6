"""Imports run one way: between packages, between the sub-packages of each, and between files.

Every import counts, wherever it stands.
Imports inside functions and under TYPE_CHECKING are read too: they bind two files together as much as any other.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

from bench.structure import circles

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "ordinate"

# From below. A module imports from earlier rows and from its own package; packages of one row do not import each other.
LAYERS = [
    ["errors"],
    ["arguments", "records", "extras", "shapes", "atomic_io", "huge_pages", "file_kinds", "moved"],
    ["frequencies", "alibi_slopes", "encodings", "resolve", "safetensors_io"],
    ["spec", "data"],
    ["logic", "reservoir", "position", "inspection"],
    ["attention"],
    ["lab", "sweep", "verify"],
    ["articles", "explore"],
    ["cli"],
    ["__main__"],
]

# The order inside a package, from below, where it has sub-packages or files whose order matters: a name not listed is free,
# as long as no circle comes of it. `lab` knows no article, so `sweep` may use its figures; see also `EXCEPTIONS`.
INSIDE: dict[str, list[list[str]]] = {
    "logic": [
        ["kernels"],
        ["circuit"],
        ["simplify", "export"],
        ["chip", "network", "readers"],
        ["growth", "methods"],
        ["classifier"],
        ["__init__"],
    ],
    "reservoir": [
        ["seeds"],
        ["connectome", "datasets"],
        ["dynamics"],
        ["readout", "laterality"],
        ["tasks", "body"],
        ["control"],
        ["__init__"],
    ],
    "attention": [
        ["masks", "encodings", "norm", "reference", "transforms", "context_parallel", "checkpoint"],
        ["score_terms", "backend_selection", "visibility", "cache_positions"],
        ["blocked", "flex", "cache"],
        ["plan", "generation"],
        ["attend"],
        ["layers", "pooling"],
        ["decoder"],
        ["__init__"],
    ],
    "inspection": [
        ["records"],
        ["gguf_header"],
        ["files"],
        ["reader"],
        ["families"],
        ["parts", "gguf_translation"],
        ["findings"],
        ["inspect"],
        ["comparison", "figure"],
        ["extension", "memory"],
    ],
    "position": [
        ["base", "protocols", "frequencies", "axes", "index_orders"],
        ["indices"],
        ["rotary"],
        ["additive", "temperature"],
        ["bias"],
        ["remapping"],
        ["catalogue"],
    ],
    "verify": [
        ["limits", "verdict", "precision", "references"],
        ["resolve", "observation"],
        ["adapters"],
        ["properties", "faults"],
        ["diagnosis"],
        ["checker"],
        ["checks"],
        ["model"],
        ["peers", "isolation"],
    ],
}

# Same-row imports that are wanted, with the reason.
EXCEPTIONS = {
    ("sweep", "lab"): "the sweep draws with the charts of the lab, which knows nothing of sweeps",
}

FILES = sorted(SOURCE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


@cache
def imports(name: str) -> frozenset[str]:
    """The modules of this package that the module `name` imports, anywhere in its file."""
    result = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno} imports relatively"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                result.add(inner if inner in MODULES else str(node.module))
    return frozenset(module for module in result if module in MODULES and module not in {name, "ordinate"})


def package(name: str) -> str:
    return name.split(".")[1] if "." in name else "__init__"


def row(layers: list[list[str]], name: str) -> int | None:
    return next((number for number, names in enumerate(layers) if name in names), None)


def test_every_package_has_a_layer():
    assert {package(name) for name in MODULES} - {"__init__"} == {name for names in LAYERS for name in names}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_run_downwards_between_packages(name):
    here = package(name)
    for other in imports(name):
        there = package(other)
        if here in (there, "__init__") or (here, there) in EXCEPTIONS:
            continue
        assert row(LAYERS, there) < row(LAYERS, here), f"{name} imports {other}"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_run_downwards_inside_packages(name):
    layers = INSIDE.get(package(name), [])
    part = name.split(".")[2] if name.count(".") > 1 else "__init__"
    here = row(layers, part)
    for other in imports(name):
        if here is None or package(other) != package(name):
            continue
        inner = other.split(".")[2] if other.count(".") > 1 else "__init__"
        there = row(layers, inner)
        assert inner == part or there is None or there < here, f"{name} imports {other}"


def test_no_module_is_part_of_an_import_circle():
    result = circles({name: set(imports(name)) for name in sorted(MODULES)})
    assert not result, "\n".join(" -> ".join(circle) for circle in result)


def test_the_search_for_circles_sees_them():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_the_reader_of_imports_sees_those_inside_functions():
    assert "ordinate.cli.tables" in imports("ordinate.cli.inspect")
