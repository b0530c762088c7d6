"""Tables that ship with scikit-learn and river: grown and trained circuits are above a stump on the same rows, and C agrees."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ordinate.logic import LogicClassifier


def river(name: str) -> tuple[Any, Any]:
    datasets = pytest.importorskip("river.datasets", reason="no river here (pip install river)")
    rows = list(getattr(datasets, name)())
    return np.array([list(map(float, x.values())) for x, _ in rows]), np.array([str(y) for _, y in rows])


def table(name: str) -> tuple[Any, Any]:
    loaders = {"breast cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
    return loaders[name](return_X_y=True) if name in loaders else river(name)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("breast cancer", "grown"),
        ("wine", "trained"),
        ("digits", "trained"),
        ("Phishing", "grown"),
        ("ImageSegments", "trained"),
    ],
)
def test_a_circuit_is_above_a_stump_and_its_c_answers_alike(name: str, method: str, tmp_path: Path) -> None:
    x, y = table(name)
    order = np.random.default_rng(0).permutation(len(x))
    learned, tested = order[: len(x) * 3 // 4], order[len(x) * 3 // 4 :]
    options = {"gates": 30} if method == "grown" else {"gates": 600, "epochs": 12, "thresholds": "learned"}
    classifier = LogicClassifier(method, bits_per_feature=3, **options).fit(x[learned], y[learned])
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(x[learned], y[learned])
    assert classifier.score(x[tested], y[tested]) > stump.score(x[tested], y[tested])
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here")
    (tmp_path / "net.c").write_text(classifier.circuit_.to_c("net", dtype="float64"))
    subprocess.run(["gcc", "-O1", "-Dnet_MAIN", "net.c", "-o", "net"], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "net"], input=x.astype("<f8").tobytes(), capture_output=True, check=True).stdout
    found = [int(line.split()[0]) for line in said.splitlines()]
    assert classifier.classes_[found].tolist() == classifier.predict(x).tolist()


def test_a_pipeline_scales_before_thresholds_are_made() -> None:
    x, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LogicClassifier(gates=20)).fit(x[::2], y[::2])
    assert pipeline.score(x[1::2], y[1::2]) > 0.8
