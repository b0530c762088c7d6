"""The pytest plugin: a fixture `verify_position`, so that a project holds its own code to the laws in three lines.

    def test_rotary(verify_position):
        from mypackage.rope import apply_rotary
        verify_position.rotary(apply_rotary, head_dim=128, base=500000.0)

It is loaded by every pytest in an environment that has this package, so it imports nothing heavy before the fixture is used.
"""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["PositionChecks", "verify_position"]


class PositionChecks:
    """The checks as methods; each fails the test with the verdict's own words, and returns the verdict where all is well.

    `expected_failures` names properties that are known to fail (each with a sentence why), so that only new faults break a
    build; one that no longer fails breaks it too.
    """

    def _held(self, kind: str, subject: Any, expected_failures: dict[str, str] | None, settings: dict[str, Any]) -> Any:
        from ordinate import verify

        verdict = getattr(verify, f"check_{kind}")(subject, **settings)
        known = set(expected_failures or ())
        failed = {outcome.id for outcome in verdict.failed}
        if mended := known - failed:
            pytest.fail(f"expected to fail, and hold: {', '.join(sorted(mended))}\n{verdict}", pytrace=False)
        if failed - known:
            pytest.fail(str(verdict), pytrace=False)
        return verdict

    def rotary(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_rotary`."""
        return self._held("rotary", subject, expected_failures, settings)

    def bias(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_bias`."""
        return self._held("bias", subject, expected_failures, settings)

    def embedding(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_embedding`."""
        return self._held("embedding", subject, expected_failures, settings)

    def attention(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_attention`."""
        return self._held("attention", subject, expected_failures, settings)

    def decoder(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_decoder`."""
        return self._held("decoder", subject, expected_failures, settings)

    def model(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_model`."""
        return self._held("model", subject, expected_failures, settings)

    def axial(self, subject: Any, *, expected_failures: dict[str, str] | None = None, **settings: Any) -> Any:
        """As `ordinate.verify.check_axial`."""
        return self._held("axial", subject, expected_failures, settings)


@pytest.fixture
def verify_position() -> PositionChecks:
    """Hold position code to its laws: `verify_position.rotary(fn)`, `.bias`, `.embedding`, `.attention`, `.decoder` ..."""
    return PositionChecks()
