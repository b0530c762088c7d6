"""The wheel alone is enough: built, installed where the repository is not, and `ordinate lab A3` runs from it."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import venv
import zipfile
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
