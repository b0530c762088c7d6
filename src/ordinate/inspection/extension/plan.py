"""How to run a model at a number of tokens: the judgement, the edit in every dialect, its cost, and the proof by re-reading.

An edit is only offered when the edited text, read again by `inspect_config`, gives the frequencies that were intended, with
bases, sections and partial factors as they were. Nothing is written here unless `write` is called.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ordinate.atomic_io import atomic_write, output_error
from ordinate.errors import ArgumentError, OrdinateError, OutputError, RefusedError
from ordinate.inspection.comparison import Agreement, agree
from ordinate.inspection.extension.dialects import (
    CONFIGS,
    Dialect,
    Spelling,
    llama_cpp,
    own_dialect,
    reads_scaling,
    releases,
    spell,
    vllm,
)
from ordinate.inspection.extension.editing import apply
from ordinate.inspection.extension.methods import Assessment, Method, Option, assess, far_layers, shown_base
from ordinate.inspection.files import Document, parse_config
from ordinate.inspection.inspect import inspect_config
from ordinate.inspection.records import Inspection, LayerKind, Rotation

__all__ = ["SCHEMA", "Cost", "Extension", "extend", "measure_cost", "write"]

SCHEMA = "ordinate.extension/1"
"""Name and version of what `Extension.to_dict` tells."""


@dataclass(frozen=True)
class Cost:
    """How a row inside the trained context is touched.

    Args:
        length: tokens of the row that was compared.
        pairs: rotated pairs.
        pairs_moved: those whose frequency changes by more than 1 %.
        largest_divisor: the largest ratio of a frequency before to the one after.
        score_factor: the factor on all scores, from cos and sin and beyond them, relative to before.
        agreement: the mean cosine between a key turned before and after, at powers of 4 of distance.
    """

    length: int
    pairs: int
    pairs_moved: int
    largest_divisor: float
    score_factor: float
    agreement: tuple[Agreement, ...]

    @property
    def untouched(self) -> bool:
        """Whether such a row is computed exactly as before."""
        return self.pairs_moved == 0 and math.isclose(self.score_factor, 1.0, rel_tol=1e-9)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "length": self.length,
            "pairs": self.pairs,
            "pairs_moved": self.pairs_moved,
            "largest_divisor": self.largest_divisor,
            "score_factor": self.score_factor,
            "agreement": [{"distance": each.distance, "cosine": each.cosine} for each in self.agreement],
        }


def measure_cost(before: Rotation, after: Rotation, length: int) -> Cost | None:
    """Compare the two on a row of `length` tokens; None where a side is unknown."""
    old, new = before.inverse_frequencies(length), after.inverse_frequencies(length)
    factors = [(rotation.cos_sin_factor, rotation.softmax_factor) for rotation in (before, after)]
    if old is None or new is None or len(old) != len(new) or None in factors[0] or None in factors[1]:
        return None
    divisors = [x / y if y else 1.0 for x, y in zip(old, new, strict=True)]
    scores = [cos_sin * cos_sin * softmax for cos_sin, softmax in factors if cos_sin is not None and softmax is not None]
    if not all(math.isfinite(number) for number in (*divisors, *scores)) or min(scores) <= 0:
        return None
    return Cost(
        length,
        len(old),
        sum(abs(divisor - 1) > 0.01 for divisor in divisors),
        max(divisors),
        scores[1] / scores[0],
        tuple(agree("", old, new, length)),
    )


@dataclass(frozen=True)
class Extension:
    """What running a model at `length` tokens takes.

    Args:
        source: the file's name.
        length: tokens wanted.
        before: the inspection of the file as it is.
        assessment: what it asks, and every method judged.
        chosen: the method that is spelled out; None where nothing is scaled.
        spellings: the edit in each dialect.
        own: the dialect the edit is made in, the file's own where that can say it; None where no edit reads back as meant.
        edited: the whole text after the edit; "" without one.
        after: the inspection of that text: the proof.
        proof: what was checked, in sentences.
        cost: what moves inside the trained context; None where nothing is scaled.
        cache_bytes: keys and values of one sequence of that length; None where unknown.

    >>> from ordinate.inspection import inspect_document
    >>> document = Document("config.json", None, {"model_type": "llama", "max_position_embeddings": 4096})
    >>> plan = extend(document, inspect_document(document), 2048)
    >>> plan.assessment.need, plan.chosen
    ('nothing', None)
    """

    source: str
    length: int
    before: Inspection
    assessment: Assessment
    chosen: Option | None
    spellings: tuple[Spelling, ...]
    own: Dialect | None
    edited: str
    after: Inspection | None
    proof: tuple[str, ...]
    cost: Cost | None
    cache_bytes: int | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; `docs/inspect.md` describes it."""
        layer = _stretched(self.before)
        after = None if self.after is None else _stretched(self.after)
        return {
            "schema": SCHEMA,
            "source": self.source,
            "length": self.length,
            "need": self.assessment.need,
            "why": self.assessment.why,
            "options": [
                {"method": option.method, "suits": option.suits, "why": option.why, "tuning": option.tuning}
                for option in self.assessment.options
            ],
            "chosen": None if self.chosen is None else self.chosen.method,
            "edits": {
                each.dialect: {"text": each.text or None, "refused": each.refused or None, "since": each.since or None}
                for each in self.spellings
            },
            "inverse_frequencies": {
                "before": _frequencies(layer, self.length),
                "after": _frequencies(after, self.length),
            },
            "cost_on_short_inputs": None if self.cost is None else self.cost.to_dict(),
            "cache_bytes": self.cache_bytes,
            "proof": list(self.proof),
            "after": None if self.after is None else self.after.to_dict(),
        }


