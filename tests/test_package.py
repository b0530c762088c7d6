"""Rules of the whole package: light commands stay light, errors are of the package, examples and documents run."""

import ast
import doctest
import importlib
import pickle
import pkgutil
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ordinate
from ordinate import errors
from ordinate.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "ordinate"

FILES = sorted(SOURCE.rglob("*.py"))


def run(*command: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=120, check=True, **options)


@pytest.mark.parametrize(
    "command", ["import ordinate", "import ordinate.cli.app", "import ordinate.spec, ordinate.frequencies"]
)
def test_light_imports_bring_in_nothing_heavy(command):
    heavy = "{'torch', 'numpy', 'matplotlib', 'jinja2', 'scipy', 'sklearn', 'joblib', 'numba', 'transformers'}"
    out = run("-c", f"{command}; import sys; print(sorted({heavy} & set(sys.modules)))").stdout
    assert out.strip() == "[]"


def test_names_of_the_top_level_are_those_of_the_packages_and_typed():
    declared = {}
    for node in ast.walk(ast.parse((SOURCE / "__init__.py").read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("ordinate."):
            declared |= {alias.asname: node.module for alias in node.names}
    assert declared == {name: f"ordinate.{home}" for name, home in ordinate._HOMES.items()}
    assert not {path.stem if path.suffix else path.name for path in SOURCE.iterdir()} & set(declared)
    for name, home in declared.items():
        assert getattr(ordinate, name) is getattr(importlib.import_module(home), name)
        assert name in importlib.import_module(home).__all__
        assert name in dir(ordinate)
    with pytest.raises(AttributeError, match="has no attribute 'Rotery'"):
        _ = ordinate.Rotery


def test_every_exported_name_has_an_example():
    """Of the top level and of the packages that users import from; a class may have it in one of its methods."""
    packages = ["position", "attention", "inspection", "verify", "reservoir", "logic", "lab", "sweep"]
    homes = {name: f"ordinate.{home}" for name, home in ordinate._HOMES.items()}
    exported = [(home, name) for name, home in homes.items()]
    for package in (importlib.import_module(f"ordinate.{name}") for name in packages):
        exported += [(package.__name__, name) for name in getattr(package, "__all__", [])]
    bare = set()
    for home, name in exported:
        thing = getattr(importlib.import_module(home), name)
        members = vars(thing).values() if isinstance(thing, type) else ()
        if isinstance(thing, type) or (callable(thing) and hasattr(thing, "__code__")):
            texts = [thing.__doc__, *(getattr(member, "__doc__", None) for member in members)]
            if not any(">>>" in str(text) for text in texts):
                bare.add(f"{home}.{name}")
    assert bare == set()


@pytest.mark.parametrize("use", ["dir(ordinate)", "ordinate.inspect_config", "hasattr(ordinate, 'nothing')", "ordinate.YaRN"])
def test_a_name_of_the_top_level_brings_in_no_more_than_it_needs(use):
    assert run("-c", f"import ordinate, sys; {use}; print('torch' in sys.modules)").stdout == "False\n"


def test_every_error_says_argument_expectation_and_remedy_and_survives_a_process_boundary():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.OrdinateError)]
    assert len(kinds) > 8
    for kind in kinds:
        raised = kind("width", expected="an even number", got=7, hint="pass 8")
        assert str(raised) == "width: expected an even number, got 7; pass 8"
        again = pickle.loads(pickle.dumps(raised))
        assert type(again) is kind
        assert str(again) == str(raised)
        assert (again.argument, again.expected, again.got, again.hint) == ("width", "an even number", 7, "pass 8")


def test_every_raise_is_of_an_error_of_the_package():
    """No bare ValueError and the like, which would say neither what was expected nor what to do.

    Private functions, and the body of a `try`, may raise a built-in error for the code around them, which words it.
    """
    own = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    allowed = own | {"NotImplementedError", "SystemExit", "KeyboardInterrupt", "Exit", "AttributeError"}
    allowed |= {"BadParameter"}  # of typer: wrong use of an option
    allowed |= {"Unsupported"}  # of verify: an answer about a subject, caught by whoever asks
    for path in FILES:
        tree = ast.parse(path.read_text())
        private = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("_")]
        tried = [child for node in ast.walk(tree) if isinstance(node, ast.Try) for child in node.body]
        inside = {id(child) for node in (*private, *tried) for child in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                called = node.exc.func
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                caught = name in ("ValueError", "TypeError") and id(node) in inside
                fine = caught or name in allowed or not name[:1].isupper()
                assert fine, f"{path.relative_to(SOURCE)}:{node.lineno} raises {name}"


def test_nothing_reads_or_writes_pickles_or_runs_text_from_a_file():
    modules = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
    calls = {"eval", "exec"}
    in_memory = (
        SOURCE / "verify" / "properties" / "rotary.py"
    )  # that a module of the user survives pickling is one of the properties
    for path in set(FILES) - {in_memory}:
        for node in ast.walk(ast.parse(path.read_text())):
            place = f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import):
                assert not {alias.name.split(".")[0] for alias in node.names} & modules, place
            elif isinstance(node, ast.ImportFrom):
                assert str(node.module).split(".")[0] not in modules, place
            elif isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in calls, place
                assert called not in ("joblib.load", "yaml.load"), place
                if called == "torch.load":  # tensors alone: nothing in the file is run
                    assert {k.arg: ast.unparse(k.value) for k in node.keywords}["weights_only"] == "True", place
                if called in ("np.load", "numpy.load"):
                    assert {k.arg: ast.unparse(k.value) for k in node.keywords}.get("allow_pickle", "False") == "False", place


