"""The wheel alone is enough: built, installed where the repository is not, and `ordinate lab A3` runs from it.

The sdist holds everything that is needed to test and to document; both carry the metadata that an index wants.
"""

from __future__ import annotations

import ast
import json
import os
import re
import site
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run(*arguments: str | Path, cwd: Path) -> str:
    done = subprocess.run([*map(str, arguments)], cwd=cwd, env=CLEAN, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="building without a network needs hatchling in this environment")
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, REPOSITORY, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it; torch and the like are those of the environment the tests run in."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=os.name == "posix")
    binary = home / ("Scripts" if os.name == "nt" else "bin") / ("python.exe" if os.name == "nt" else "python")
    target = run(binary, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip()
    run(sys.executable, "-m", "pip", "--python", binary, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=home)
    borrowed = "\n".join(site.getsitepackages())  # paths only: the .pth files in there, which name the repository, are not read
    (Path(target) / "borrowed.pth").write_text(borrowed + "\n")
    return binary


def test_the_wheel_holds_what_the_lab_needs(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for needed in (
        "ordinate/py.typed",
        "ordinate/embedded/glove_6b_50d_11_words.txt",
        "ordinate/embedded/NOTICE.txt",
        "ordinate/lab/page/report.html.j2",
        "ordinate/lab/page/report.css",
        "ordinate/lab/page/animation.js",
        "ordinate/explore/page/explore.html",
        "ordinate/explore/page/digits.json",
    ):
        assert needed in names
    assert not [name for name in names if name.startswith(("tests", "bench"))]


def test_the_lab_runs_from_the_wheel_without_the_repository(python: Path, tmp_path: Path) -> None:
    where = run(python, "-c", "import ordinate; print(ordinate.__file__)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(python.parents[1])
    assert not Path(where).is_relative_to(REPOSITORY)
    rows = json.loads(run(python.with_name("ordinate"), "lab", "A3", "--json", cwd=tmp_path))
    assert [row["verdict"] for row in rows] == ["reproduced"]
    assert (tmp_path / "report" / "index.html").is_file()


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="building without a network needs hatchling in this environment")
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, REPOSITORY, cwd=folder)
    (built,) = folder.glob("*.tar.gz")
    return built


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path_factory.mktemp("unpacked"), filter="data")
    return next(tmp_path_factory.getbasetemp().glob("unpacked*/ordinate-*"))


def test_an_index_takes_both(wheel: Path, sdist: Path) -> None:
    pytest.importorskip("twine", reason="needs twine")
    assert run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist, cwd=wheel.parent).count("PASSED") == 2


def test_the_sdist_holds_what_the_repository_holds(unpacked: Path) -> None:
    """Every file that is not made: what git does not ignore, but for settings of git itself."""
    made = {"__pycache__", ".git", ".venv", "api", "commands", "project", "build", "dist", "report", ".pytest_cache"}
    for folder in ("src", "tests", "docs", "examples", "bench"):
        for path in (REPOSITORY / folder).rglob("*"):
            place = path.relative_to(REPOSITORY)
            if path.is_file() and not made & set(place.parts) and not path.name.startswith("."):
                assert (unpacked / place).is_file(), place
    for name in ("README.md", "README.ja.md", "CONTRIBUTING.md", "DESIGN.md", "CHANGELOG.md", "LICENSE", "Makefile", ".ci/run"):
        assert (unpacked / name).is_file(), name


@pytest.mark.slow
def test_tests_run_from_the_sdist_on_the_installed_wheel(python: Path, unpacked: Path) -> None:
    done = run(
        python, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "tests/test_shapes.py", "tests/test_encodings.py",
        "tests/frequencies", cwd=unpacked,
    )  # fmt: skip
    assert " passed" in done
    assert "failed" not in done


USER = """
import ordinate
from ordinate import Causal, Rotary, attend, inspect_config
from ordinate.position import indices

rotary: Rotary = Rotary(64, layout="half", base=10000.0)
reveal_type(rotary.rotate)
reveal_type(inspect_config({"model_type": "llama"}).layers)
reveal_type(attend)
mask = Causal()
ordinate.Rotery
Rotary("64", layout="half")
"""


@pytest.mark.slow
def test_types_are_seen_from_outside(python: Path, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir", "cache", "user.py"],
        cwd=tmp_path, env=CLEAN, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert len(revealed) == 3, done.stdout + done.stderr
    assert all(text != "Any" and "def (*Any" not in text for text in revealed)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 2, done.stdout
    assert "Rotery" in errors[0]
    assert "Argument 1" in errors[1]


def test_nothing_is_imported_that_the_metadata_does_not_name() -> None:
    """Outside of functions only what is required, or what is looked at by a type checker alone; inside also extras."""
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]

    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[\[<>=;! ]", one)[0].lower().replace("_", "-") for one in requirements}

    required = names(settings["dependencies"])
    extras = set().union(*(names(part) for part in settings["optional-dependencies"].values()))
    homes = packages_distributions()
    unnamed = {"click", "pysat", "mujoco", "flygym_demo", "imageio", "llvmlite"}  # a distribution of the metadata brings these
    subject = {"jax", "onnx", "yaml"}  # only where whoever is checked has them
    for path in sorted((REPOSITORY / "src").rglob("*.py")):
        tree = ast.parse(path.read_text())
        inside = {
            id(child)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.If | ast.Try)
            for child in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                tops = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                tops = {str(node.module).split(".")[0]}
            else:
                continue
            for top in tops - set(sys.stdlib_module_names) - {"ordinate"}:
                distributions = {name.lower().replace("_", "-") for name in homes.get(top, [top])}
                place = f"{path.relative_to(REPOSITORY)}:{node.lineno} imports {top}"
                compiled = top in ("numba", "llvmlite") and re.search(
                    "compiled|kernel|eight_images", path.name + path.parent.name
                )
                plugin = top == "pytest" and path.name == "plugin.py"  # which pytest alone imports
                if id(node) in inside or compiled or plugin:  # compiled loops are imported once numba is known to be there
                    assert distributions & (required | extras) or top in unnamed | subject, place
                else:
                    assert distributions & required, place
