"""`ordinate verify`: check anyone's position code, and name the fault."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.options import AsJson, Listed

if TYPE_CHECKING:
    from ordinate.verify.verdict import Outcome, Verdict

__all__ = ["verify"]

KINDS = ("rotary", "bias", "embedding", "attention", "decoder", "positions", "model", "axial")
_STYLES = {"passed": "green", "failed": "bold red", "not applicable": "dim"}


def verify(
    subject: Annotated[
        str | None,
        typer.Argument(metavar="SUBJECT", help="package.module:object, file.py:object, or a model's folder with --kind model."),
    ] = None,
    kind: Annotated[str, typer.Option("--kind", metavar="NAME", help="One of: " + ", ".join(KINDS) + ".")] = "rotary",
    layout: Annotated[
        str | None, typer.Option("--layout", metavar="NAME", help="half or interleaved; without it, it is identified.")
    ] = None,
    base: Annotated[float | None, typer.Option("--base", help="Of the frequencies (rope_theta).", metavar="X")] = None,
    head_dim: Annotated[int | None, typer.Option("--head-dim", help="Channels of a head.", metavar="N")] = None,
    rotary_dim: Annotated[int | None, typer.Option("--rotary-dim", help="How many of them turn.", metavar="N")] = None,
    dim: Annotated[int | None, typer.Option("--dim", help="Channels of an embedding.", metavar="N")] = None,
    heads: Annotated[int | None, typer.Option("--heads", help="Query heads.", metavar="N")] = None,
    kv_heads: Annotated[int | None, typer.Option("--kv-heads", help="Key-value heads.", metavar="N")] = None,
    scaling: Annotated[
        str | None, typer.Option("--scaling", metavar="JSON", help='Such as \'{"rule": "linear", "factor": 4.0}\'.')
    ] = None,
    rule: Annotated[
        str | None, typer.Option("--rule", metavar="NAME", help="alibi, t5, sinusoidal, or none to compare with no rule.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", metavar="NAME", help="Of attention: rotary, alibi or none.")
    ] = None,
    merge: Annotated[int | None, typer.Option("--merge", help="Image patches a side that make a token.", metavar="N")] = None,
    family: Annotated[
        str | None,
        typer.Option("--family", metavar="NAME", help="Whose rows of tokens a builder of positions takes, such as qwen2.5-vl."),
    ] = None,
    both_sides: Annotated[bool, typer.Option("--both-sides", help="Not causal: keys ahead are visible.")] = False,
    order: Annotated[str | None, typer.Option("--order", metavar="AXES", help="The subject's axes, such as BTHD.")] = None,
    takes: Annotated[str | None, typer.Option("--takes", metavar="NAME", help="positions, offset, tables or nothing.")] = None,
    angles: Annotated[
        str | None, typer.Option("--angles", metavar="TYPE", help="float64 allows no error of float32 angles.")
    ] = None,
    arrays: Annotated[
        str | None, typer.Option("--arrays", metavar="NAME", help="numpy, jax, dlpack, or auto; by default torch tensors.")
    ] = None,
    device: Annotated[
        str | None, typer.Option("--device", metavar="NAME", help="Where the subject runs, such as cuda or meta.")
    ] = None,
    arguments: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="Arguments of a class, such as '{\"dim\": 64}'.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Check these properties alone.")] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", metavar="ID", help="Leave these out, such as compile.")] = None,
    expected_failures: Annotated[
        list[str] | None, typer.Option("--expected-failures", metavar="ID", help="Properties that are known to fail.")
    ] = None,
    strict_storage: Annotated[
        bool, typer.Option("--strict-storage", help="Fail where a cast or an empty device spoils what is stored.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the properties that passed, too.")] = False,
    as_json: AsJson = False,
    time_limit: Annotated[float, typer.Option("--time-limit", metavar="SECONDS", help="For the whole check.", min=1)] = 120.0,
    listed: Listed = False,
    peers: Annotated[bool, typer.Option("--peers", help="Check the libraries that are installed.")] = False,
) -> None:
    """Check position code: pass, or a counterexample and the known fault that gives the same numbers.

    The check runs in a process of its own, which is ended with everything it started. Exit 0 when every property holds (but for
    those that are expected to fail), 1 when another fails or the subject ends the process, 2 for wrong use.
    """
    from ordinate.arguments import check_choice
    from ordinate.cli.progress import steps
    from ordinate.errors import ArgumentError
    from ordinate.verify.isolation import check_in_process

    if listed:
        _print_faults(as_json)
        return
    if peers:
        _print_peers(as_json)
        return
    if subject is None:
        raise ArgumentError("SUBJECT", expected="package.module:object", got="nothing", hint="or --list, --peers")
    check_choice("--kind", kind, KINDS)
    settings = {
        "layout": layout,
        "base": base,
        "head_dim": head_dim,
        "rotary_dim": rotary_dim,
        "dim": dim,
        "num_heads": heads,
        "num_kv_heads": kv_heads,
        "rule": rule,
        "encoding": encoding,
        "merge": merge,
        "family": family,
        "causal": False if both_sides else None,
        "order": order,
        "takes": takes,
        "angles": angles,
        "arrays": arrays,
        "device": device,
        "only": _ids(only),
        "skip": _ids(skip),
        "strict_storage": strict_storage or None,
    }
    request = {
        "subject": subject,
        "kind": kind,
        "settings": {
            name: None if (name, value) == ("rule", "none") else value for name, value in settings.items() if value is not None
        },
        "scaling": _json("--scaling", scaling),
        "arguments": _json("--args", arguments),
    }
    with steps(f"verify {subject}") as progress:
        verdict = check_in_process(request, seconds=time_limit, progress=progress)
    expected = _ids(expected_failures) or []
    new, passed = verdict.against_expected(expected)
    _print_verdict(verdict, as_json, verbose, passed)
    if new or passed or not (verdict.passed or expected):
        raise typer.Exit(1)


def _ids(names: Sequence[str] | None) -> list[str] | None:
    """Ids from options that may be repeated or hold several, separated by commas."""
    return [part for name in names for part in name.split(",") if part] if names else None


def _json(option: str, text: str | None) -> Any:
    from ordinate.errors import ArgumentError

    try:
        value = None if text is None else json.loads(text)
    except ValueError as error:
        raise ArgumentError(option, expected="JSON", got=text, hint=str(error)) from None
    if value is not None and not isinstance(value, dict):
        raise ArgumentError(option, expected="a JSON object", got=text)
    return value


def _print_verdict(verdict: Verdict, as_json: bool, verbose: bool, unexpectedly_passed: Sequence[str]) -> None:
    from ordinate.cli.tables import answer, answer_json

    if as_json:
        answer_json(verdict.to_dict())
        return
    from rich.markup import escape
    from rich.text import Text

    style = "bold green" if verdict.passed else "bold red"
    parts: list[Any] = [
        Text.from_markup(f"[bold]{escape(verdict.subject)}[/], {verdict.kind}: [{style}]{escape(verdict.summary)}[/]")
    ]
    parts += [Text(f"expected to fail, but passed: {name}", style="bold red") for name in unexpectedly_passed]
    for cause in verdict.causes:
        whole = "everything that failed" if cause.complete else ", ".join(cause.explains)
        parts.append(Text.from_markup(f"\n[bold]your result equals[/]: {escape(cause.says)}"))
        parts.append(Text.from_markup(f"  explains {escape(whole)}; read [cyan]{escape(cause.read)}[/] [dim]({cause.id})[/]"))
    fragile = [outcome for outcome in verdict.failed if outcome.storage]
    parts += _rows("failed", verdict.wrong)
    parts += _rows("fragile storage" + ("" if verdict.strict_storage else ", no failure unless --strict-storage"), fragile)
    if verbose:
        parts += _rows("passed, or not applicable", [one for one in verdict.outcomes if one.status != "failed"])
    lines = [f"called: {verdict.adapter}", *(f"assumed: {sentence}" for sentence in verdict.assumed)]
    if verdict.identified:
        lines.append("identified: " + ", ".join(f"{name} {value}" for name, value in verdict.identified.items()))
    parts.append(Text("\n" + "\n".join(lines), style="dim"))
    answer(*parts)


def _rows(title: str, outcomes: Sequence[Outcome]) -> list[Any]:
    """A table of properties, or nothing."""
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import grid

    if not outcomes:
        return []
    table = grid("property", "result", "evidence")
    for outcome in outcomes:
        style = "yellow" if outcome.storage and outcome.status == "failed" else _STYLES[outcome.status]
        table.add_row(f"[bold]{escape(outcome.id)}[/]", f"[{style}]{outcome.status}[/]", escape(outcome.evidence))
    return [Text(f"\n{title}"), table]


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