def _frequencies(layer: LayerKind | None, length: int) -> list[float] | None:
    frequencies = layer.rotation.inverse_frequencies(length) if layer is not None and layer.rotation is not None else None
    return None if frequencies is None else list(frequencies)


def _stretched(inspection: Inspection) -> LayerKind | None:
    """The kind of layer whose rotation decides: the first that meets longer distances, or else the first that rotates."""
    turning = [layer for layer in inspection.layers if layer.rotation is not None]
    return next(iter(far_layers(inspection.main)), turning[0] if turning else None)


def extend(
    document: Document,
    before: Inspection,
    length: int,
    *,
    method: Method | None = None,
    trained: int | None = None,
) -> Extension:
    """Plan how to run a model at `length` tokens.

    Args:
        document: the file as `read_document` gave it.
        before: its inspection.
        length: tokens wanted.
        method: the way of stretching; by default the one that suits best.
        trained: tokens of the trained context, where the file's is known to be wrong.

    Raises:
        ArgumentError: a length that is no positive number of tokens.
        RefusedError: a method that does not suit this model.

    >>> from ordinate.inspection import inspect_document, read_document
    >>> import json, tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    ...     _ = file.write('{"model_type": "llama", "max_position_embeddings": 4096}')
    ...     file.flush()
    ...     document = read_document(file.name)
    >>> plan = extend(document, inspect_document(document), 16384, method="yarn")
    >>> json.loads(plan.edited)["rope_scaling"]["factor"], plan.after.contexts.claimed.value
    (4.0, 16384)
    """
    if length < 1 or (trained is not None and trained < 1):
        wrong = ("--to", length) if length < 1 else ("--trained", trained)
        raise ArgumentError(wrong[0], expected="a positive number of tokens", got=wrong[1], hint="for example 131072")
    assessment = assess(before.main, length, trained)
    cache = before.cache.bytes_at(length) if before.cache is not None else None
    if method is not None and assessment.need != "scaling" and not assessment.options:
        raise RefusedError("--method", expected="a model to stretch", got=assessment.why, hint="leave the method out")
    chosen = _choose(assessment, method)
    if assessment.need in ("nothing", "unscalable", "impossible"):
        return Extension(document.name, length, before, assessment, None, (), None, "", None, (), None, cache)
    part = before.main
    flags = llama_cpp(part, chosen, length)
    if document.config is None:
        notes = ("a GGUF file is not edited: the flags are not proved by re-reading",)
        return Extension(document.name, length, before, assessment, chosen, (flags,), None, "", None, notes, None, cache)
    spelled = [spell(dialect, document.config, part, chosen, length) for dialect in CONFIGS]
    own = own_dialect(document.config, part)
    proved: dict[Dialect, tuple[str, Inspection, tuple[str, ...]]] = {}
    for place, each in enumerate(spelled):
        if each.refused:
            continue
        text = apply(document.text, each.edits)
        after, proof, trouble = _prove(text, before, chosen, length)
        if trouble:
            spelled[place] = Spelling(each.dialect, "", f"read again, the edited file does not say what was meant: {trouble}")
        else:
            proved[each.dialect] = (text, after, proof)
    override = vllm(document.config, part, chosen, length)
    if spelled[-1].refused and not override.refused and reads_scaling(part) is not None:  # one dictionary, one proof
        override = Spelling("vllm", "", spelled[-1].refused)
    spellings = tuple(
        replace(each, since=releases(each.dialect, document.config, chosen)) if each.text else each
        for each in (*spelled, override, flags)
    )
    if not proved:
        notes = ("no edit of the config: see the reasons",)
        return Extension(document.name, length, before, assessment, chosen, spellings, None, "", None, notes, None, cache)
    if own not in proved:
        own = next(iter(proved))
    text, after, proof = proved[own]
    return Extension(
        document.name, length, before, assessment, chosen, spellings, own, text, after, proof, _cost(before, after), cache
    )


