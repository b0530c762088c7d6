"""Every model type that transformers registers, read by us and computed by the library: who is right, who is silent.

For each type the library makes its default config. Its dictionary, and then the bare `{"model_type": ...}`, are read by
`inspect_config`; the inverse frequencies of every rotary module that the type's modeling file holds and that can be built from
that config are the library's answer. `python tests/inspection/library_sweep.py` prints the table.
"""

from __future__ import annotations

import importlib
import inspect
import json
import logging
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ordinate.inspection import inspect_config
from ordinate.inspection.records import Inspection, Part

TOLERANCE = 2e-6
NOT_ROTARY = re.compile(r"Attention|Encoder|Config|Output|Kwargs|Model$")


@dataclass(frozen=True)
class Verdict:
    """What became of one model type: "right", "no rotation", "unknown" or "wrong", with the reason."""

    model_type: str
    verdict: str
    reason: str


def sweep() -> Iterator[Verdict]:
    """A verdict for each registered model type, on its default config and on its bare name."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

    for model_type in sorted(CONFIG_MAPPING_NAMES):
        kind = CONFIG_MAPPING[model_type]
        try:
            config = kind()
            told = json.loads(json.dumps(config.to_dict(), default=str))
        except Exception as error:
            yield Verdict(model_type, "unknown", f"the library cannot make its default config: {type(error).__name__}")
            continue
        yield judge(model_type, config, told)


def judge(model_type: str, config: Any, told: dict[str, Any]) -> Verdict:
    """Compare both readings with the library's own frequencies."""
    answers = library_frequencies(config)
    for form, given in (("default config", told), ("bare name", {"model_type": model_type})):
        read = inspect_config(given)
        verdict = compare(model_type, form, read, answers)
        if verdict.verdict in ("wrong", "unknown"):
            return verdict
    return verdict


def compare(model_type: str, form: str, read: Inspection, answers: dict[str, list[float]]) -> Verdict:
    """One reading against the library's frequencies."""
    part = read.main
    if any(f.severity == "error" for f in read.findings):
        finding = next(f for f in read.findings if f.severity == "error")
        return Verdict(model_type, "wrong", f"{form}: {finding.message}")
    if not part.layers and len(read.parts) == 1:
        return Verdict(model_type, "unknown", part.parameters_on_position.detail)
    own = [part for part in read.parts if part.path == ""]
    if not own:
        return Verdict(model_type, "right", f"{form}: {len(read.parts)} parts, each judged under its own type")
    if not own[0].layers:
        return Verdict(model_type, "unknown", own[0].parameters_on_position.detail)
    ours = our_frequencies(own[0])
    if not answers:
        if ours:
            return Verdict(model_type, "right" if form == "" else "unchecked", f"{form}: no rotary module to ask")
        return Verdict(model_type, "no rotation", f"{form}: {own[0].kind}")
    if not ours:
        rotates = any(layer.rotation is not None for layer in own[0].layers)
        if rotates:
            return Verdict(model_type, "unknown", f"{form}: the rotation's frequencies are unknown")
        return Verdict(model_type, "no rotation", f"{form}: {own[0].kind}, though a rotary class stands in the modeling file")
    missed = [name for name, told in answers.items() if not any(equal(told, mine) for mine in ours)]
    known = all(any(equal(told, mine) for told in answers.values()) for mine in ours)
    if missed and known and len(missed) < len(answers):
        missed = []  # a class holds ladders of kinds of layer that this stack has none of
    if missed:
        shown = [round(f, 9) for f in ours[0][:2]] + [round(ours[0][-1], 12), len(ours[0])]
        told = answers[missed[0]]
        library = [round(f, 9) for f in told[:2]] + [round(told[-1], 12), len(told)]
        return Verdict(model_type, "wrong", f"{form}: {missed[0]} is {library}, read {shown}")
    return Verdict(model_type, "right", f"{form}: {len(answers)} modules agree")


def our_frequencies(part: Part) -> list[tuple[float, ...]]:
    """The ladders that the part's kinds of layer turn by."""
    found = []
    for layer in part.layers:
        for encoding in layer.encodings:
            frequencies = encoding.rotation.inverse_frequencies() if encoding.rotation is not None else None
            if frequencies is not None:
                found.append(frequencies)
    return found


def equal(told: list[float], mine: tuple[float, ...]) -> bool:
    """Whether two ladders hold the same frequencies; a permutation (axes dealt out in turn) counts as the same."""
    pairs = zip(sorted(told), sorted(mine), strict=False)
    return len(told) == len(mine) and all(abs(a - b) <= TOLERANCE * max(abs(a), 1e-30) for a, b in pairs)


def library_frequencies(config: Any) -> dict[str, list[float]]:
    """Inverse frequencies of the rotary modules that can be built from a config, by class and buffer."""
    try:
        module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    except ImportError:
        return {}
    answers: dict[str, list[float]] = {}
    for name, kind in vars(module).items():
        if not inspect.isclass(kind) or kind.__module__ != module.__name__ or not re.search("Rotary|RoPE|Rope", name):
            continue
        if NOT_ROTARY.search(name) or not _is_meant_for(name, kind, config):
            continue
        try:
            made = kind(config)
        except Exception:
            continue
        for buffer, tensor in made.named_buffers():
            if buffer.endswith("inv_freq") and "original" not in buffer:
                answers[f"{name}.{buffer}"] = [float(f) for f in tensor.flatten().tolist()]
    return answers


def _is_meant_for(name: str, kind: Any, config: Any) -> bool:
    """Whether a class of the modeling file is this config's: annotated so, or of the same modality by name."""
    annotated = inspect.signature(kind.__init__).parameters.get("config")
    if annotated is None:
        return False
    wanted = annotated.annotation
    wanted = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", "")
    wanted, own = wanted.strip("'\"").split(" ")[0], type(config).__name__
    sees = re.search("Vision|Audio|Encoder", name) is not None
    reads = "Text" in own or re.search("Vision|Audio|Encoder", own) is None
    return wanted == own or (reads and not sees and wanted not in OWN_ROTARY.get(kind.__module__, ()))


OWN_ROTARY: dict[str, tuple[str, ...]] = {}
"""Config classes of a module whose rotary classes are theirs alone."""


if __name__ == "__main__":
    verdicts = list(sweep())
    for verdict in verdicts:
        print(f"{verdict.verdict:<12} {verdict.model_type:<36} {verdict.reason}")
    print()
    for name in ("right", "no rotation", "unchecked", "unknown", "wrong"):
        print(f"{name:<12} {sum(verdict.verdict == name for verdict in verdicts)}")
