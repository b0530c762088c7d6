"""A circuit as one C99 file: no dependency but the standard headers, fixed-width types, no allocation, batches of any size.

The file packs bytes into words, runs the circuit on all images of a word at once, counts and compares bitwise, and unpacks
classes or scores. A word is a vector of the machine's width where the compiler knows such (gcc, clang), and 64 bits elsewhere
or with `-DNAME_WORD64`. With `-DNAME_MAIN` it is a program: rows of bytes on standard input become lines of class and scores,
and `--bench` measures it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import numpy as np

from ordinate import __version__
from ordinate.errors import ArgumentError
from ordinate.logic.c_templates import GATES_MAIN, HEAD, MAIN, PACK, PREDICT
from ordinate.logic.program import Program, lower

if TYPE_CHECKING:
    from ordinate.logic.circuit import Circuit

__all__ = ["c_source"]

_OPERATIONS = {6: "{a} ^ {b}", 8: "{a} & {b}", 4: "{a} & ~{b}", 2: "~{a} & {b}", 1: "~({a} | {b})", 3: "~{a}"}
_CONSTANTS = {0: "{a} & ~{a}", 15: "{a} | ~{a}"}
_PART = 500  # operations a function: compile time grows faster than the length of a function


def c_source(circuit: Circuit, name: str = "circuit", *, stage: Literal["all", "gates"] = "all") -> str:
    """The C file of a circuit.

    With `stage="all"` it has

        void NAME_predict(const uint8_t *rows, size_t n, int32_t *classes);   rows [n][NAME_FEATURES]
        void NAME_scores(const uint8_t *rows, size_t n, double *scores);      scores [n][NAME_CLASSES], (votes + bias) / tau
        void NAME_block(const NAME_word *in, NAME_word *v);                   words in, words out

    where a row holds the numbers that the circuit's thresholds are for, or a byte an input bit (0 or not) where it has none.

    Args:
        circuit: any; simplify it before.
        name: what every name in the file begins with.
        stage: "gates" leaves packing, counting and comparing out: `NAME_block` then ends with the signals that vote.

    Raises:
        ArgumentError: a name that is none in C.

    >>> from ordinate.logic.circuit import Circuit
    >>> source = c_source(Circuit(2, [6], [0], [1], votes=[([2], [-1]), ([2], [1])]), "parity")
    >>> "void parity_predict(const uint8_t *rows, size_t n, int32_t *classes)" in source
    True
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", name):
        raise ArgumentError(
            "name", expected="a name in C: letters, digits, underscores", got=name, todo="use such as 'circuit'"
        )
    program = lower(circuit, stage)
    inputs = circuit.inputs
    text = HEAD + _parts(program)
    if stage == "gates":
        text += GATES_MAIN
    else:
        text += PACK + PREDICT + MAIN
    widths = program.groups[1:] if stage == "all" else (1,)
    starts = np.cumsum([program.groups[0], *widths])[:-1] if stage == "all" else [0]
    named = {
        "VERSION": __version__,
        "GATES": f"{circuit.num_gates:,}",
        "OPERATIONS": f"{len(program.tables):,}",
        "NUM_INPUTS": str(circuit.num_inputs),
        "NUM_FEATURES": str(circuit.num_inputs if inputs is None else inputs.num_features),
        "NUM_CLASSES": str(circuit.num_classes),
        "NUM_SLOTS": str(max(1, program.num_slots - program.num_inputs)),
        "NUM_OUTPUTS": str(len(program.outputs)),
        "CLASS_BITS": str(program.groups[0]),
        "COMPARISON": _comparison(circuit),
        "TABLES": _tables(circuit),
        "OUTPUT_SLOTS": _numbers(program.outputs.tolist()),
        "COUNT_STARTS": _numbers([int(one) for one in starts]),
        "COUNT_WIDTHS": _numbers(list(widths)),
        "OFFSETS": _numbers([one.offset for one in program.plan.classes]),
        "BIAS": _numbers([repr(float(one)) for one in circuit.bias]),
        "TAU": repr(circuit.tau),
        "MEANING": "a bit: 0 or not" if inputs is None else "a number, compared with its threshold",
    }
    text = re.sub(r"@([A-Z_]+)@", lambda found: named[found[1]], text)
    return re.sub(r"\bNAME_", f"{name}_", text).replace("NAME:", f"{name}:")


