"""Running the lists of the proof, and the table that they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ordinate.frequencies import LongRoPE
from ordinate.position.token_families import TOKEN_FAMILIES
from ordinate.verify.adapters.attention import AttentionForm, AttentionSubject
from ordinate.verify.adapters.bias import BiasForm, BiasSubject
from ordinate.verify.adapters.calling import Call, Callee
from ordinate.verify.adapters.decoder import DecoderSettings
from ordinate.verify.adapters.embedding import EmbeddingForm, EmbeddingSubject
from ordinate.verify.adapters.rotary import adapt_rotary
from ordinate.verify.checks import CHECKERS
from ordinate.verify.faults import KNOWN_FAULTS, KnownFault
from ordinate.verify.properties.positions import Asked, PositionsForm, PositionsSettings, PositionsSubject
from ordinate.verify.references.attention import AttentionSettings
from ordinate.verify.references.biases import BiasSettings
from ordinate.verify.references.rotation import RotarySettings
from ordinate.verify.references.sinusoids import EmbeddingSettings
from ordinate.verify.verdict import Verdict
from tests.verify.proof.correct import CHEAP, CORRECT
from tests.verify.proof.decoders import wrong_decoder
from tests.verify.proof.field import FIELD

__all__ = ["SIZES", "USUAL", "Row", "numbered", "prove", "prove_fault", "prove_sizes", "table_of"]


@dataclass(frozen=True)
class Row:
    """One subject of the proof.

    Args:
        name: its name.
        list: "library", "field" or "correct".
        kind: the kind of subject.
        family: of the fault; empty for correct code.
        expected: the id of the fault, or "passes".
        reported: what the verifier said: ids of the causes, or "passes", or "fails: ..." without a cause.
        fails: ids of the properties that failed.
    """

    name: str
    list: str
    kind: str
    family: str
    expected: str
    reported: tuple[str, ...]
    fails: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether the verifier said what it should, first of all."""
        return self.reported[:1] == (self.expected,)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {**vars(self), "reported": list(self.reported), "fails": list(self.fails), "right": self.right}


