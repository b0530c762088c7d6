"""One section of a config, read strictly: a key gives a value with its path, a family default, or "unknown" with the reason.

Configs come from strangers. A string where a number belongs, a NaN, a context of minus one: each becomes a finding of the
section and is read as unknown, never raised and never guessed. `null` is the same as absent everywhere. A GGUF header is read
through the same class: its keys are translated first, and `sources` says which GGUF key or tensor each value came from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ordinate.inspection.records import Finding, Severity, Source, Value, unknown

__all__ = ["TOKENS_LIMIT", "Findings", "Section", "is_listed"]

TOKENS_LIMIT = 10**9
"""No context or table of a real model reaches this."""

WIDTH_LIMIT = 2**18
"""No width of a real model reaches this; a frequency schedule has half as many entries, so it is worth a bound."""


OLDER_SPELLINGS = frozenset(
    {
        *("partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_fraction", "rotary_emb_fraction", "rotary_dim"),
        *("rotary_emb_base", "rotary_base", "rope_base", "rotary_embedding_base", "rope_freq_constant"),
    }
)
"""Keys for the share of channels that turn and for the base, of which a family's code reads few and ignores the rest."""


class Findings(list[Finding]):
    """The findings of one reading, each once; a reader returns them beside what it read."""

    def note(self, name: str, severity: Severity, message: str, evidence: Mapping[str, Any], hint: str) -> None:
        """Keep a finding, unless the very same stands there already."""
        finding = Finding(name, severity, message, dict(evidence), hint)
        if finding not in self:
            self.append(finding)