def module_names() -> list[str]:
    return sorted(found.name for found in pkgutil.walk_packages(ordinate.__path__, "ordinate.") if "__main__" not in found.name)


def source_of(name: str) -> str:
    place = SOURCE.joinpath(*name.split(".")[1:])
    return (place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py").read_text()


@pytest.mark.parametrize("name", [name for name in module_names() if ">>>" in source_of(name)])
def test_docstring_examples_run(name):
    module = importlib.import_module(name)
    names = {}
    if "torch" in sys.modules:
        names["torch"] = sys.modules["torch"]
    result = doctest.testmod(module, extraglobs=names)
    assert result.failed == 0
    assert result.attempted


def test_public_classes_and_functions_have_docstrings():
    for name in module_names():
        module = importlib.import_module(name)
        assert module.__doc__, name
        for public in getattr(module, "__all__", []):
            thing = getattr(module, public)
            if callable(thing) and getattr(thing, "__module__", "").startswith("ordinate"):
                assert thing.__doc__, f"{name}.{public}"


MADE = {"api", "commands", "project"}  # written by docs/conf.py
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name not in MADE]
TUTORIALS = [path for path in PAGES if path.parent.name == "tutorials"]  # followed by tests/test_tutorials.py
DOCUMENTS = [ROOT / "README.md", *(path for path in PAGES if path not in TUTORIALS)]


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_examples_in_documents_run(path, monkeypatch):
    """Plain blocks run as they stand; those with prompts follow each other and must also print what they show."""
    monkeypatch.chdir(ROOT)
    names = {}
    for block in blocks(path, "python"):
        if block.startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(block, names, path.name, str(path), 0)
            assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
            names = example.globs
        else:
            exec(compile(block, str(path), "exec"), {})


def commands(path: Path, program: str) -> list[list[str]]:
    lines = [line for block in blocks(path, "sh") for line in block.replace("\\\n", " ").splitlines()]
    return [words for line in lines if (words := shlex.split(line, comments=True))[:1] == [program]]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_documents_exist_with_the_options_shown(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {word for words in commands(path, "make") for word in words[1:]} <= targets
    for words in commands(path, "ordinate"):
        group = words[1:2] in (["reservoir"], ["logic"])  # these hold commands of their own
        name = [word for word in words[1 : 3 if group else 2] if not word.startswith("-")]
        help_text = help_of(*name)
        for option in (word.split("=")[0] for word in words[1:] if word.startswith("--")):
            assert option in help_text, f"{shlex.join(words)}: {option}"


@cache
def help_of(*command: str) -> str:
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0, command
    return result.stdout


def test_commands_in_the_readme_run(tmp_path, monkeypatch):
    """In a folder that holds the one file they speak of. Exit 1 (findings) is an answer, 2 is not."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.json").write_text((ROOT / "docs" / "examples" / "model.json").read_text())
    examples = commands(ROOT / "README.md", "ordinate")
    assert examples
    for words in examples:
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code in (0, 1), f"{shlex.join(words)}\n{result.stderr}"
        assert result.output, shlex.join(words)


def test_the_readme_shows_what_the_commands_print(monkeypatch):
    monkeypatch.chdir(ROOT / "docs" / "examples")
    shown = re.findall(r"^```console\n\$ ordinate (.*)\n((?:.*\n)*?)```", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(shown) > 3
    for command, printed in shown:
        assert CliRunner().invoke(app, shlex.split(command)).stdout == printed, command


def test_the_japanese_readme_has_the_same_blocks_and_links():
    english, japanese = (ROOT / name for name in ("README.md", "README.ja.md"))
    for language in ("sh", "python", "console", "text"):
        assert blocks(japanese, language) == blocks(english, language)
    links = [
        sorted(set(re.findall(r"\]\(([^)]+)\)", path.read_text())) - {"README.md", "README.ja.md"})
        for path in (english, japanese)
    ]
    assert links[0] == links[1]
    assert len(re.findall(r"^## ", english.read_text(), re.MULTILINE)) == len(
        re.findall(r"^## ", japanese.read_text(), re.MULTILINE)
    )


OF_THE_ROOT = [ROOT / "README.ja.md", ROOT / "DESIGN.md", ROOT / "CONTRIBUTING.md"]


@pytest.mark.parametrize("path", [*DOCUMENTS, *TUTORIALS, *OF_THE_ROOT], ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
        made = (path.parent / target).resolve().relative_to(ROOT).parts[1:2] if not target.startswith("http") else ()
        assert target.startswith(("http://", "https://")) or (path.parent / target).exists() or {*made} & MADE, target


def test_the_layout_in_the_design_names_every_package_and_no_other():
    (layout,) = (block for block in blocks(ROOT / "DESIGN.md", "text") if "articles/" in block)
    named = set(re.findall(r"^([a-z_]+)/|  ([a-z_]+)/(?= )", layout, re.MULTILINE))
    first_columns = {name for pair in named for name in pair if name}
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert packages - first_columns <= {"embedded"}
    assert first_columns <= packages
