"""Running the lists of the proof, and the table that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ordinate.verify.adapters.attention import AttentionSubject
from ordinate.verify.adapters.bias import BiasShape, BiasSubject
from ordinate.verify.adapters.decoder import DecoderSettings
from ordinate.verify.adapters.embedding import EmbeddingSubject
from ordinate.verify.adapters.native import Native
from ordinate.verify.adapters.roles import Plan
from ordinate.verify.adapters.rotary import adapt_rotary
from ordinate.verify.attention import judge_attention
from ordinate.verify.bias import judge_bias
from ordinate.verify.decoder import judge_decoder
from ordinate.verify.embedding import judge_embedding
from ordinate.verify.proof.correct import CHEAP, CORRECT
from ordinate.verify.proof.decoders import wrong_decoder
from ordinate.verify.proof.field import FIELD
from ordinate.verify.references.attention import AttentionSettings
from ordinate.verify.references.biases import BiasSettings
from ordinate.verify.references.rotation import RotarySettings
from ordinate.verify.references.sinusoids import EmbeddingSettings
from ordinate.verify.rotary import judge_rotary
from ordinate.verify.signatures import SIGNATURES, Signature
from ordinate.verify.verdict import Verdict

__all__ = ["Row", "prove", "prove_signature", "table_of"]


@dataclass(frozen=True)
class Row:
    """One subject of the proof.

    Args:
        name: its name.
        list: "library", "field" or "correct".
        kind: the kind of subject.
        family: of the fault; empty for correct code.
        expected: the id of the fault, or "passes".
        found: what the verifier said: ids of the causes, or "passes", or "fails: ..." without a cause.
        fails: ids of the properties that failed.
    """

    name: str
    list: str
    kind: str
    family: str
    expected: str
    found: tuple[str, ...]
    fails: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether the verifier said what it should, first of all."""
        return self.found[:1] == (self.expected,)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {**vars(self), "found": list(self.found), "fails": list(self.fails), "right": self.right}


def prove(
    progress: Callable[[str], None] = lambda words: None, lists: Sequence[str] = ("correct", "field", "library")
) -> list[Row]:
    """Every row of the proof; minutes."""
    rows: list[Row] = []
    if "correct" in lists:
        for name, kind, check in CORRECT:
            progress(f"correct {name}")
            rows.append(_row(name, "correct", kind, "", "passes", check()))
    if "field" in lists:
        for name, kind, expected, check in FIELD:
            progress(f"field {name}")
            rows.append(_row(name, "field", kind, SIGNATURES[expected].family, expected, check()))
    if "library" in lists:
        for number, signature in enumerate(SIGNATURES.values()):
            progress(f"library {signature.id}")
            rows.append(prove_signature(signature, number))
    return rows


def prove_signature(signature: Signature, number: int) -> Row:
    """One known fault of the library; `number` chooses its layout, direction and order of axes."""
    verdict = _MAKERS[signature.kind](signature, number)
    return _row(signature.id, "library", signature.kind, signature.family, signature.id, verdict)


def _row(name: str, listed: str, kind: str, family: str, expected: str, verdict: Verdict) -> Row:
    fails = tuple(outcome.id for outcome in verdict.failed)
    found = tuple(cause.id for cause in verdict.causes) if fails else ("passes",)
    return Row(name, listed, kind, family, expected, found or (f"fails: {', '.join(fails[:3])}",), fails)


class _Reordered(nn.Module):
    """A fault as it stands in a library whose axes have another order."""

    def __init__(self, made: Any, order: str) -> None:
        super().__init__()
        self.made, self.order = made, order

    def forward(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        if self.order == "BHTD":
            answer: tuple[Tensor, Tensor] = self.made(q, k, positions)
            return answer
        heads_first = q.transpose(1, 2), k.transpose(1, 2)
        query, key = self.made(*heads_first, positions)
        return query.transpose(1, 2), key.transpose(1, 2)


def _rotary(signature: Signature, number: int) -> Verdict:
    given = dict(signature.shown)
    wanted = given.get("layout") or ("interleaved", "half")[number % 2]
    sign = 1 if signature.of_settings else (1, 1, -1)[number % 3]
    order = ("BTHD", "BHTD")[number // 2 % 2]
    stated = RotarySettings.given(64, given.pop("rotary_dim", None), **given)
    made = signature.make(stated.but(layout=wanted, stated_layout=stated.layout, sign=sign))
    subject = adapt_rotary(_Reordered(made, order), stated, order=order)
    return judge_rotary(subject, stated, signature.id, CHEAP["rotary"])


def _bias(signature: Signature, number: int) -> Verdict:
    settings = BiasSettings.given(**signature.shown)
    gives = "buckets" if signature.kind == "buckets" else "bias"
    made = signature.make(settings)
    plan = Plan(("query_positions", "key_positions", "dtype"), (None, None, None))
    like = BiasSubject(Native(made), BiasShape(plan, gives), settings)
    return judge_bias(BiasSubject.direct(made, settings, like), settings, signature.id, CHEAP[signature.kind])


def _embedding(signature: Signature, number: int) -> Verdict:
    settings = EmbeddingSettings.given(**signature.shown)
    options = settings.arrangements()
    chosen = options[number % 2 if settings.layout is None else 0].but(scale=1.0)
    return judge_embedding(EmbeddingSubject.direct(signature.make(chosen), chosen), settings, signature.id, CHEAP["embedding"])


def _attention(signature: Signature, number: int) -> Verdict:
    settings = AttentionSettings.given(**signature.shown)
    return judge_attention(
        AttentionSubject.direct(signature.make(settings), settings), settings, signature.id, CHEAP["attention"]
    )


def _decoder(signature: Signature, number: int) -> Verdict:
    return judge_decoder(wrong_decoder(signature.id), DecoderSettings(), signature.id)


_MAKERS: dict[str, Callable[[Signature, int], Verdict]] = {
    "rotary": _rotary,
    "bias": _bias,
    "buckets": _bias,
    "embedding": _embedding,
    "attention": _attention,
    "decoder": _decoder,
}


def table_of(rows: Sequence[Row]) -> str:
    """The rows as Markdown, with a line of counts before them."""
    faults, correct = [row for row in rows if row.expected != "passes"], [row for row in rows if row.expected == "passes"]
    missed = [row for row in faults if row.found[0] == "passes"]
    misnamed = [row for row in faults if not row.right and row not in missed]
    alarms = [row for row in correct if not row.right]
    lines = [
        "# What the verifier says of known faults and of correct code",
        "",
        "Made by `ordinate verify --proof`. The faults of the library are run in changing layouts and orders of axes; those",
        "of the list `field` are written once more, independently, in other idioms (`ordinate/verify/proof/field.py`).",
        "",
        f"{len(faults)} faults: {len(missed)} missed, {len(misnamed)} caught under another name. "
        f"{len(correct)} correct variants: {len(alarms)} false alarms.",
        "",
        "| subject | list | kind | family | should be | found | fails |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        mark = row.found[0] if row.right else f"**{', '.join(row.found)}**"
        lines.append(
            f"| {row.name} | {row.list} | {row.kind} | {row.family} | {row.expected} | {mark} | {', '.join(row.fails[:4])}"
            + (f" and {len(row.fails) - 4} more |" if len(row.fails) > 4 else " |")
        )
    return "\n".join(lines) + "\n"