@dataclass
class Section:
    """A dictionary of the file with its path and the defaults of the family that reads it.

    Args:
        raw: the dictionary.
        path: where it stands in the file, "" for the top level.
        defaults: what the family's code takes where a key is missing.
        origin: whose defaults these are.
        findings: what was wrong with the keys read so far, each once.
        sources: source and detail by path, for keys that were translated from another format.
        loader: whose habits apply where the file is silent.
        spellings: which of the older keys of a share or a base the family's code reads; None where it takes any.
        assumed: what no family confirms: nothing, what the file leaves out ("gaps"), or the meaning of its keys too ("all").
    """

    raw: Mapping[str, Any]
    path: str
    defaults: Mapping[str, Any]
    origin: str
    findings: Findings = field(default_factory=Findings)
    sources: Mapping[str, tuple[Source, str]] = field(default_factory=dict)
    loader: str = "transformers"
    spellings: frozenset[str] | None = None
    assumed: Literal["", "gaps", "all"] = ""

    def note(self, name: str, severity: Severity, message: str, evidence: Mapping[str, Any], hint: str) -> None:
        """Keep a finding about this section."""
        self.findings.note(name, severity, message, evidence, hint)

    def at(self, key: str) -> str:
        """The path of a key of this section, in the words of the file's own format."""
        path = f"{self.path}.{key}" if self.path else key
        return self.sources[path][1] if path in self.sources else path

    def of_layer(self, index: int, count: int, *keys: str) -> Section:
        """The section as one layer sees it: of `keys` that list a value for each of `count` layers, that of layer `index`."""
        listed = {key: self.raw[key] for key in keys if is_listed(self.raw.get(key), count)}
        if not listed:
            return self
        sources = dict(self.sources)
        for key in listed:
            path = f"{self.path}.{key}" if self.path else key
            source, detail = sources.get(path, ("file", path))
            sources[path] = (source, f"{detail}[{index}]")
        raw = {**self.raw, **{key: values[index] for key, values in listed.items()}}
        return replace(self, raw=raw, sources=sources)

    def find(self, *keys: str) -> tuple[str, Any] | None:
        """The first of `keys` (dots descend) that is present and not null, with what stands there."""
        for key in keys:
            value: Any = self.raw
            for step in key.split("."):
                value = value.get(step) if isinstance(value, Mapping) else None
            if value is not None:
                return key, value
        return None

    def has(self, *keys: str) -> bool:
        """Whether one of `keys` is present and not null."""
        return self.find(*keys) is not None

    def sub(self, key: str) -> Section | None:
        """The section under `key`, where a dictionary stands."""
        value = self.raw.get(key)
        if not isinstance(value, Mapping):
            return None
        default = self.defaults.get(key)
        defaults = default if isinstance(default, Mapping) else {}
        path = f"{self.path}.{key}" if self.path else key
        return replace(self, raw=value, path=path, defaults=defaults)

    def dictionary_expected(self, key: str) -> None:
        """Note that `key` holds something else than the dictionary it should."""
        self._wrong_type(self.at(key), self.raw[key], "a dictionary")

    def integer(self, *keys: str, least: int = 1, most: int = TOKENS_LIMIT) -> Value:
        """A whole number in [least, most]."""
        return self._read(keys, lambda path, value: self._whole(path, value, least, most), _is_whole)

    def width(self, *keys: str, least: int = 1) -> Value:
        """A number of channels, heads or the like."""
        return self.integer(*keys, least=least, most=WIDTH_LIMIT)

    def number(self, *keys: str, least: float = -math.inf, above: float = -math.inf, most: float = math.inf) -> Value:
        """A finite number, at least `least`, greater than `above` and at most `most`."""
        return self._read(keys, lambda path, value: self._finite(path, value, least, above, most), _is_finite)

    def flag(self, *keys: str) -> Value:
        """A boolean."""
        return self._read(keys, self._boolean, lambda value: isinstance(value, bool))

    def text(self, *keys: str) -> Value:
        """A string."""
        return self._read(keys, self._string, lambda value: isinstance(value, str))

    def numbers(self, *keys: str) -> Value:
        """A list of finite numbers."""
        return self._read(keys, self._list, lambda value: isinstance(value, list | tuple))

    def strings(self, *keys: str) -> Value:
        """A list of strings."""
        return self._read(keys, self._strings, lambda value: isinstance(value, list))

    def _read(self, keys: Iterable[str], take: Callable[[str, Any], Any], fits: Callable[[Any], bool]) -> Value:
        for key in keys:
            present = self.find(key)
            if present is not None:
                value = take(self.at(key), present[1])
                if value is None:
                    return unknown(f"{self.at(key)} holds no usable value")
                return Value(value, self._source(key), self.at(key))
        for key in keys:
            default: Any = self.defaults
            for step in key.split("."):
                default = default.get(step) if isinstance(default, Mapping) else None
            if fits(default):
                return Value(default, "family", f"default of {self.origin} for {key}")
        return unknown(f"no {' or '.join(keys)} in the file, and no default")

    def _source(self, key: str) -> Source:
        path = f"{self.path}.{key}" if self.path else key
        if path in self.sources:
            return self.sources[path][0]
        return "assumed" if self.assumed == "all" else "file"

    def reads(self, key: str) -> bool:
        """Whether the family's code reads this older key."""
        return self.spellings is None or key in self.spellings or key not in OLDER_SPELLINGS

    def note_ignored(self, ignored: Mapping[str, Any], taken: Any) -> None:
        """Note the older keys that the family's code ignores and that say something else than what it takes."""
        differing = {path: value for path, value in ignored.items() if value != taken}
        if differing:
            self.note(
                "spelling-ignored",
                "warning",
                f"{' and '.join(sorted(differing))} without effect: the code of {self.origin} does not read it",
                differing,
                "write the key that the family reads, or leave this one out",
            )

    def _whole(self, path: str, value: Any, least: int, most: int) -> int | None:
        number = self._as_number(path, value)
        if number is None:
            return None
        if number != int(number):
            self._wrong_range(path, value, "a whole number")
            return None
        if not least <= number <= most:
            self._wrong_range(path, value, f"a whole number from {least} to {most}")
            return None
        return int(number)

    def _finite(self, path: str, value: Any, least: float, above: float, most: float) -> float | None:
        number = self._as_number(path, value)
        if number is None:
            return None
        if number < least or number <= above:
            bound = f"above {above:g}" if above != -math.inf else f"of {least:g} or more"
            self._wrong_range(path, value, f"a number {bound}")
            return None
        if number > most:
            self._wrong_range(path, value, f"a number of at most {most:g}")
            return None
        return number

    def _as_number(self, path: str, value: Any) -> Any:
        if isinstance(value, str):
            try:
                number = float(value)
            except ValueError:
                self._wrong_type(path, value, "a number")
                return None
            if not math.isfinite(number):
                self._wrong_type(path, f'the text "{value}"', "a number")
                return None
            self.note(
                "number-as-text",
                "warning",
                f"{path} is a number written as text",
                {path: value},
                "write it without quotes; some readers refuse text, some multiply it",
            )
            value = number
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._wrong_type(path, value, "a number")
            return None
        try:
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        if not finite:
            self._wrong_range(path, value if isinstance(value, float) else "an integer past 1e308", "a finite number")
            return None
        return value

    def _boolean(self, path: str, value: Any) -> bool | None:
        if isinstance(value, bool):
            return value
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        self._wrong_type(path, value, "true or false")
        return None

    def _string(self, path: str, value: Any) -> str | None:
        if isinstance(value, str):
            return value
        self._wrong_type(path, value, "text")
        return None

    def _list(self, path: str, value: Any) -> list[float] | None:
        if not isinstance(value, list) or not all(_is_finite(item) for item in value):
            self._wrong_type(path, value, "a list of finite numbers")
            return None
        return list(value)

    def _strings(self, path: str, value: Any) -> list[str] | None:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._wrong_type(path, value, "a list of names")
            return None
        return list(value)

    def _wrong_type(self, path: str, value: Any, expected: str) -> None:
        self.note(
            "wrong-type",
            "error",
            f"{path} should be {expected}, not {type(value).__name__}",
            {path: _short(value)},
            "correct the file; what depends on it is unknown here",
        )

    def _wrong_range(self, path: str, value: Any, expected: str) -> None:
        self.note(
            "out-of-range",
            "error",
            f"{path} should be {expected}, not {_short(value)}",
            {path: _short(value)},
            "correct the file; what depends on it is unknown here",
        )


def is_listed(value: Any, count: int) -> bool:
    """Whether `value` lists something for each of `count` layers."""
    return isinstance(value, list) and len(value) >= count > 0


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _short(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**18:
        return f"an integer of {len(str(value)) if abs(value) < 10**4000 else 'thousands of'} digits"
    if isinstance(value, str | list | dict):
        text = str(value)
        return value if len(text) <= 80 else text[:77] + "..."
    return value
