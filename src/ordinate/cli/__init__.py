"""The command line: one small file a command, heavy imports inside the command.

Standard output is the answer (a table, or JSON), standard error is talk and progress. Exit 0 fine, 1 findings, 2 wrong use.
"""

import signal
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0 fine, 1 findings, 2 wrong use, 70 a fault, 130 interrupted.

    Args:
        arguments: without the program's name; by default those of the process.
    """
    try:
        from ordinate.cli.app import run
    except KeyboardInterrupt:  # pressed before there is anything that could answer
        sys.stderr.write("ordinate: interrupted\n")
        sys.exit(130)
    try:
        run(arguments)
    finally:
        if arguments is None:  # the process ends here, and its answer is out: nothing is left to interrupt
            signal.signal(signal.SIGINT, signal.SIG_IGN)
