"""Groups of commands whose files are imported when a command is asked for, so that no command waits for another's imports."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
import typer.main
from typer.core import TyperGroup

__all__ = ["lazy_group"]


def lazy_group(room: str, commands: Mapping[str, str], group: type[TyperGroup] = TyperGroup) -> type[TyperGroup]:
    """A kind of group that finds its commands by name when they are asked for.

    Args:
        room: the package whose files hold the commands, such as "ordinate.cli.logic".
        commands: each command with its line of help, in the order that help shows; the function of that name, or the
            `typer.Typer` of that name, in the file of that name.
        group: what to derive from.
    """

    class Lazy(group):  # type: ignore[valid-type, misc]
        def list_commands(self, ctx: Any) -> list[str]:
            return [*commands, *super().list_commands(ctx)]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in commands:
                return super().get_command(ctx, cmd_name)
            found = getattr(import_module(f"{room}.{cmd_name}"), cmd_name)
            if isinstance(found, typer.Typer):
                alone = typer.main.get_command(found)
                alone.name = cmd_name
                return alone
            one = typer.Typer(add_completion=False, rich_markup_mode=None)
            one.command(cmd_name, short_help=commands[cmd_name])(found)
            return typer.main.get_command(one)

    return Lazy
