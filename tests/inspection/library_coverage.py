"""Which model types of transformers have a row, which hold only parts, and which are still unknown; run it for the report."""

from __future__ import annotations

from ordinate.inspection.families import family_of, library

__all__ = ["coverage"]


def coverage() -> dict[str, list[str]]:
    """Model types by what is known of their position code: "read", "parts" or "unknown"."""
    result: dict[str, list[str]] = {"read": [], "parts": [], "unknown": []}
    for model_type in library():
        family = family_of(model_type)
        known = family is not None and bool(family.stacks)
        result["read" if known else "parts" if family is not None and family.parts else "unknown"].append(model_type)
    return result


if __name__ == "__main__":
    for name, types in coverage().items():
        print(f"{name}: {len(types)}")
    print("\n".join(coverage()["unknown"]))