def prove(
    progress: Callable[[str], None] = lambda line: None, lists: Sequence[str] = ("correct", "field", "library")
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
            rows.append(_row(name, "field", kind, KNOWN_FAULTS[expected].family, expected, check()))
    if "library" in lists:
        for number, fault in numbered():
            progress(f"library {fault.id}")
            rows.append(prove_fault(fault, number))
    return rows


def numbered() -> list[tuple[int, KnownFault]]:
    """Every known fault with its number among those of its kind, by which layout, direction and order of axes change."""
    kinds = Counter[str]()
    result = []
    for fault in KNOWN_FAULTS.values():
        result.append((kinds[fault.kind], fault))
        kinds[fault.kind] += 1
    return result


def prove_fault(fault: KnownFault, number: int, head_dim: int = 64, base: float = 10000.0) -> Row:
    """One known fault of the library; `number` chooses its layout, direction and order of axes."""
    verdict = _rotary(fault, number, head_dim, base) if fault.kind == "rotary" else _MAKERS[fault.kind](fault, number)
    return _row(fault.id, "library", fault.kind, fault.family, fault.id, verdict)


USUAL = 64, 1e4
SIZES = [(64, 1e6), (128, 1e4), (128, 1e6)]
"""Head sizes and bases of the rotations: of the main table, and besides."""


def prove_sizes(rows: Sequence[Row], progress: Callable[[str], None] = lambda line: None) -> dict[tuple[int, float], list[Row]]:
    """The known faults of rotations at each width and base, those of the main table among them; a minute each."""
    sizes = {USUAL: [row for row in rows if (row.list, row.kind) == ("library", "rotary")]}
    for head_dim, base in SIZES:
        sizes[head_dim, base] = []
        for number, one in numbered():
            if one.kind == "rotary":
                progress(f"rotations of {head_dim} channels, base {base:g}: {one.id}")
                sizes[head_dim, base].append(prove_fault(one, number, head_dim, base))
    return sizes


def _row(name: str, list_: str, kind: str, family: str, expected: str, verdict: Verdict) -> Row:
    fails = tuple(outcome.id for outcome in verdict.failed)
    reported = tuple(cause.id for cause in verdict.causes) if fails else ("passes",)
    return Row(name, list_, kind, family, expected, reported or (f"fails: {', '.join(fails[:3])}",), fails)


class _Reordered(nn.Module):
    """A fault as it stands in a library whose axes have another order."""

    def __init__(self, wrong: Any, order: str) -> None:
        super().__init__()
        self.wrong, self.order = wrong, order

    def forward(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        if self.order == "BHTD":
            answer: tuple[Tensor, Tensor] = self.wrong(q, k, positions)
            return answer
        heads_first = q.transpose(1, 2), k.transpose(1, 2)
        query, key = self.wrong(*heads_first, positions)
        return query.transpose(1, 2), key.transpose(1, 2)


def _rotary(fault: KnownFault, number: int, head_dim: int, base: float) -> Verdict:
    settings = {"base": base, **fault.visible_with}
    if isinstance(settings.get("scaling"), LongRoPE):  # its factors are of 32 pairs
        short, long, original, claimed = (getattr(settings["scaling"], name) for name in _LONGROPE)
        settings["scaling"] = LongRoPE(short[:1] * (head_dim // 2), long[:1] * (head_dim // 2), original, claimed)
    wanted = settings.get("layout") or ("interleaved", "half")[number % 2]
    sign = 1 if fault.of_settings else (1, 1, -1)[number % 3]
    order = ("BTHD", "BHTD")[number // 2 % 2]
    stated = RotarySettings.checked(head_dim, settings.pop("rotary_dim", None), **settings)
    wrong = fault.implement(stated.replace(layout=wanted, stated_layout=stated.layout, sign=sign))
    subject = adapt_rotary(_Reordered(wrong, order), stated, order=order)
    return CHECKERS["rotary"].verdict(subject, stated, fault.id, CHEAP["rotary"])


def _bias(fault: KnownFault, number: int) -> Verdict:
    settings = BiasSettings.checked(**fault.visible_with)
    wrong = fault.implement(settings)
    call = Call.by_place("query_positions", "key_positions", "dtype")
    like = BiasSubject(Callee(wrong), BiasForm(call, "buckets" if fault.kind == "buckets" else "bias"), settings)
    return CHECKERS[fault.kind].verdict(BiasSubject.from_fault(wrong, settings, like), settings, fault.id, CHEAP[fault.kind])


def _embedding(fault: KnownFault, number: int) -> Verdict:
    settings = EmbeddingSettings.checked(**fault.visible_with)
    options = settings.arrangements()
    option = options[number % 2 if settings.layout is None else 0].replace(scale=1.0)
    form = EmbeddingForm(Call.by_place("positions", "x"), positions="any")
    subject = EmbeddingSubject(Callee(fault.implement(option)), form, option)
    return CHECKERS["embedding"].verdict(subject, settings, fault.id, CHEAP["embedding"])


def _attention(fault: KnownFault, number: int) -> Verdict:
    settings = AttentionSettings.checked(**fault.visible_with)
    form = AttentionForm(Call.by_place("query", "key", "value", "query_positions", "key_positions", "key_mask"))
    subject = AttentionSubject(Callee(fault.implement(settings)), form, settings)
    return CHECKERS["attention"].verdict(subject, settings, fault.id, CHEAP["attention"])


def _decoder(fault: KnownFault, number: int) -> Verdict:
    return CHECKERS["decoder"].verdict(wrong_decoder(fault.id), DecoderSettings(), fault.id)


def _positions(fault: KnownFault, number: int) -> Verdict:
    settings = PositionsSettings(TOKEN_FAMILIES[_FAMILIES.get(fault.id, "qwen2.5-vl")])
    asked = next(asked for asked in (Asked(builds, settings.family) for builds in _ROLES) if fault.needs(asked))
    roles = _ROLES[asked.builds]
    subject = PositionsSubject(Callee(fault.implement(asked)), PositionsForm(Call(roles, roles), asked.builds), settings)
    return CHECKERS[asked.builds].verdict(subject, settings, fault.id)


_ROLES: dict[str, tuple[str, ...]] = {
    "a mask": ("key_mask",),
    "lengths": ("lengths",),
    "documents": ("documents",),
    "a cache": ("offset", "length"),
    "token shards": ("tokens", "rank", "world_size"),
    "document shards": ("lengths", "rank", "world_size"),
    "shards": ("length", "rank", "world_size"),
    "a grid": ("height", "width"),
    "tokens and grids": ("tokens", "key_mask", "image_grids", "video_grids", "seconds", "audio_features", "sound"),
}
_FAMILIES = {
    "text-behind-the-last-piece": "qwen2.5-omni",
    "times-not-floored": "qwen3-omni",
}
"""The families of models whose rows show a fault of builders."""
_LONGROPE = ("short_factor", "long_factor", "original_context", "claimed_context")
_MAKERS: dict[str, Callable[[KnownFault, int], Verdict]] = {
    "bias": _bias,
    "buckets": _bias,
    "embedding": _embedding,
    "attention": _attention,
    "decoder": _decoder,
    "positions": _positions,
}


def table_of(rows: Sequence[Row], sizes: Mapping[tuple[int, float], Sequence[Row]] = {}) -> str:
    """The rows as Markdown, with lines of counts before them; of other sizes what is wrong alone."""
    faults, correct = [row for row in rows if row.expected != "passes"], [row for row in rows if row.expected == "passes"]
    missed = [row for row in faults if row.reported[0] == "passes"]
    misnamed = [row for row in faults if not row.right and row not in missed]
    alarms = [row for row in correct if not row.right]
    lines = [
        "# What the verifier says of known faults and of correct code",
        "",
        "Made by `python -m tests.verify.proof > docs/verify-proof.md`. The faults of the library run in changing layouts and",
        "orders of axes; those of the list `field` are written once more in other idioms (`tests/verify/proof`).",
        "",
        f"{len(faults)} faults: {len(missed)} missed, {len(misnamed)} caught under another name. "
        f"{len(correct)} correct variants: {len(alarms)} false alarms.",
        "",
        *(
            f"- rotations of {head_dim} channels, base {base:g}: {len(at)} faults, {sum(not row.right for row in at)} of them "
            "missed or under another name" + "".join(f"; {row.name}: {', '.join(row.reported)}" for row in at if not row.right)
            for (head_dim, base), at in sizes.items()
        ),
        "",
        "| subject | list | kind | family | should be | reported | fails |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        mark = row.reported[0] if row.right else f"**{', '.join(row.reported)}**"
        lines.append(
            f"| {row.name} | {row.list} | {row.kind} | {row.family} | {row.expected} | {mark} | {', '.join(row.fails[:4])}"
            + (f" and {len(row.fails) - 4} more |" if len(row.fails) > 4 else " |")
        )
    return "\n".join(lines) + "\n"
