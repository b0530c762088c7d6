"""Groups of commands whose files are imported when a command is asked for, so that no command waits for another's imports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Any, ClassVar

import typer
import typer.main
from typer.core import TyperArgument, TyperCommand, TyperGroup

from ordinate.arguments import did_you_mean
from ordinate.errors import OrdinateError

__all__ = ["lazy_group"]


def lazy_group(
    package: str,
    commands: Mapping[str, str],
    group: type[TyperGroup] = TyperGroup,
    *,
    renamed: Mapping[str, Mapping[str, str]] | None = None,
) -> type[TyperGroup]:
    """A kind of group that imports its commands when they are asked for.

    Args:
        package: the package whose modules hold the commands, such as "ordinate.cli.logic".
        commands: each command with its line of help, in the order that help shows; the function of that name, or the
            `typer.Typer` of that name, in the module of that name, with an underscore behind a word of Python's own.
        group: what to derive from.
        renamed: for each command, options that were called otherwise in an earlier release: the old name to the new one.
    """

    class LazyGroup(group):  # type: ignore[valid-type, misc]
        def list_commands(self, ctx: Any) -> list[str]:
            return [*commands, *super().list_commands(ctx)]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in commands:
                return super().get_command(ctx, cmd_name)
            name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name  # such as `import`
            command = getattr(import_module(f"{package}.{name}"), name)
            if isinstance(command, typer.Typer):
                inner = typer.main.get_command(command)
                inner.name, inner.short_help = cmd_name, commands[cmd_name]
                return inner
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            kind = type("Command", (_Command,), {"renamed": (renamed or {}).get(cmd_name, {})})
            alone.command(cmd_name, cls=kind, short_help=commands[cmd_name])(command)
            built = typer.main.get_command(alone)
            for param in built.params:
                if isinstance(param, TyperArgument):
                    param.__class__ = _Argument
            return built

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            name = args[0]
            if not name.startswith("-") and self.get_command(ctx, name) is None:
                hint = did_you_mean(name, self.list_commands(ctx)) or f"commands are {', '.join(self.list_commands(ctx))}"
                ctx.fail(f"no command {name!r}; {hint}")
            return super().resolve_command(ctx, args)

    return LazyGroup


_LONGER = {"leak-rate": "leak", "step-seconds": "step", "test-lengths": "test", "votes-per-gate": "votes"}
"""Arguments of Python whose option has a shorter name."""


class _Argument(TyperArgument):
    """An argument whose help is its name alone, as releases of typer differ in what they put around it."""

    def get_usage_pieces(self, ctx: Any) -> list[str]:
        name = str(self.metavar or self.name).strip("[]")
        return [name if self.required else f"[{name}]"]

    def display_type_rich(self, ctx: Any) -> str:  # of typer 0.29, which would add <str>
        return ""


class _Command(TyperCommand):
    """A command that still understands what its options were called before."""

    renamed: ClassVar[Mapping[str, str]] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for option in {argument.partition("=")[0] for argument in args} & set(self.renamed):
            typer.echo(f"ordinate: {option} is now called {self.renamed[option]}", err=True)
        return super().parse_args(ctx, [self._current(argument) for argument in args])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OrdinateError as error:
            option, hint = self._spelt(error.argument), self._advice(error.hint)
            if (option, hint) == (error.argument, error.hint):
                raise
            raise type(error)(option, expected=error.expected, got=error.got, hint=hint) from error

    def _advice(self, hint: str) -> str:
        """Advice in words of Python, as options: `duplicates="sum"` is `--duplicates sum`."""

        def option(match: re.Match[str]) -> str:
            spelling = self._spelt(match[1])
            return f"{spelling} {match[3]}" if spelling.startswith("--") else match[0]

        return re.sub(r"\b([a-z_]+)=([\"']?)([\w.]+)\2", option, hint)

    def _spelt(self, argument: str) -> str:
        """An argument of Python as the option or the argument of this command that it came from."""
        word = argument.replace("_", "-")
        spellings = {spelling: spelling for param in self.params for spelling in param.opts if spelling.startswith("--")}
        spellings |= {old: new for old, new in self.renamed.items() if new in spellings}
        places = {str(param.name): str(param.metavar) for param in self.params if param.param_type_name == "argument"}
        for one in (f"--{word}", f"--{word}s", f"--{word.removesuffix('s')}", f"--{_LONGER.get(word)}"):
            if one in spellings:
                return spellings[one]
        return places.get(argument, argument).strip("[].")

    def _current(self, argument: str) -> str:
        option, equals, value = argument.partition("=")
        return f"{self.renamed.get(option, option)}{equals}{value}"
