"""The command line: one small file a command, heavy imports inside the command.

Standard output is the answer (a table, or JSON), standard error is talk and progress. Exit 0 fine, 1 findings, 2 wrong use.
"""

from ordinate.cli.app import main

__all__ = ["main"]
