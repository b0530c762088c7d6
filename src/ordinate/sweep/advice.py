"""Which encoding, in a few questions: the answer quotes measurements and papers, with the article's advice where it differs.

Measured are the records of a sweep: the user's own, or those of the default sweep that travel with the package, with the
machine and the versions they come from. An answer that no record supports says so. Nothing here imports torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ordinate.arguments import check_integer, did_you_mean
from ordinate.errors import ArgumentError
from ordinate.frequencies import YaRN
from ordinate.sweep.beta_fast import beta_fast_warning, fitting_beta_fast
from ordinate.sweep.store import Store
from ordinate.sweep.summary import summarise
from ordinate.sweep.tables import to_json

__all__ = ["CASES", "NEEDS", "Answer", "Measured", "Question", "advise", "advise_case", "measured"]

NEEDS = {
    "text": "the next word is mostly decided by what is near",
    "recall": "single facts far back must be found by what they say",
    "place": "what matters is how far back something is",
}
CASES = {
    "no-parameters": "an encoding without parameters",
    "fixed-length": "rows never longer than in training",
    "grammar": "what matters is the distance between words",
    "memory": "relative positions at no cost in memory",
    "long-context": "rows longer than in training",
    "fine-tuning": "a trained model is to be changed",
    "images": "patches of an image",
    "audio": "frames of sound",
}
"""Cases that the articles give advice for, beside the questions about lengths."""
_TASKS = {"text": "text", "recall": "lookup", "place": "k-back"}
_ARTICLE = {
    "rope": "the article's advice: RoPE for longer sequences",
    "alibi": "the article's advice: ALiBi where extrapolation comes first",
}


@dataclass(frozen=True)
class Question:
    """What is asked.

    Args:
        trained: tokens of a row in training.
        needed: tokens that the model shall run at.
        extend: whether a rotary model is trained already; else one is to be trained.
        need: one of `NEEDS`.
        cache_tokens: tokens whose keys and values fit into memory, or None for all.

    Raises:
        ArgumentError: lengths below 1, an unknown need.
    """

    trained: int
    needed: int
    extend: bool = False
    need: str = "text"
    cache_tokens: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("--trained", self.trained), ("--needed", self.needed), ("--cache-tokens", self.cache_tokens)):
            if value is not None:
                check_integer(name, value, minimum=1)
        if self.need not in NEEDS:
            hint = did_you_mean(self.need, NEEDS)
            raise ArgumentError("--need", expected=f"one of {', '.join(NEEDS)}", got=self.need, hint=hint)

    @property
    def factor(self) -> float:
        """How many times the trained length is needed."""
        return self.needed / self.trained


@dataclass(frozen=True)
class Measured:
    """Tables of a sweep and where they come from.

    Args:
        tables: as `tables.to_json` tells them.
        source: in words.
    """

    tables: Sequence[Mapping[str, Any]]
    source: str

    def table(self, task: str) -> Mapping[str, Any] | None:
        """The table of a task, the one with most seeds scored where there are several."""
        tables = [one for one in self.tables if one["task"] == task]
        return max(tables, key=_seeds_scored) if tables else None


@dataclass(frozen=True)
class Answer:
    """The advice.

    Args:
        advice: what to do, in a sentence.
        reasons: why, each with where it is from.
        measured: quotes of the tables.
        papers: authors, year, arXiv id, and what they say.
        article: where the article's advice differs, else "".
    """

    advice: str
    reasons: tuple[str, ...]
    measured: tuple[str, ...]
    papers: tuple[str, ...]
    article: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "advice": self.advice,
            "reasons": list(self.reasons),
            "measured": list(self.measured),
            "papers": list(self.papers),
            "article": self.article,
        }


def measured(folder: Path | None = None) -> Measured:
    """The tables of the results in `folder`, or those that travel with the package.

    Raises:
        ArgumentError: a folder without results.
        DataError: results of another version.
    """
    if folder is not None:
        records = Store(folder).read()
        if not records:
            raise ArgumentError("--results", expected="a folder of a sweep", got=str(folder), hint="run `ordinate sweep` first")
        return Measured(to_json(summarise(records)), f"your sweep in {folder}")
    kept = json.loads(resources.files("ordinate.sweep").joinpath("measured.json").read_text(encoding="utf-8"))
    return Measured(kept["tables"], kept["source"])


def advise(question: Question, known: Measured) -> Answer:
    """The advice for a question, from what was measured.

    >>> known = Measured([], "nothing")
    >>> advise(Question(2048, 1024), known).advice
    'RoPE as it is: the model never sees a longer row than it was trained on.'
    """
    quotes = _quotes(question, known)
    if question.cache_tokens is not None and question.cache_tokens < question.needed:
        return _for_a_small_cache(question, quotes)
    if question.factor <= 1:
        return Answer(
            "RoPE as it is: the model never sees a longer row than it was trained on.",
            ("within the training length encodings differ mostly in speed of learning: take what your programs run",),
            quotes,
            ("Su et al. 2021, arXiv 2104.09864: RoPE",),
            "",
        )
    if question.extend:
        return _for_a_trained_model(question, quotes)
    return _for_a_new_model(question, known, quotes)


def advise_case(case: str, known: Measured) -> Answer:
    """The advice for one of `CASES`, from what was measured; where nothing was measured it says so and advises nothing.

    Raises:
        ArgumentError: an unknown case.

    >>> advise_case("audio", Measured([], "nothing")).advice
    'No advice: nothing about sound was measured here.'
    """
    if case not in CASES:
        raise ArgumentError("--case", expected=f"one of {', '.join(CASES)}", got=case, hint=did_you_mean(case, CASES))
    if case in ("no-parameters", "fixed-length"):
        return _at_the_trained_length(case, known)
    if case == "grammar":
        return _by_distance(known)
    if case == "memory":
        return Answer(
            "RoPE, or a bias that depends on the distance alone: neither keeps anything for each pair of tokens.",
            (
                "RoPE turns queries and keys before they are cached, so a cache holds no position at all",
                "a vector for each distance (Shaw, Music Transformer) is a term for each pair of tokens",
            ),
            ("the sweep measures no memory: `ordinate lab C6` does",),
            ("Shaw et al. 2018, arXiv 1803.02155", "Su et al. 2021, arXiv 2104.09864: RoPE"),
            "",
        )
    if case in ("long-context", "fine-tuning"):
        option = "--extend" if case == "fine-tuning" else "--train"
        return Answer(
            f"Ask with lengths: `ordinate choose --trained N --needed M {option}`.",
            ("how far past its training a model is to run decides, and at one length nothing here can be said",),
            (),
            (),
            "the article names RoPE for longer sequences and ALiBi where extrapolation comes first, without lengths",
        )
    what = {"images": "images", "audio": "sound"}[case]
    papers = {
        "images": ("Heo et al. 2024, arXiv 2403.13298: rotary encodings in vision transformers",),
        "audio": (),
    }[case]
    return Answer(
        f"No advice: nothing about {what} was measured here.",
        ("the sweep trains on rows of tokens alone",)
        + (("`axial-rotary`, `mixed-rotary` and `sinusoidal-grid` are there to be tried",) if case == "images" else ()),
        (),
        papers,
        "",
    )


def _at_the_trained_length(case: str, known: Measured) -> Answer:
    """Which encodings are best on text at the training length, among all or among those without parameters."""
    table = known.table("text")
    free = ("none", "sinusoidal", "alibi", "rope", "xpos")
    article = {
        "no-parameters": ("sinusoidal", "the article's advice: the sinusoid as a baseline without parameters"),
        "fixed-length": ("learned", "the article's advice: a learned table where the length is fixed"),
    }[case]
    points = {}
    for line in [] if table is None else table["encodings"]:
        assert table is not None
        here = line["lengths"][str(table["train_length"])]["last"]
        if here is not None and (case == "fixed-length" or line["encoding"] in free):
            points[line["encoding"]] = here
    if table is None or not points:
        return Answer("No advice: nothing about text was measured.", ("run `ordinate sweep --task text`",), (), (), article[1])
    seeds = max(point["seeds"] for point in points.values())
    reliable = {name: point for name, point in points.items() if point["seeds"] == seeds}  # learned with every seed
    best = min(reliable, key=lambda name: reliable[name]["mean"])
    tied = [name for name, point in reliable.items() if _tie(points[best], point)]
    quote = "; ".join(f"{name} {point['mean']:.2f} ({point['seeds']} of {seeds} seeds)" for name, point in points.items())
    agrees = article[0] in tied
    return Answer(
        f"{', '.join(tied)}: best on text at the trained length, within two spreads of each other."
        if len(tied) > 1
        else f"{best}: best on text at the trained length, by more than two spreads.",
        ("at the trained length scores are mostly speed of learning, so a longer training may change the order",),
        (f"text, {table['unit']}, at {table['train_length']} tokens: {quote}", f"measured: {known.source}; {table['model']}"),
        (),
        "" if agrees else f"{article[1]}; these measurements are against it",
    )


def _by_distance(known: Measured) -> Answer:
    table = known.table("k-back")
    article = "the article's advice: relative positions or RoPE where grammar goes by distance"
    if table is None:
        return Answer("No advice: nothing about places was measured.", ("run `ordinate sweep --task k-back`",), (), (), article)
    learned = [one["encoding"] for one in table["encodings"] if one["lengths"][str(table["train_length"])]["last"] is not None]
    others = [one["encoding"] for one in table["encodings"] if one["encoding"] not in learned]
    return Answer(
        f"One of {', '.join(learned)}: these learned to look a fixed distance back." if learned else "None of those measured.",
        ("asked was the token a fixed number of places ago; grammar itself was not measured",),
        (
            f"k-back at {table['train_length']} tokens: learned by {', '.join(learned) or 'none'}; in the same steps not by "
            f"{', '.join(others) or 'none'}",
            f"measured: {known.source}; {table['model']}",
        ),
        (),
        "" if "rope" in learned or "shaw" in learned else article,
    )


def _tie(best: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two means lie within two spreads of both together; with a single seed everything ties."""
    if best["spread"] is None or other["spread"] is None:
        return True
    apart: float = abs(best["mean"] - other["mean"])
    return apart <= 2 * math.hypot(best["spread"], other["spread"]) / math.sqrt(2)