def _parts(program: Program) -> str:
    """The operations, in functions of `_PART`; a value that stays inside its function is a local name."""
    count = len(program.tables)
    inputs = program.num_inputs
    rows = list(zip(program.tables.tolist(), program.a.tolist(), program.b.tolist(), program.out.tolist(), strict=True))
    made_by = [-1] * program.num_slots
    reads = []
    first_use, last_use = [count] * count, [-1] * count
    for step, (_, a, b, out) in enumerate(rows):
        sources = (made_by[a], made_by[b])
        reads.append(sources)
        for source in sources:
            if source >= 0:
                first_use[source] = min(first_use[source], step)
                last_use[source] = step
        made_by[out] = step
    for slot in program.outputs.tolist():
        if made_by[slot] >= 0:
            last_use[made_by[slot]] = count  # read after the last function
    text = []
    for start in range(0, count, _PART):
        end = min(start + _PART, count)
        text.append(
            f"static void NAME_part{start // _PART}(const NAME_word *restrict in, NAME_word *restrict v)\n{{\n  (void)in;\n"
        )
        for step in range(start, end):
            table, a, b, out = rows[step]
            a_name, b_name = (
                f"in[{slot}]" if slot < inputs else f"t{source}" if source >= start else f"v[{slot - inputs}]"
                for slot, source in zip((a, b), reads[step], strict=True)
            )
            value = (_OPERATIONS.get(table) or _CONSTANTS[table]).format(a=a_name, b=b_name)
            kept = f"v[{out - inputs}] = " if last_use[step] >= end else ""
            named = f"const NAME_word t{step} = " if first_use[step] < end else ""
            text.append(f"  {named}{kept}{value};\n")
        text.append("}\n\n")
    calls = "".join(f"  NAME_part{part}(in, v);\n" for part in range(-(-count // _PART)))
    unused = "" if count else "  (void)in;\n  (void)v;\n"
    return (
        "".join(text)
        + "/* words of the inputs to words of the answer: output k is v[slot] or, for an input, in[slot] (see NAME_output) */\n"
        + f"void NAME_block(const NAME_word *in, NAME_word *v)\n{{\n{unused}{calls}}}\n"
    )


def _tables(circuit: Circuit) -> str:
    """Where the inputs look and what they compare with: a bit is `byte >= least`, unless it never is."""
    inputs = circuit.inputs
    if inputs is None:
        return ""
    least = np.clip(np.floor(inputs.threshold) + 1, 0, 256).astype(int)  # x > t exactly if x >= floor(t) + 1
    text = f"static const uint8_t NAME_least[NAME_INPUTS] = {{{_numbers(np.minimum(least, 255).tolist())}}};\n"
    if (least == 256).any():
        text += f"static const uint8_t NAME_ever[NAME_INPUTS] = {{{_numbers((least < 256).astype(int).tolist())}}};\n"
    if not _in_order(circuit):
        text += f"static const uint32_t NAME_feature[NAME_INPUTS] = {{{_numbers(inputs.feature.tolist())}}};\n"
    return text


def _in_order(circuit: Circuit) -> bool:
    inputs = circuit.inputs
    return inputs is None or np.array_equal(inputs.feature, np.arange(circuit.num_inputs))


def _comparison(circuit: Circuit) -> str:
    if circuit.inputs is None:
        return "(row)[j] != 0"
    reached = f"(row)[{'j' if _in_order(circuit) else 'NAME_feature[j]'}] >= NAME_least[j]"
    never = bool((np.floor(circuit.inputs.threshold) + 1 > 255).any())
    return f"({reached}) & NAME_ever[j]" if never else reached


def _numbers(values: list[int] | list[str]) -> str:
    return ", ".join(map(str, values)) if values else "0"
