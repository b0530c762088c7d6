"""The pytest plugin: a fixture `verify_position`, with which a project checks its own position code in three lines.

    def test_rotary(verify_position):
        from mypackage.rope import apply_rotary
        verify_position.rotary(apply_rotary, head_dim=128, base=500000.0)

pytest loads it by itself in every environment that has this package (entry point `pytest11`), so it imports nothing heavy
before the fixture is used; `-p no:ordinate` keeps it out.
"""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["PositionChecks", "verify_position"]


class PositionChecks:
    """The checks as methods; each fails the test with the verdict as its message, and returns the verdict where it passes.

    `expected_failures` names properties that are known to fail (each with a sentence why), so that only new faults break a
    build; one that no longer fails breaks it too.
    """

    def _check(self, kind: str, subject: Any, expected_failures: dict[str, str] | None, settings: dict[str, Any]) -> Any:
        from ordinate import verify

        verdict = getattr(verify, f"check_{kind}")(subject, **settings)
        new, passed = verdict.against_expected(expected_failures or ())
        if passed:
            pytest.fail(f"expected to fail, but passed: {', '.join(passed)}\n{verdict}", pytrace=False)
        if new or not (expected_failures or verdict.passed):
            pytest.fail(str(verdict), pytrace=False)
        return verdict

    def rotary(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_rotary`."""
        return self._check("rotary", subject, expected_failures, settings)

    def bias(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_bias`."""
        return self._check("bias", subject, expected_failures, settings)

    def embedding(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_embedding`."""
        return self._check("embedding", subject, expected_failures, settings)

    def attention(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_attention`."""
        return self._check("attention", subject, expected_failures, settings)

    def decoder(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_decoder`."""
        return self._check("decoder", subject, expected_failures, settings)

    def model(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_model`."""
        return self._check("model", subject, expected_failures, settings)

    def positions(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_positions`."""
        return self._check("positions", subject, expected_failures, settings)

    def axial(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_axial`."""
        return self._check("axial", subject, expected_failures, settings)


@pytest.fixture
def verify_position() -> PositionChecks:
    """Check position code: `verify_position.rotary(fn)`, `.bias`, `.embedding`, `.attention`, `.decoder` ..."""
    return PositionChecks()