def _for_a_small_cache(question: Question, quotes: tuple[str, ...]) -> Answer:
    assert question.cache_tokens is not None
    kept = min(question.cache_tokens, question.trained)
    return Answer(
        f"Cut the context to the last {kept:,} tokens"
        + (", with the first few kept as sinks if rows run on" if question.cache_tokens > 16 else "")
        + f": the cache holds {question.cache_tokens:,} of the {question.needed:,} tokens, so no encoding can use the rest.",
        ("`ordinate inspect FILE` tells a model's bytes per token, grouped heads and windows shrink them",),
        quotes,
        ("Xiao et al. 2023, arXiv 2309.17453: a window with sinks",),
        _ARTICLE["rope"] + "; but the encoding does not decide here, the cache does",
    )


def _for_a_trained_model(question: Question, quotes: tuple[str, ...]) -> Answer:
    warned = beta_fast_warning(YaRN(max(question.factor, 1.0), question.trained))
    return Answer(
        f"YaRN by {question.factor:g} with beta_fast {fitting_beta_fast(question.trained):g} and a short fine-tune at "
        f"{question.needed:,} tokens; without a fine-tune, first try cutting the context to {question.trained:,}.",
        (
            "a scaling eases the fall of a rotary model past its training; whether it beats a cut context is measured, "
            "zero-shot and tuned, by `ordinate lab C12` and `ordinate sweep --study extension`",
            f"`ordinate extend FILE --to {question.needed}` prints and proves the edit",
            *((warned,) if warned else ()),
        ),
        quotes,
        (
            "Chen et al. 2023, arXiv 2306.15595: interpolation, with a fine-tune",
            "Peng et al. 2023, arXiv 2309.00071: YaRN",
        ),
        "the article explains interpolation and YaRN, and does not ask whether they beat a cut context",
    )


