"""`python -m tests.verify.proof`: the table of docs/verify-proof.md on standard output; exit 1 where something is wrong."""

import sys

from tests.verify.proof import prove, table_of

rows = prove(lambda line: print(line, file=sys.stderr))
sys.stdout.write(table_of(rows))
sys.exit(0 if all(row.right for row in rows) else 1)
