"""`check_model`: whether the tables that a loaded model computes are those that its config says.

The expectations come from the config alone, read by `ordinate.inspection`. What the model now has is compared with them:
a config edited after loading, a cast, a save and a load all show.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError, ArgumentTypeError, DataError, MissingDataError, MissingExtraError
from ordinate.inspection import inspect_config
from ordinate.inspection.records import Inspection, LayerKind
from ordinate.verify.adapters.rotary import RotarySubject, adapt_rotary
from ordinate.verify.checks import CHECKERS, check_bias, check_decoder
from ordinate.verify.observation import Comparison, Fact, Observation, Property, Result, Unsupported, describe_error, observe
from ordinate.verify.references.frequency_schedules import trained_context
from ordinate.verify.references.rotation import RotarySettings
from ordinate.verify.verdict import Cause, Outcome, Verdict

__all__ = ["check_model"]

TABLE_PROPERTIES = (
    "frequencies",
    "factor",
    "by-position",
    "prefill-equals-decode",
    "batch-neighbour",
    "earlier-calls",
    "far-positions",
    "half-precision",
    "module-cast",
    "state-dict",
)
SMALL_PARAMETERS = 50_000_000  # up to here a model is saved, loaded and run


def check_model(
    model: Any,
    *,
    behaviour: bool | None = None,
    vocabulary: int | None = None,
    seconds: float = 30.0,
    name: str | None = None,
) -> Verdict:
    """Compare what a transformers model computes with what its config says, as it stands in memory.

    Args:
        model: a model of transformers (anything with `.config` and modules), or a directory to load one from.
        behaviour: also look at the logits (causality, padding, decoding); by default where the model has fewer than fifty
            million parameters and returns logits.
        vocabulary: token ids that may be used; by default all.
        seconds: time limit of one call.
        name: what to call it.

    Raises:
        ArgumentTypeError: no model and no directory.
        MissingDataError, DataError: a directory that is not there, or that transformers cannot load (its own words are shown).
        MissingExtraError: a directory, and transformers is not installed.

    >>> from torch import nn
    >>> check_model(nn.Linear(2, 2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ordinate.errors.ArgumentTypeError: model: expected a model with a config, ... got Linear; for rotations take check_rotary
    """
    started = time.perf_counter()
    if isinstance(model, str | os.PathLike):
        name, model = name or str(model), _loaded(Path(model))
    config = getattr(model, "config", None)
    if not isinstance(model, nn.Module) or config is None:
        raise ArgumentTypeError(
            "model",
            expected="a model with a config, or a directory",
            got=type(model).__name__,
            hint="for rotations take check_rotary",
        )
    settings = config.to_dict() if hasattr(config, "to_dict") else dict(vars(config))
    inspection = inspect_config(settings, name=name or type(model).__name__)
    outcomes, causes, identified = [_config_outcome(inspection)], [], {}
    for layer, label in _labelled(inspection):
        parts, layer_causes, layer_identified = _layer(model, layer, label, inspection, seconds)
        outcomes += parts
        causes += layer_causes
        identified.update(layer_identified)
    small = sum(parameter.numel() for parameter in model.parameters()) <= SMALL_PARAMETERS
    outcomes.append(_reloaded(model, inspection, small))
    if behaviour or (behaviour is None and small and _returns_logits(model)):
        verdict = _behaviour(model, inspection, vocabulary, seconds)
        outcomes += [_prefixed(outcome, "logits") for outcome in verdict.outcomes]
        causes += [_prefixed_cause(cause, "logits") for cause in verdict.causes]
    return Verdict(
        subject=name or f"{type(model).__module__}:{type(model).__qualname__}",
        kind="model",
        adapter=f"config {settings.get('model_type')}, read by ordinate.inspection; modules called as (x, position_ids)",
        assumed=("tables alone do not say which channels make a pair: the layout is the config's",),
        identified=identified,
        outcomes=tuple(outcomes),
        causes=tuple(causes),
        wall_seconds=time.perf_counter() - started,
        strict_storage=True,
    )


def _loaded(directory: Path) -> nn.Module:
    if not (directory / "config.json").is_file():
        raise MissingDataError("model", expected="a directory with a config.json", got=str(directory))
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers", expected="installed", got=str(error), hint="pip install transformers") from None
    problems = []
    for kind in ("AutoModelForCausalLM", "AutoModel"):
        try:
            loaded: nn.Module = getattr(transformers, kind).from_pretrained(directory, local_files_only=True)
            return loaded
        except Exception as error:
            problems.append(f"{kind}: {describe_error(error, 200)}")
    raise DataError("model", expected="a model that transformers can load", got="; ".join(problems))


def _labelled(inspection: Inspection) -> Iterator[tuple[LayerKind, str]]:
    several = len(inspection.layers) > 1
    for layer in inspection.layers:
        yield layer, layer.name if several else ""


def _config_outcome(inspection: Inspection) -> Outcome:
    bad = [finding for finding in inspection.findings if finding.severity == "error"]
    minor = [finding.id for finding in inspection.findings if finding.severity == "warning"]
    says = "; ".join(f"{finding.id}: {finding.message}" for finding in bad) or (
        f"readable, with warnings: {', '.join(minor)}" if minor else "readable, nothing suspicious"
    )
    return Outcome("config", "The config can be read and means something", "failed" if bad else "passed", says)


class _OfLayer(nn.Module):
    """A module that makes tables for several kinds of layer, asked for one."""

    def __init__(self, inner: nn.Module, layer_type: str) -> None:
        super().__init__()
        self.inner, self.layer_type = inner, layer_type

    def forward(self, x: Tensor, position_ids: Tensor) -> Any:
        return self.inner(x, position_ids, self.layer_type)


def _table_makers(model: nn.Module, layer: LayerKind) -> list[tuple[str, nn.Module]]:
    """Modules that hold inverse frequencies, by name, those of towers that see or hear left out."""
    makers: list[tuple[str, nn.Module]] = []
    for path, module in model.named_modules():
        if not any("inv_freq" in buffer for buffer, _ in module.named_buffers(recurse=False)):
            continue
        if any(word in path.lower() for word in ("vision", "visual", "audio", "speech")):
            continue
        wanted = inspect.signature(module.forward).parameters
        makers.append((path, _OfLayer(module, layer.name.replace(" ", "_")) if "layer_type" in wanted else module))
    return makers


def _layer(
    model: nn.Module, layer: LayerKind, label: str, inspection: Inspection, seconds: float
) -> tuple[list[Outcome], list[Cause], dict[str, Any]]:
    prefix = f"{label} " if label else ""
    if layer.rotation is None:
        return _without_rotation(model, layer, prefix, seconds)
    says = "The tables are those that the config says"
    if layer.spec is None:
        return [Outcome(f"{prefix}tables", says, "not applicable", "the config does not say all that a table needs")], [], {}
    makers = _table_makers(model, layer)
    if not makers:
        return [Outcome(f"{prefix}tables", says, "not applicable", "no module of the model holds inverse frequencies")], [], {}
    outcomes: list[Outcome] = []
    causes: list[Cause] = []
    identified: dict[str, Any] = {}
    for path, maker in makers[:2]:  # old models have one in every layer; the first two show whether they agree
        settings = _settings(layer, inspection)
        where = prefix + (f"{path} " if len(makers) > 1 else "")
        try:
            subject = adapt_rotary(maker, settings, takes="positions", seconds=seconds)
        except ArgumentError as error:
            outcomes.append(
                Outcome(
                    f"{where}tables", says, "not applicable", f"{path} is not called as (x, position_ids): {error.got}"[:300]
                )
            )
            continue
        verdict = CHECKERS["rotary"].verdict(subject, settings, path, TABLE_PROPERTIES, strict_storage=True)
        outcomes += [_prefixed(outcome, where.strip()) for outcome in verdict.outcomes]
        causes += [_prefixed_cause(cause, where.strip()) for cause in verdict.causes]
        outcomes.append(_rebuilt(subject, maker, settings, where).outcome())
        identified[path + (f" ({label})" if label else "")] = verdict.identified.get("base")
    return outcomes, causes, identified


def _settings(layer: LayerKind, inspection: Inspection) -> RotarySettings:
    assert layer.spec is not None
    stated = layer.spec.settings
    claimed = inspection.contexts.claimed.value if inspection.contexts.claimed.known else None
    head_dim = int(stated["head_dim"])
    layout: Literal["half", "interleaved"] = stated["layout"]
    return RotarySettings.checked(
        head_dim,
        stated.get("rotary_dim"),
        base=float(stated.get("base", 10000.0)),
        layout=layout,
        scaling=layer.spec.scaling,
        rotated_channels=stated.get("rotated_channels", "first"),
        positions=min(claimed or 131_072, 131_072),
    )


def _rebuilt(subject: RotarySubject, maker: nn.Module, settings: RotarySettings, where: str) -> Result:
    """The same class built anew from the config as it now stands: what a save and a load would give."""
    inner: nn.Module = maker.inner if isinstance(maker, _OfLayer) else maker

    def look(subject: RotarySubject, _: Any) -> Observation:
        assert isinstance(inner, nn.Module)
        config: Any = getattr(inner, "config", None)
        if config is None:
            raise Unsupported("the module keeps no config")
        kind: Any = type(inner)
        anew: nn.Module = kind(config)
        other = _OfLayer(anew, maker.layer_type) if isinstance(maker, _OfLayer) else anew
        x = torch.randn(1, settings.num_heads, 16, settings.head_dim, generator=torch.Generator().manual_seed(0))
        steps = torch.arange(16)
        got, expected = (
            subject.fresh().turn(x, x, steps)[0],
            subject.calling(subject.callee.with_owner(other)).turn(x, x, steps)[0],
        )
        axes = ("row", "head", ("position", range(16)), "channel")
        return Observation(
            [Comparison("queries beside those of the same class built from the config now", got, expected.double(), 1e-5, axes)]
        )

    rebuilt = Property(f"{where}rebuilt-from-config", "Built anew from its config, the module gives the same tables", look)
    return observe(rebuilt, subject, settings)


def _without_rotation(
    model: nn.Module, layer: LayerKind, prefix: str, seconds: float
) -> tuple[list[Outcome], list[Cause], dict[str, Any]]:
    spec, says = layer.spec, "The tables are those that the config says"
    if spec is not None and spec.encoding == "learned":
        rows = int(spec.settings["num_positions"]) + int(spec.settings.get("row_offset", 0))
        sizes = {path: module.num_embeddings for path, module in model.named_modules() if isinstance(module, nn.Embedding)}
        tables = [path for path, size in sizes.items() if size == rows]
        evidence = (
            f"{tables[0]} has {rows} rows" if tables else f"no embedding has {rows} rows, only {sorted(set(sizes.values()))}"
        )
        return [Outcome(f"{prefix}tables", says, "passed" if tables else "failed", evidence)], [], {}
    owner = next((module for module in model.modules() if hasattr(module, "build_alibi_tensor")), None)
    if spec is not None and spec.encoding == "alibi" and owner is not None:
        verdict = check_bias(owner.build_alibi_tensor, num_heads=int(spec.settings["num_heads"]), seconds=seconds)
        return (
            [_prefixed(outcome, f"{prefix}bias") for outcome in verdict.outcomes],
            [_prefixed_cause(cause, f"{prefix}bias") for cause in verdict.causes],
            {},
        )
    kind = layer.kind or "unknown"
    return (
        [Outcome(f"{prefix}tables", says, "not applicable", f"layers with encoding {kind!r} make no table that is known here")],
        [],
        {},
    )


def _reloaded(model: nn.Module, inspection: Inspection, small: bool) -> Outcome:
    """Saved and loaded, the model has the same tables: the inverse frequencies of both, one by one."""

    def look(_: Any, __: Any) -> Observation:
        if not small:
            raise Unsupported(f"more than {SMALL_PARAMETERS:,} parameters: see rebuilt-from-config")
        kind: Any = type(model)
        save: Any = getattr(model, "save_pretrained", None)
        if save is None:
            raise Unsupported("the model cannot be saved")
        with tempfile.TemporaryDirectory() as folder:
            save(folder)
            again = kind.from_pretrained(folder, local_files_only=True)
        before, after = _frequencies(model), _frequencies(again)
        if not before:
            raise Unsupported("no module of the model holds inverse frequencies")
        facts = [Fact(set(before) == set(after), "other modules hold inverse frequencies after loading")]
        comparisons = [
            Comparison(
                f"inverse frequencies of {path}",
                after[path].float(),
                table.double(),
                1e-6 * table.abs().double() + 1e-12,
                ("pair",),
            )
            for path, table in before.items()
            if path in after
        ]
        return Observation(comparisons, facts)

    reloaded = Property("save-and-load", "Saved and loaded, the model has the same tables", look)
    return observe(reloaded, None, None).outcome()


def _frequencies(model: nn.Module) -> dict[str, Tensor]:
    return {
        path: table.detach().float()
        for path, table in model.named_buffers()
        if path.endswith("inv_freq") and "original" not in path
    }


def _returns_logits(model: nn.Module) -> bool:
    return hasattr(model, "lm_head") or type(model).__name__.endswith(("ForCausalLM", "LMHeadModel"))


def _behaviour(model: nn.Module, inspection: Inspection, vocabulary: int | None, seconds: float) -> Verdict:
    size = vocabulary or int(getattr(model.config, "vocab_size", 64))
    specs = [layer.spec for layer in inspection.layers if layer.spec is not None]
    switch = max((trained_context(spec.scaling) or 0 for spec in specs), default=0)
    longest = 40 if not 0 < switch <= 4096 else switch + 8
    return check_decoder(model, vocabulary=min(size, 32_000), long=longest, seconds=seconds)


def _prefixed(outcome: Outcome, where: str) -> Outcome:
    return replace(outcome, id=f"{where}: {outcome.id}" if where else outcome.id)


def _prefixed_cause(cause: Cause, where: str) -> Cause:
    return replace(cause, explains=tuple(f"{where}: {name}" if where else name for name in cause.explains))