def _for_a_new_model(question: Question, known: Measured, quotes: tuple[str, ...]) -> Answer:
    carrying = _carrying(question, known)
    papers = [
        "Press et al. 2021, arXiv 2108.12409: ALiBi carries past its training length",
        "Kazemnejad et al. 2023, arXiv 2305.19466: on small tasks no encoding at all carries further",
        "Chi et al. 2022, arXiv 2205.09921: KERPLE; Li et al. 2023, arXiv 2310.04418: FIRE",
    ]
    if not carrying:
        return Answer(
            f"Train at {question.needed:,} tokens, or at least finish there: nothing that was measured carries to "
            f"{question.factor:g} times its training length for this need.",
            ("a last phase at the full length costs little beside the whole training",),
            quotes,
            tuple(papers),
            _ARTICLE["alibi"],
        )
    names = ", ".join(carrying)
    differs = "" if "alibi" in carrying and question.need == "text" else _ARTICLE["alibi"]
    if "rope" not in carrying:
        differs = "; ".join(
            part for part in (differs, _ARTICLE["rope"] + ", which as it is trained does not carry here") if part
        )
    return Answer(
        f"Train with one of {names} if training at {question.needed:,} tokens is out of reach; else train there with RoPE.",
        (
            f"at {question.factor:g} times the training length these lose less than a tenth of what they had over chance, "
            "among those that were measured",
            "whether the longer context gains anything is another question: compare with a cut context, as the table does",
        ),
        quotes,
        tuple(papers),
        differs,
    )


