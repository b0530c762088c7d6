"""`ordinate verify`: check anyone's position code, and name the fault."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ordinate.verify.verdict import Verdict

__all__ = ["verify"]

KINDS = ("rotary", "bias", "embedding", "attention", "decoder", "model", "axial")
_STYLES = {"passed": "green", "failed": "bold red", "not applicable": "dim"}
_INSIDE = "--inside"


def verify(
    context: typer.Context,
    subject: Annotated[
        str | None,
        typer.Argument(metavar="SUBJECT", help="package.module:object, file.py:object, or a model's folder with --kind model."),
    ] = None,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="One of: " + ", ".join(KINDS) + ".")] = "rotary",
    layout: Annotated[str | None, typer.Option("--layout", help="half or interleaved; without it, it is identified.")] = None,
    base: Annotated[float | None, typer.Option("--base", help="Of the frequencies (rope_theta).", metavar="NUMBER")] = None,
    head_dim: Annotated[int | None, typer.Option("--head-dim", help="Channels of a head.", metavar="N")] = None,
    rotary_dim: Annotated[int | None, typer.Option("--rotary-dim", help="How many of them turn.", metavar="N")] = None,
    dim: Annotated[int | None, typer.Option("--dim", help="Channels of an embedding.", metavar="N")] = None,
    heads: Annotated[int | None, typer.Option("--heads", help="Query heads.", metavar="N")] = None,
    kv_heads: Annotated[int | None, typer.Option("--kv-heads", help="Key-value heads.", metavar="N")] = None,
    scaling: Annotated[
        str | None, typer.Option("--scaling", metavar="JSON", help='Such as \'{"rule": "linear", "factor": 4.0}\'.')
    ] = None,
    rule: Annotated[str | None, typer.Option("--rule", help="alibi, t5, sinusoidal, or none to compare with no rule.")] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Of attention: rotary, alibi or none.")] = None,
    both_sides: Annotated[bool, typer.Option("--both-sides", help="Not causal: keys ahead are visible.")] = False,
    order: Annotated[str | None, typer.Option("--order", help="The subject's axes, such as BTHD.")] = None,
    takes: Annotated[str | None, typer.Option("--takes", help="positions, offset, tables or nothing.")] = None,
    angles: Annotated[str | None, typer.Option("--angles", help="float64 allows no error of float32 angles.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON (docs/verify.md).")] = False,
    time_limit: Annotated[float, typer.Option("--time-limit", metavar="SECONDS", help="For the whole check.", min=1)] = 120.0,
    listed: Annotated[bool, typer.Option("--list", help="Show the known faults and check nothing.")] = False,
    peers: Annotated[bool, typer.Option("--peers", help="Check the libraries that are installed.")] = False,
    inside: Annotated[bool, typer.Option(_INSIDE, hidden=True)] = False,
) -> None:
    """Check position code: pass, or a counterexample and the known fault that gives the same numbers.

    The check runs in a process of its own, which is ended when the time limit is reached. Exit 0 when every property holds, 1
    when one fails, 2 for wrong use.
    """
    from ordinate.arguments import check_choice
    from ordinate.errors import ArgumentError

    if listed:
        _print_faults(as_json)
        return
    if peers:
        _print_peers(as_json)
        return
    if subject is None:
        raise ArgumentError("SUBJECT", expected="package.module:object", got="nothing", hint="or --list, --peers")
    check_choice("--kind", kind, KINDS)
    if not inside:
        raise typer.Exit(_outside(context, subject, kind, time_limit, as_json))
    stretch = None if scaling is None else _scaling(scaling)
    thing = _resolved(subject, kind)  # before anything heavy is imported: a wrong name is reported at once
    settings = _settings(
        kind,
        layout=layout,
        base=base,
        head_dim=head_dim,
        rotary_dim=rotary_dim,
        dim=dim,
        num_heads=heads,
        num_kv_heads=kv_heads,
        scaling=stretch,
        rule=rule,
        encoding=encoding,
        causal=False if both_sides else None,
        order=order,
        takes=takes,
        angles=angles,
    )
    verdict = _verdict(thing, subject, kind, settings)
    _print_verdict(verdict, as_json)
    if not verdict.passed:
        raise typer.Exit(1)


def _outside(context: typer.Context, subject: str, kind: str, time_limit: float, as_json: bool) -> int:
    """Run the same command in a process of its own, and end it when the time is over."""
    from ordinate.cli.tables import emit
    from ordinate.verify.verdict import Outcome, Verdict

    command = [sys.executable, "-B", "-m", "ordinate", *_arguments(context), _INSIDE]
    stdout = None if sys.stdout.isatty() else subprocess.PIPE  # a terminal is written to at once and in colour
    try:
        done = subprocess.run(command, timeout=time_limit, check=False, stdout=stdout, text=True)
        emit(done.stdout or "")
        return done.returncode
    except subprocess.TimeoutExpired:
        says = "The subject answers in time"
        evidence = f"it was stopped after {time_limit:g} s"
        outcome = Outcome("time-limit", says, "failed", evidence)
        _print_verdict(Verdict(subject, kind, "never found", (), {}, (outcome,), wall_seconds=time_limit), as_json)
        return 1


def _arguments(context: typer.Context) -> list[str]:
    """What this command was called with, whoever called it."""
    words = ["verify"]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.param_type_name == "option":
            if value is True:
                words.append(parameter.opts[0])
            elif value not in (None, False) and value != parameter.default:
                words += [parameter.opts[0], str(value)]
        elif value is not None:
            words.append(str(value))
    return words


def _scaling(text: str) -> Any:
    from ordinate.errors import ArgumentError
    from ordinate.spec import PositionSpec

    try:
        scaling = json.loads(text)
    except ValueError as error:
        raise ArgumentError("--scaling", expected="JSON", got=text, hint=str(error)) from None
    return PositionSpec.from_dict({"encoding": "rotary", "scaling": scaling}).scaling


def _settings(kind: str, **options: Any) -> dict[str, Any]:
    """The options of this call; one that the kind does not know is wrong use."""
    import inspect

    from ordinate import verify as checks
    from ordinate.errors import ArgumentError

    known = inspect.signature(getattr(checks, f"check_{kind}")).parameters
    settings = {}
    for name, value in options.items():
        if value is None:
            continue
        if name not in known:
            raise ArgumentError(f"--{name.replace('_', '-')}", expected=f"an option that --kind {kind} takes", got=value)
        settings[name] = None if name == "rule" and value == "none" else value
    return settings


def _resolved(subject: str, kind: str) -> Any:
    """The object, or the folder of a model."""
    from pathlib import Path

    from ordinate.verify.resolve import resolve

    return subject if kind == "model" and Path(subject).is_dir() else resolve(subject)


def _verdict(thing: Any, name: str, kind: str, settings: dict[str, Any]) -> Verdict:
    from ordinate import verify as checks

    subject = _made(thing, settings) if isinstance(thing, type) else thing
    verdict: Verdict = getattr(checks, f"check_{kind}")(subject, name=name, **settings)
    return verdict


def _made(kind: type, settings: dict[str, Any]) -> Any:
    """An object of a class, if it wants no more than the width and the base."""
    import inspect

    from ordinate.errors import ArgumentError
    from ordinate.verify.adapters.calling import ROLES

    wanted, arguments = inspect.signature(kind).parameters, {}
    values = {
        "head_dim": settings.get("head_dim", settings.get("dim", 64)),
        "base": settings.get("base"),
        "num_heads": settings.get("num_heads"),
    }
    for name, parameter in wanted.items():
        role = next((role for role in values if name.lower() in ROLES[role]), None)
        if role is not None and values[role] is not None:
            arguments[name] = values[role]
        elif parameter.default is inspect.Parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise ArgumentError(
                "SUBJECT",
                expected="an object",
                got=f"the class {kind.__name__}, which wants {name}",
                hint="make an object in a file of yours",
            )
    return kind(**arguments)


def _print_verdict(verdict: Verdict, as_json: bool) -> None:
    from ordinate.cli.tables import answer, answer_json

    if as_json:
        answer_json(verdict.to_dict())
        return
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import grid

    table = grid("property", "result", "evidence")
    for outcome in verdict.outcomes:
        style = _STYLES[outcome.status]
        table.add_row(f"[bold]{escape(outcome.id)}[/]", f"[{style}]{outcome.status}[/]", escape(outcome.evidence))
    parts: list[Any] = [Text.from_markup(f"[bold]{escape(verdict.subject)}[/], {verdict.kind}"), table]
    for cause in verdict.causes:
        whole = "everything that failed" if cause.complete else ", ".join(cause.explains)
        parts.append(Text.from_markup(f"\n[bold]your result equals[/]: {escape(cause.says)}"))
        parts.append(Text.from_markup(f"  explains {escape(whole)}; read [cyan]{escape(cause.read)}[/] [dim]({cause.id})[/]"))
    if verdict.failed and not verdict.causes:
        parts.append(Text("\nno known fault gives these numbers"))
    lines = [f"called: {verdict.adapter}", *(f"assumed: {sentence}" for sentence in verdict.assumed)]
    lines += [f"identified: {name} {value}" for name, value in verdict.identified.items()]
    parts.append(Text("\n" + "\n".join(lines), style="dim"))
    answer(*parts)


def _print_faults(as_json: bool) -> None:
    from rich.markup import escape

    from ordinate.cli.tables import answer, answer_json, grid
    from ordinate.verify.faults import KNOWN_FAULTS

    if as_json:
        rows = [
            {"id": s.id, "family": s.family, "kind": s.kind, "says": s.says, "read": s.read_at(), "seen": s.reported}
            for s in KNOWN_FAULTS.values()
        ]
        answer_json(rows)
        return
    table = grid("known fault", "family", "kind", "your result equals", "read")
    for one in sorted(KNOWN_FAULTS.values(), key=lambda s: (s.family, s.kind)):
        table.add_row(f"[bold]{one.id}[/]", one.family, one.kind, escape(one.says), one.read_at())
    answer(table)


def _print_peers(as_json: bool) -> None:
    from ordinate.cli.tables import answer_json, emit
    from ordinate.verify import peers

    rows = peers.check_peers(lambda line: typer.echo(line, err=True))
    if as_json:
        answer_json([row.to_dict() for row in rows])
    else:
        emit(peers.table_of(rows))