def _choose(assessment: Assessment, method: Method | None) -> Option | None:
    if not assessment.options:
        return None
    if method is None:
        return assessment.options[0] if assessment.options[0].suits != "no" else None
    option = next(option for option in assessment.options if option.method == method)
    if option.suits == "no":
        better = [other.method for other in assessment.options if other.suits != "no"]
        hint = f"use {' or '.join(better)}" if better else "no method suits this model"
        raise RefusedError("--method", expected=f"a method other than {method} for this model", got=option.why, hint=hint)
    return option


def _cost(before: Inspection, after: Inspection) -> Cost | None:
    old, new = _stretched(before), _stretched(after)
    trained = before.contexts.trained.value
    if old is None or new is None or old.rotation is None or new.rotation is None or not trained:
        return None
    return measure_cost(old.rotation, new.rotation, max(1, trained // 2))


def _prove(text: str, before: Inspection, option: Option | None, length: int) -> tuple[Inspection, tuple[str, ...], str]:
    """Read the edited text and compare it with what was meant: the inspection, what was checked, and what is wrong."""
    try:
        after = inspect_config(parse_config(text.encode(), "the edited config"))
    except OrdinateError as error:
        return before, (), str(error)
    after = dataclasses.replace(after, source=f"{before.source}, edited")
    proof: list[str] = []
    far = far_layers(before.main)
    if [(layer.name, layer.indices, layer.kind) for layer in before.layers] != [
        (layer.name, layer.indices, layer.kind) for layer in after.layers
    ]:
        return after, (), "other kinds of layer"
    for old, new in zip(before.layers, after.layers, strict=True):
        if old.rotation is None or new.rotation is None:
            continue
        meant = _meant(old.rotation, option) if option is not None and old in far else None
        trouble = _compare(old, new, meant, length)
        if trouble:
            return after, (), f"{new.name}: {trouble}"
        moved = _distance(old.rotation, new.rotation, length) > 1e-9
        if meant is not None:
            off = _distance(meant, new.rotation, length)
            proof.append(f"{new.name}: frequencies as meant ({f'to {off:.0e}' if off else 'exactly'})")
        else:
            proof.append(f"{new.name}: {'scaled too, as this family scales all its layers' if moved else 'unchanged'}")
        base = shown_base(new.rotation.base.value) if new.rotation.base.known else "unknown"
        proof[-1] += f"; base {base}, {new.rotation.rotary_dim.value} channels turn"
        if new.rotation.sections is not None:
            proof[-1] += f", sections {new.rotation.sections.value}"
    dynamic = option is not None and option.method == "dynamic"
    claimed = after.contexts.claimed.value
    if not dynamic and claimed != length:
        return after, (), f"it claims {claimed} tokens"
    proof.append(f"claims {claimed:,} tokens" + (", where its scaling starts" if dynamic else ""))
    if reads_scaling(before.main) is None and option is not None:
        proof.append("the family's code comes with the checkpoint: whether it reads this key, only its modeling file tells")
    raised = {finding.id for finding in after.findings if finding.severity == "error"} - {f.id for f in before.findings}
    return after, tuple(proof), f"new finding {', '.join(sorted(raised))}" if raised else ""


def _meant(rotation: Rotation, option: Option) -> Rotation:
    """The rotation that the option asks for, its other settings as they are."""
    base = rotation.base if option.base is None else dataclasses.replace(rotation.base, value=option.base)
    rule = rotation.rule if option.base is not None else dataclasses.replace(rotation.rule, value=option.method)
    return dataclasses.replace(rotation, base=base, rule=rule, scaling=option.scaling)


def _compare(old: LayerKind, new: LayerKind, meant: Rotation | None, length: int) -> str:
    """What differs that must not."""
    before, after = old.rotation, new.rotation
    if before is None or after is None:
        return "it no longer rotates"
    for name in ("layout", "rotary_dim", "head_dim", "sections"):
        was, now = (getattr(rotation, name) for rotation in (before, after))
        if (None if was is None else was.value) != (None if now is None else now.value):
            return f"{name} changed"
    if old.window_keys.value != new.window_keys.value:
        return "its window changed"
    if meant is None:
        return "" if before.base.value == after.base.value else "its base changed"
    if after.inverse_frequencies(length) is None:
        return f"its scaling cannot be computed ({after.rule.value})"
    for tokens in (1, length // 2 or 1, length):
        error = _distance(meant, after, tokens)
        if error > 1e-9:
            return f"frequencies differ from the intended ones by a factor of up to {1 + error:.4g}"
    factors = [(rotation.cos_sin_factor, rotation.softmax_factor) for rotation in (meant, after)]
    if any(x is None or y is None or not math.isclose(x, y, rel_tol=1e-9) for x, y in zip(*factors, strict=True)):
        return f"factors {factors[1]} instead of {factors[0]}"
    return ""


def _distance(a: Rotation, b: Rotation, length: int) -> float:
    """The largest relative difference of a frequency."""
    one, two = a.inverse_frequencies(length), b.inverse_frequencies(length)
    if one is None or two is None or len(one) != len(two):
        return math.inf
    return max((abs(x - y) / max(abs(x), abs(y)) for x, y in zip(one, two, strict=True) if x or y), default=0.0)


def write(extension: Extension, path: Path) -> Path:
    """Put the edited text in the file's place, keeping the old one beside it, and return where that is.

    No reader ever sees half a config. The copy is `NAME.bak`, or `NAME.bak.2` and so on: none is ever overwritten.

    Raises:
        RefusedError: there is nothing to write.
        OutputError: the directory cannot be written to.
    """
    if not extension.edited:
        got = extension.assessment.why if extension.own is None else "no edit"
        raise RefusedError("--write", expected="an edit", got=got, hint="leave --write out")
    target = path.resolve()  # a link stays a link: what it points to is replaced
    kept = target.with_name(f"{target.name}.bak")
    number = 2
    while kept.exists():
        kept, number = target.with_name(f"{target.name}.bak.{number}"), number + 1
    try:
        mode = target.stat().st_mode
        atomic_write(kept, target.read_bytes(), name="--write")
        kept.chmod(mode & 0o7777)
        atomic_write(target, extension.edited, name="--write")
    except OutputError:
        kept.unlink(missing_ok=True)  # the file is as it was, and a copy of it would say that it is not
        raise
    except OSError as error:
        raise output_error(path, error, name="--write") from error
    return kept
