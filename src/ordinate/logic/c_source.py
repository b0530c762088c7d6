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
import numpy.typing as npt

from ordinate import __version__
from ordinate.errors import ArgumentError
from ordinate.logic.c_templates import GATES_MAIN, HEAD, MAIN, PACK, PREDICT
from ordinate.logic.program import NEAR, Program, lower
from ordinate.logic.words import least_bytes

if TYPE_CHECKING:
    from ordinate.logic.circuit import Circuit

__all__ = ["c_source"]

_OPERATIONS = {6: "{a} ^ {b}", 8: "{a} & {b}", 4: "{a} & ~{b}", 14: "{a} | {b}", 3: "~{a}"}
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
            "name", expected="a name in C: letters, digits, underscores", got=name, hint="use such as 'circuit'"
        )
    program = lower(circuit, stage, recompute=True)
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
        "OUTPUT_SLOTS": _numbers(program.outputs.tolist()),
        "COUNT_STARTS": _numbers([int(one) for one in starts]),
        "COUNT_WIDTHS": _numbers(list(widths)),
        "OFFSETS": _numbers([one.offset for one in program.plan.classes]),
        "BIAS": _numbers([repr(float(one)) for one in circuit.bias]),
        "TAU": repr(circuit.tau),
        "MEANING": "a bit: 0 or not" if inputs is None else "a number, compared with its threshold",
    } | _inputs(circuit)
    text = re.sub(r"@([A-Z_]+)@", lambda found: named[found[1]], text)
    return re.sub(r"\bNAME_", f"{name}_", text).replace("NAME:", f"{name}:")


def _parts(program: Program) -> str:
    """The operations, in functions of `_PART`. What is read soon has a name, what is read later is kept in v."""
    count, inputs = len(program.tables), program.num_inputs
    rows = list(zip(program.tables.tolist(), program.a.tolist(), program.b.tolist(), program.out.tolist(), strict=True))
    made_by = [-1] * program.num_slots
    named, kept = [False] * count, [False] * count
    reads: list[list[str]] = []
    for step, (_, a, b, out) in enumerate(rows):
        names = []
        for slot in (a, b):
            source = made_by[slot]
            if slot < inputs:
                names.append(f"in[{slot}]")
            elif step - source <= NEAR and source >= step // _PART * _PART:
                named[source] = True
                names.append(f"t{source}")
            else:
                kept[source] = True
                names.append(f"v[{slot - inputs}]")
        reads.append(names)
        made_by[out] = step
    for slot in program.outputs.tolist():
        if slot >= inputs:
            kept[made_by[slot]] = True
    text = []
    for step, ((table, _, _, out), (a_name, b_name)) in enumerate(zip(rows, reads, strict=True)):
        if step % _PART == 0:
            text.append(f"{'}' if step else ''}\n\nstatic void NAME_part{step // _PART}(")
            text.append("const NAME_word *restrict in, NAME_word *restrict v)\n{\n  (void)in;\n  (void)v;\n")
        value = (_OPERATIONS.get(table) or _CONSTANTS[table]).format(a=a_name, b=b_name)
        name = f"const NAME_word t{step} = " if named[step] else ""
        text.append(f"  {name}{f'v[{out - inputs}] = ' if kept[step] else ''}{value};\n")
    calls = "".join(f"  NAME_part{part}(in, v);\n" for part in range(-(-count // _PART)))
    unused = "" if count else "  (void)in;\n  (void)v;\n"
    return (
        "".join(text)
        + ("}\n\n" if count else "")
        + "/* words of the inputs to words of the answer: output k is v[slot] or, for an input, in[slot] (see NAME_output) */\n"
        + f"void NAME_block(const NAME_word *in, NAME_word *v)\n{{\n{unused}{calls}}}\n"
    )


def _inputs(circuit: Circuit) -> dict[str, str]:
    """Where the inputs look and what they compare with: a bit is `byte >= least`, unless it never is."""
    inputs = circuit.inputs
    told = dict.fromkeys(("TABLES", "GATHERED", "GATHER", "VECTOR_TABLES", "VECTOR_LOADS", "VECTOR_EVER"), "")
    told["STRIDE"] = "NAME_FEATURES"
    if inputs is None:
        return told | {"COMPARISON": "x != 0", "VECTOR_COMPARISON": "x != 0"}
    least = least_bytes(inputs)
    told["TABLES"] = _bytes("least", np.minimum(least, 255))
    told["VECTOR_TABLES"] = ", least"
    told["VECTOR_LOADS"] = "    memcpy(&least, NAME_least + at, sizeof least);\n"
    told["VECTOR_COMPARISON"] = "x >= least"
    told["COMPARISON"] = "x >= NAME_least[j]"
    if (least == 256).any():
        told["TABLES"] += _bytes("ever", np.where(least < 256, 255, 0))
        told["VECTOR_EVER"] = "    memcpy(&x, NAME_ever + at, sizeof x);\n    all &= x;\n"
        told["COMPARISON"] = "(x >= NAME_least[j]) & NAME_ever[j]"
    if not np.array_equal(inputs.feature, np.arange(circuit.num_inputs)):
        told["STRIDE"] = "NAME_INPUTS"
        told["TABLES"] += f"static const uint32_t NAME_feature[NAME_INPUTS] = {{{_numbers(inputs.feature.tolist())}}};\n"
        told["GATHERED"] = ", gathered[8 * NAME_INPUTS]"
        told["GATHER"] = """\
      for (size_t k = 0; k < 8; k++)
        for (size_t j = 0; j < NAME_INPUTS; j++)
          gathered[k * NAME_INPUTS + j] = row[k * NAME_FEATURES + NAME_feature[j]];
      row = gathered;
      ahead = NULL;
"""
    return told


def _bytes(name: str, values: npt.NDArray[np.int_]) -> str:
    return f"static const uint8_t NAME_{name}[NAME_INPUTS] = {{{_numbers(values.tolist())}}};\n"


def _numbers(values: list[int] | list[str]) -> str:
    return ", ".join(map(str, values)) if values else "0"
