"""How the sources are built: lines and modules by part, modules with one importer, circles, public names without an example.

    python bench/structure.py [--source src/ordinate] [--list]

Nothing is imported: files are parsed. An import counts wherever it stands, inside functions and under TYPE_CHECKING too. A
module that its package's `__init__` exports and no other imports is not counted as one with a single importer. The last line is
JSON.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter, defaultdict
from pathlib import Path


def modules(source: Path) -> dict[str, Path]:
    result = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        result[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return result


def imports(tree: ast.AST, names: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports."""
    result = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                result.add(inner if inner in names else str(node.module))
    return {name for name in result if name in names}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    result: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            component = [stack.pop()]
            while component[-1] != name:
                component.append(stack.pop())
            if len(component) > 1:
                result.append(sorted(component))

    for name in graph:
        if name not in index:
            visit(name)
    return result


def without_example(tree: ast.Module) -> list[str]:
    """The functions and classes of `__all__` that are defined here and whose docstring has no example."""
    public: set[str] = set()
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets) and node.value is not None:
            public = {item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant)}
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [
        node.name
        for node in tree.body
        if isinstance(node, kinds) and node.name in public and ">>>" not in (ast.get_docstring(node) or "")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=Path(__file__).resolve().parents[1] / "src" / "ordinate")
    parser.add_argument(
        "--list", action="store_true", help="also name the modules with one importer, and the names without an example"
    )
    options = parser.parse_args()
    names = modules(options.source)
    trees = {name: ast.parse(path.read_text()) for name, path in names.items()}
    graph = {name: imports(tree, names) - {name, options.source.name} for name, tree in trees.items()}
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for name, others in graph.items():
        for other in others:
            importers[other].add(name)

    def part(name: str) -> str:
        return name.split(".")[1] if "." in name else "(top)"

    packages = {name for name, path in names.items() if path.name == "__init__.py"}
    lines = Counter({name: len(path.read_text().splitlines()) for name, path in names.items()})
    # a module that only its own package's __init__ imports is a public module that the package exports
    single = sorted(
        name
        for name in names
        if name not in packages and len(importers[name]) == 1 and importers[name] != {name.rpartition(".")[0]}
    )
    bare = {name: missing for name, tree in trees.items() if (missing := without_example(tree))}
    rings = circles(graph)
    rows = []
    for this in sorted(
        {part(name) for name in names}, key=lambda this: -sum(lines[name] for name in names if part(name) == this)
    ):
        mine = [name for name in names if part(name) == this]
        rows.append(
            (
                this,
                sum(lines[name] for name in mine),
                len(mine),
                sum(part(name) == this for name in single),
                sum(part(ring[0]) == this for ring in rings),
                sum(len(bare.get(name, ())) for name in mine),
            )
        )
    rows.append(("total", *(sum(row[column] for row in rows) for column in range(1, 6))))
    heads = ("part", "lines", "modules", "one importer", "circles", "no example")
    for row in (heads, *rows):
        print(f"{row[0]:<15}" + "".join(f"{value:>14,}" if isinstance(value, int) else f"{value:>14}" for value in row[1:]))
    for ring in rings:
        print("circle: " + ", ".join(ring))
    if options.list:
        for name in single:
            print(f"one importer: {name} <- {next(iter(importers[name]))}")
        for name, missing in bare.items():
            print(f"no example: {name}: {', '.join(missing)}")
    print(json.dumps({"parts": [dict(zip(heads, row, strict=True)) for row in rows]}))


if __name__ == "__main__":
    main()