def _carrying(question: Question, known: Measured) -> list[str]:
    """Encodings that lose no more than a tenth of the way to chance at the tested length nearest to the need."""
    table = known.table(_TASKS[question.need])
    if table is None:
        return []
    length = _nearest(table, question.factor)
    carrying = []
    for line in table["encodings"]:
        at, here = line["lengths"][length]["last"], line["lengths"][str(table["train_length"])]["last"]
        if at is None or here is None:
            continue
        chance = table["chance"][length]
        if abs(at["mean"] - here["mean"]) <= 0.1 * abs(chance - here["mean"]) or _better(table, at["mean"], here["mean"]):
            carrying.append(str(line["encoding"]))
    return carrying


def _quotes(question: Question, known: Measured) -> tuple[str, ...]:
    table = known.table(_TASKS[question.need])
    if table is None:
        return (f"nothing about {_TASKS[question.need]} was measured: run `ordinate sweep`",)
    length = _nearest(table, question.factor)
    parts, missing = [], []
    for line in table["encodings"]:
        point, here = line["lengths"][length], line["lengths"][str(table["train_length"])]["last"]
        if here is None:
            missing.append(line["encoding"])
        elif point["last"] is None:
            parts.append(f"{line['encoding']} {here['mean']:.2f}, then its table ends")
        else:
            cut = point["cut"]["mean"]
            parts.append(f"{line['encoding']} {here['mean']:.2f} to {point['last']['mean']:.2f} (cut {cut:.2f})")
    said = [
        f"{table['task']}, {table['unit']}, trained at {table['train_length']}, at {length} tokens: " + "; ".join(parts),
    ]
    if missing:
        said.append(f"not learned in that training, so not scored: {', '.join(missing)}")
    return (*said, f"measured: {known.source}; {table['model']}")


def _nearest(table: Mapping[str, Any], factor: float) -> str:
    lengths = table["test_lengths"]
    return str(min(lengths, key=lambda n: abs(n / table["train_length"] - factor)))


def _better(table: Mapping[str, Any], one: float, other: float) -> bool:
    return one > other if table["unit"] == "accuracy" else one < other


def _seeds_scored(table: Mapping[str, Any]) -> int:
    return sum(line["outcomes"].get("scored", 0) for line in table["encodings"])
