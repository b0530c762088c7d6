"""`python -m tests.verify.proof`: the table of docs/verify-proof.md on standard output; exit 1 where something is wrong."""

import sys

from tests.verify.proof import prove, prove_sizes, table_of


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


rows = prove(_say)
sizes = prove_sizes(rows, _say)
sys.stdout.write(table_of(rows, sizes))
sys.exit(0 if all(row.right for row in [*rows, *(row for at in sizes.values() for row in at)]) else 1)
