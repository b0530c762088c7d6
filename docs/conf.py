"""Settings of the documentation site, and the pages that are made for it: one a command, one a package.

    make docs        # build/site/index.html; a warning is an error

The pages of commands hold what `--help` prints, the pages of packages the docstrings of the public names. Both are written into
`docs/commands` and `docs/api`, and files of the root into `docs/project`; git ignores all three.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import typer.main
from typer.core import TyperGroup

import ordinate
from ordinate.cli.app import app as program

HERE = Path(__file__).parent
ROOT = HERE.parent

project, release, author = "ordinate", ordinate.__version__, "the authors of ordinate"
project_copyright = f"2026, {author}"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns: list[str] = []
html_theme, html_title = "furo", f"ordinate {release}"
html_copy_source = html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
default_role = "code"  # docstrings write names in single backticks
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # blocks of what a command prints
autodoc_typehints = "none"  # the signature has them already
autodoc_member_order = "bysource"
napoleon_custom_sections = [("Source", "notes_style")]
nitpicky = False

PACKAGES = {
    "ordinate.position": "Position encodings",
    "ordinate.attention": "Attention",
    "ordinate.frequencies": "Frequencies and scaling",
    "ordinate.inspection": "Configs and GGUF headers",
    "ordinate.verify": "Checks of position code",
    "ordinate.lab": "Claims",
    "ordinate.sweep": "Train short, test long",
    "ordinate.reservoir": "Reservoirs",
    "ordinate.logic": "Logic-gate networks",
    "ordinate.data": "Data",
}
"""The packages that have a page, with its title. Names of a sub-package that the package itself does not export come after."""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each command and group of commands, with the help that it prints at 100 columns."""
    with command.make_context(" ".join(("ordinate", *path)), [], resilient_parsing=True, terminal_width=100) as context:
        yield path, command.get_help(context)
        for name in command.list_commands(context) if isinstance(command, TyperGroup) else ():
            yield from commands(command.get_command(context, name), (*path, name))


def write_commands(folder: Path) -> None:
    names = []
    for path, text in commands(typer.main.get_command(program)):
        name = "-".join(path) or "ordinate"
        title = " ".join(("ordinate", *path))
        (folder / f"{name}.md").write_text(f"# {title}\n\n```text\n{text}\n```\n")
        names.append(name)
    lines = ["# Commands", "", "What `--help` of each command prints.", "", "```{toctree}", ":maxdepth: 1", "", *names, "```"]
    (folder / "index.md").write_text("\n".join(lines) + "\n")


def write_project(folder: Path) -> None:
    """Files of the repository's root as pages; their links lead to pages where there is one, else to the file."""
    pages = {"DESIGN": "design", "CONTRIBUTING": "contributing", "CHANGELOG": "changelog", "README.ja": "ja"}

    def led(link: re.Match[str]) -> str:
        target = link[1]
        if target.startswith(("http://", "https://", "#")):
            return link[0]
        if target == "README.md":
            return "](../index.md)"
        if target.removesuffix(".md") in pages:
            return f"]({pages[target.removesuffix('.md')]}.md)"
        return f"](../{target.removeprefix('docs/')})" if target.startswith("docs/") else f"](../../{target})"

    for name, page in pages.items():
        text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
        (folder / f"{page}.md").write_text(re.sub(r"\]\(([^)\s]+)\)", led, text), encoding="utf-8")


def public(package: str) -> Iterator[tuple[str, list[str]]]:
    """The modules of a package that export names, the package first, each with the names not exported before."""
    seen: set[int] = set()

    def walk(name: str) -> Iterator[tuple[str, list[str]]]:
        module = import_module(name)
        fresh: list[str] = []
        for public_name in getattr(module, "__all__", ()):
            thing = getattr(module, public_name)
            here = getattr(thing, "__module__", "").startswith(f"{package}.")  # what comes from elsewhere has its page there
            if here and (isclass(thing) or isfunction(thing)) and id(thing) not in seen:
                seen.add(id(thing))
                fresh.append(public_name)
        yield name, fresh
        for inner in iter_modules(getattr(module, "__path__", ()), f"{name}."):
            if not inner.name.rpartition(".")[2].startswith("_"):
                yield from walk(inner.name)

    return walk(package)


def write_api(folder: Path) -> None:
    for package, title in PACKAGES.items():
        lines = [title, "=" * len(title), "", f".. automodule:: {package}", "   :no-members:", ""]
        for module, names in public(package):
            if module != package and names:
                lines += [module, "-" * len(module), ""]
            for name in names:
                thing = getattr(import_module(module), name)
                lines += [f".. auto{'class' if isclass(thing) else 'function'}:: {module}.{name}"]
                lines += ["   :members:", ""] if isclass(thing) else [""]
        (folder / f"{package.rpartition('.')[2]}.rst").write_text("\n".join(lines))
    entries = [f"   {package.rpartition('.')[2]}" for package in PACKAGES]
    head = ["Python API", "==========", "", "From the docstrings. Names of the top level, such as ``ordinate.Rotary``,"]
    head += ["stand under the package that defines them.", "", ".. toctree::", "   :maxdepth: 1", ""]
    (folder / "index.rst").write_text("\n".join(head + entries) + "\n")


def make_pages(app: Any) -> None:
    for name, write in (("commands", write_commands), ("api", write_api), ("project", write_project)):
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write(folder)


def escape(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with backticks: bars and stars mean nothing but themselves, outside of code."""
    example = literal = False
    for number, line in enumerate(lines):
        if not line.strip():
            example = False
            continue
        example = example or line.lstrip().startswith(">>>")
        literal = (literal and line.startswith(" ")) or (number > 1 and lines[number - 2].rstrip().endswith("::"))
        if not (example or literal):
            pieces = re.split(r"(`+[^`]*`+)", line)
            pieces[::2] = [re.sub(r"([|*]|_\b)", r"\\\1", piece) for piece in pieces[::2]]
            lines[number] = "".join(pieces)


def skip(app: Any, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> None:
    app.connect("builder-inited", make_pages)
    app.connect("autodoc-process-docstring", escape, priority=400)  # before napoleon reads the sections
    app.connect("autodoc-skip-member", skip)
