"""A circuit as one C99 file: no dependency but the standard headers, fixed-width types, no allocation, batches of any size.

The file packs bytes into words, runs the circuit on all images of a word at once, counts and compares bitwise, and unpacks
classes or scores. A word is a vector of the machine's width where the compiler has such (gcc, clang), and 64 bits elsewhere
or with `-DNAME_WORD64`. With `-DNAME_MAIN` it is a program: rows of bytes on standard input become lines of class and scores,
and `--bench` measures it. In the templates below `NAME_` and `@...@` are filled in.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import numpy.typing as npt

from ordinate import __version__
from ordinate.arguments import check_choice
from ordinate.errors import ArgumentError, RefusedError
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.input_thresholds import DTYPES, InputThresholds
from ordinate.logic.circuit.program import NEAR, Program, lower

__all__ = ["c_header", "c_memory", "c_source"]

HEAD = """\
/* NAME: a logic circuit of @GATES@ two-input gates, written by ordinate @VERSION@.
 *
 * C99, no dependency. @OPERATIONS@ word operations a block of NAME_IMAGES images.
 * Each of the @NUM_FEATURES@ @NUMBERS@ of a row is @MEANING@.
 *
 *   cc -std=c99 -O3 -march=native -c NAME.c            a part of a program
 *   cc -std=c99 -O3 -march=native -DNAME_MAIN NAME.c   a program: rows of @NUMBERS@ in, classes and scores out
 *   -DNAME_WORD64                                      words of 64 bits, whatever the machine has
 *
 * Memory: no allocation; @TABLE_BYTES@ bytes of tables, and on the stack @STACK_WORDS@ words and @STACK_BYTES@ bytes.
 * In NAME_block image i of a block is bit i % 64 of 64-bit lane i / 64; bit 0 is the lowest.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NAME_INPUTS @NUM_INPUTS@
#define NAME_FEATURES @NUM_FEATURES@
#define NAME_CLASSES @NUM_CLASSES@

#if defined(__GNUC__) && !defined(NAME_WORD64)
#if defined(__AVX512F__)
#define NAME_LANES 8
#elif defined(__AVX2__)
#define NAME_LANES 4
#else
#define NAME_LANES 2
#endif
typedef uint64_t NAME_word __attribute__((vector_size(8 * NAME_LANES)));
typedef uint8_t NAME_bytes __attribute__((vector_size(8 * NAME_LANES)));
#else
#define NAME_LANES 1
typedef uint64_t NAME_word;
#endif
@TYPEDEF@#define NAME_IMAGES (64 * NAME_LANES)
#define NAME_SPAN (8 * NAME_LANES)
#define NAME_PADDED ((NAME_INPUTS + NAME_SPAN - 1) / NAME_SPAN * NAME_SPAN)
#define NAME_SLOTS @NUM_SLOTS@

void NAME_block(const NAME_word *in, NAME_word *v);

"""

PACK = """
#define NAME_STRIDE @STRIDE@
@TABLES@
static const uint32_t NAME_outputs[@NUM_OUTPUTS@] = {@OUTPUT_SLOTS@};

static const NAME_word *NAME_output(const NAME_word *in, const NAME_word *v, int k)
{
  return NAME_outputs[k] < NAME_INPUTS ? in + NAME_outputs[k] : v + (NAME_outputs[k] - NAME_INPUTS);
}

@EIGHT@/* as many bytes as a word of all lanes has, the first one lowest in its lane */
static NAME_word NAME_little(const uint8_t *bytes)
{
  NAME_word w;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  memcpy(&w, bytes, sizeof w);
#else
  uint64_t words[NAME_LANES] = {0};
  for (int k = 0; k < NAME_SPAN; k++)
    words[k / 8] |= (uint64_t)bytes[k] << (8 * (k % 8));
  memcpy(&w, words, sizeof w);
#endif
  return w;
}

/* a's bits under mask << shift and b's under mask change places */
#define NAME_SWAP(a, b, shift, mask) (t = (((a) >> shift) ^ (b)) & mask, b ^= t, a ^= t << shift)

/* Up to NAME_IMAGES rows into words; rows that are not there count as zeros. For 64 rows, a lane, the bytes of eight groups of
   eight rows and of eight inputs change places, for NAME_LANES times eight inputs at once. */
static void NAME_pack(const @NUMBER@ *rows, size_t n, NAME_word *in)
{
  static const uint64_t halves = 0x00000000FFFFFFFFu, pairs = 0x0000FFFF0000FFFFu, bytes = 0x00FF00FF00FF00FFu;
  uint8_t eight[8][NAME_PADDED] = {{0}}@SEPARATELY@some[8 * NAME_FEATURES]@GATHERED@;
  for (size_t l = 0; l < NAME_LANES; l++) {
    for (size_t g = 0; g < 8; g++) {
      const size_t first = 64 * l + 8 * g;
      const @NUMBER@ *row = rows + first * NAME_FEATURES, *ahead = first + 16 <= n ? row + 8 * NAME_FEATURES : NULL;
      if (first + 8 > n) {
        const size_t here = first < n ? (n - first) * NAME_FEATURES : 0;
        memcpy(some, here ? row : rows, here@TIMES_SIZE@);
        memset(some + here, 0, sizeof some - here@TIMES_SIZE@);
        row = some;
      }
@GATHER@      NAME_eight(row, ahead, eight[g]);
    }
    for (size_t j = 0; j < NAME_PADDED; j += NAME_SPAN) {
      NAME_word w0 = NAME_little(eight[0] + j), w1 = NAME_little(eight[1] + j), w2 = NAME_little(eight[2] + j);
      NAME_word w3 = NAME_little(eight[3] + j), w4 = NAME_little(eight[4] + j), w5 = NAME_little(eight[5] + j);
      NAME_word w6 = NAME_little(eight[6] + j), w7 = NAME_little(eight[7] + j), t;
      NAME_SWAP(w0, w4, 32, halves), NAME_SWAP(w1, w5, 32, halves);
      NAME_SWAP(w2, w6, 32, halves), NAME_SWAP(w3, w7, 32, halves);
      NAME_SWAP(w0, w2, 16, pairs), NAME_SWAP(w1, w3, 16, pairs), NAME_SWAP(w4, w6, 16, pairs), NAME_SWAP(w5, w7, 16, pairs);
      NAME_SWAP(w0, w1, 8, bytes), NAME_SWAP(w2, w3, 8, bytes), NAME_SWAP(w4, w5, 8, bytes), NAME_SWAP(w6, w7, 8, bytes);
      const NAME_word w[8] = {w0, w1, w2, w3, w4, w5, w6, w7};
      for (int e = 0; e < NAME_LANES; e++)
        for (int g = 0; g < 8; g++)
          memcpy((uint8_t *)(in + j + 8 * e + g) + 8 * l, (const uint8_t *)&w[g] + 8 * e, 8);
    }
  }
}

/* 64 numbers out of planes: number i has bit k where bit i of the lane of output first + k is set */
static void NAME_unpack(const NAME_word *in, const NAME_word *v, int first, int width, size_t lane, int32_t *numbers)
{
  memset(numbers, 0, 64 * sizeof *numbers);
  for (int low = 0; low < width; low += 8) {
    uint64_t eight[8] = {0};
    for (int k = low; k < width && k < low + 8; k++) {
      uint64_t words[NAME_LANES];
      memcpy(words, NAME_output(in, v, first + k), sizeof words);
      for (int g = 0; g < 8; g++) {
        /* a bit in each byte, moved to the top by a carry that stays in the byte, and down to bit k */
        const uint64_t spread = (words[lane] >> (8 * g) & 0xFF) * 0x0101010101010101u & 0x8040201008040201u;
        eight[g] |= ((spread + 0x7F7F7F7F7F7F7F7Fu) >> 7 & 0x0101010101010101u) << (k - low);
      }
    }
    for (int g = 0; g < 8; g++)
      for (int i = 0; i < 8; i++)
        numbers[8 * g + i] |= (int32_t)(eight[g] >> (8 * i) & 0xFF) << low;
  }
}
"""

HEADER = """\
/* NAME: written by ordinate @VERSION@. A row has NAME_FEATURES @NUMBERS@; image i of a batch is row i. */
#ifndef NAME_H
#define NAME_H

#include <stddef.h>
#include <stdint.h>

#define NAME_FEATURES @NUM_FEATURES@
#define NAME_CLASSES @NUM_CLASSES@

#ifdef __cplusplus
extern "C" {
#endif
@TYPEDEF@
/* the class of each of n rows [n][NAME_FEATURES]: the greatest score, of equal ones the first */
void NAME_predict(const @NUMBER@ *rows, size_t n, int32_t *classes);
/* the scores [n][NAME_CLASSES], (votes + bias) / tau */
void NAME_scores(const @NUMBER@ *rows, size_t n, double *scores);

#ifdef __cplusplus
}
#endif
#endif
"""

EIGHT_BYTES = """\
/* Eight rows as a byte an input: bit k of byte j says whether input j of row k is set. What is `ahead`, the next eight rows if
   there are such, is fetched meanwhile. */
static void NAME_eight(const uint8_t *row, const uint8_t *ahead, uint8_t *eight)
{
  size_t j = 0;
#if NAME_LANES > 1
  /* a vector of inputs at a time; the last vector ends with the last input, so that nothing past a row is read */
  for (; NAME_INPUTS >= NAME_SPAN && j < NAME_INPUTS; j += NAME_SPAN) {
    const size_t at = j + NAME_SPAN <= NAME_INPUTS ? j : (size_t)NAME_INPUTS - NAME_SPAN;
    NAME_bytes x, all = {0}@VECTOR_TABLES@;
    if (ahead)
      for (int e = 0; e < NAME_LANES; e++)
        __builtin_prefetch(ahead + 8 * at + 64 * e);
@VECTOR_LOADS@#define NAME_ROW(k) \\
  (memcpy(&x, row + k * NAME_STRIDE + at, sizeof x), all |= (NAME_bytes)(@VECTOR_COMPARISON@) & (uint8_t)(1 << k))
    NAME_ROW(0), NAME_ROW(1), NAME_ROW(2), NAME_ROW(3), NAME_ROW(4), NAME_ROW(5), NAME_ROW(6), NAME_ROW(7);
#undef NAME_ROW
@VECTOR_EVER@    memcpy(eight + at, &all, sizeof all);
  }
#endif
  (void)ahead;
  for (; j < NAME_INPUTS; j++) {
    unsigned all = 0;
    for (int k = 0; k < 8; k++) {
      const uint8_t x = row[k * NAME_STRIDE + j];
      all |= (unsigned)(@COMPARISON@) << k;
    }
    eight[j] = (uint8_t)all;
  }
}

"""

EIGHT_NUMBERS = """\
/* Eight rows as a byte an input: bit k of byte j says whether input j of row k is set. */
static void NAME_eight(const NAME_number *row, const NAME_number *ahead, uint8_t *eight)
{
  (void)ahead;
  for (size_t j = 0; j < NAME_INPUTS; j++) {
    unsigned all = 0;
    for (int k = 0; k < 8; k++)
      all |= (unsigned)((@WIDE@)row[k * NAME_STRIDE + j] > NAME_threshold[j]) << k;
    eight[j] = (uint8_t)all;
  }
}

"""

PREDICT = """
void NAME_predict(const @NUMBER@ *rows, size_t n, int32_t *classes);
void NAME_scores(const @NUMBER@ *rows, size_t n, double *scores);

/* the class of each of n rows [n][NAME_FEATURES]: the greatest score, of equal ones the first */
void NAME_predict(const @NUMBER@ *rows, size_t n, int32_t *classes)
{
  NAME_word in[NAME_PADDED], v[NAME_SLOTS];
  int32_t found[64];
  for (size_t start = 0; start < n; start += NAME_IMAGES) {
    const size_t here = n - start < NAME_IMAGES ? n - start : NAME_IMAGES;
    NAME_pack(rows + start * NAME_FEATURES, here, in);
    NAME_block(in, v);
    for (size_t l = 0; 64 * l < here; l++) {
      NAME_unpack(in, v, 0, @CLASS_BITS@, l, found);
      memcpy(classes + start + 64 * l, found, (here - 64 * l < 64 ? here - 64 * l : 64) * sizeof *found);
    }
  }
}

/* the scores [n][NAME_CLASSES], (votes + bias) / tau */
void NAME_scores(const @NUMBER@ *rows, size_t n, double *scores)
{
  static const int starts[NAME_CLASSES] = {@COUNT_STARTS@}, widths[NAME_CLASSES] = {@COUNT_WIDTHS@};
  static const double offset[NAME_CLASSES] = {@OFFSETS@}, bias[NAME_CLASSES] = {@BIAS@};
  NAME_word in[NAME_PADDED], v[NAME_SLOTS];
  int32_t found[64];
  for (size_t start = 0; start < n; start += NAME_IMAGES) {
    const size_t here = n - start < NAME_IMAGES ? n - start : NAME_IMAGES;
    NAME_pack(rows + start * NAME_FEATURES, here, in);
    NAME_block(in, v);
    for (size_t l = 0; 64 * l < here; l++) {
      double *out = scores + (start + 64 * l) * NAME_CLASSES;
      const size_t some = here - 64 * l < 64 ? here - 64 * l : 64;
      for (size_t c = 0; c < NAME_CLASSES; c++) {
        NAME_unpack(in, v, starts[c], widths[c], l, found);
        for (size_t i = 0; i < some; i++)
          out[i * NAME_CLASSES + c] = ((offset[c] + found[i]) + bias[c]) / @TAU@;
      }
    }
  }
}
"""

_BENCH_BLOCK = """
static double NAME_bench_block(double seconds)
{
  static NAME_word in[NAME_INPUTS], v[NAME_SLOTS];
  uint64_t state = 88172645463325252u, images = 0;
  uint8_t *bytes = (uint8_t *)in;
  for (size_t i = 0; i < sizeof in; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    bytes[i] = (uint8_t)state;
  }
  NAME_block(in, v);
  const clock_t begin = clock();
  double taken = 0;
  while (taken < seconds) {
    for (int i = 0; i < 100; i++, images += NAME_IMAGES)
      NAME_block(in, v);
    taken = (double)(clock() - begin) / CLOCKS_PER_SEC;
  }
  return (double)images / taken;
}
"""

MAIN = (
    """
#ifdef NAME_MAIN
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
"""
    + _BENCH_BLOCK
    + """
static double NAME_bench_predict(double seconds)
{
  enum { ROWS = 10000 };
  @NUMBER@ *rows = malloc((size_t)ROWS * NAME_FEATURES@TIMES_ROW@);
  int32_t *classes = malloc(ROWS * sizeof *classes);
  uint64_t state = 88172645463325252u, images = 0;
  if (!rows || !classes)
    exit(2);
  for (size_t i = 0; i < (size_t)ROWS * NAME_FEATURES; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    rows[i] = (@NUMBER@)@DRAW@;
  }
  NAME_predict(rows, ROWS, classes);
  const clock_t begin = clock();
  double taken = 0;
  while (taken < seconds) {
    NAME_predict(rows, ROWS, classes);
    images += ROWS;
    taken = (double)(clock() - begin) / CLOCKS_PER_SEC;
  }
  free(rows);
  free(classes);
  return (double)images / taken;
}

int main(int argc, char **argv)
{
  static @NUMBER@ rows[NAME_IMAGES * NAME_FEATURES];
  static int32_t classes[NAME_IMAGES];
  static double scores[NAME_IMAGES * NAME_CLASSES];
  size_t got;
  if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
    const double seconds = argc > 2 ? atof(argv[2]) : 1;
    printf("{\\"lanes\\": %d, \\"block_images_per_second\\": %.0f, ", NAME_LANES, NAME_bench_block(seconds));
    printf("\\"bytes_to_class_images_per_second\\": %.0f}\\n", NAME_bench_predict(seconds));
    return 0;
  }
  while ((got = fread(rows, 1, sizeof rows, stdin)) > 0) {
    const size_t n = got / @ROW_BYTES@;
    if (got % @ROW_BYTES@) {
      fprintf(stderr, "NAME: expected rows of %d bytes, got %d bytes past the last whole one\\n", @ROW_BYTES_INT@,
              (int)(got % @ROW_BYTES@));
      return 2;
    }
    NAME_predict(rows, n, classes);
    NAME_scores(rows, n, scores);
    for (size_t i = 0; i < n; i++) {
      printf("%d", (int)classes[i]);
      for (size_t c = 0; c < NAME_CLASSES; c++)
        printf(" %.17g", scores[i * NAME_CLASSES + c]);
      printf("\\n");
    }
  }
  return 0;
}
#endif
"""
)

GATES_MAIN = (
    """
#ifdef NAME_MAIN
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
"""
    + _BENCH_BLOCK
    + """
int main(int argc, char **argv)
{
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  printf("{\\"lanes\\": %d, \\"gates_images_per_second\\": %.0f}\\n", NAME_LANES, NAME_bench_block(seconds));
  return 0;
}
#endif
"""
)


_OPERATIONS = {6: "{a} ^ {b}", 8: "{a} & {b}", 4: "{a} & ~{b}", 14: "{a} | {b}", 3: "~{a}"}
_CONSTANTS = {0: "{a} & ~{a}", 15: "{a} | ~{a}"}
_C_WORDS = {"main", "int", "double", "float", "void", "if", "else", "for", "while", "do", "static", "const", "return", "NAME"}
_PART = 500  # operations a function: compile time grows faster than the length of a function


def c_source(
    circuit: Circuit,
    name: str = "circuit",
    *,
    stage: Literal["all", "gates"] = "all",
    dtype: str | None = None,
    file: str | None = None,
) -> str:
    """The C file of a circuit.

    With `stage="all"` it has

        void NAME_predict(const uint8_t *rows, size_t n, int32_t *classes);   rows [n][NAME_FEATURES]
        void NAME_scores(const uint8_t *rows, size_t n, double *scores);      scores [n][NAME_CLASSES], (votes + bias) / tau
        void NAME_block(const NAME_word *in, NAME_word *v);                   words in, words out

    where a row holds the numbers that the circuit's thresholds are for, of the type `dtype` (`NAME_number` where that is not a
    byte), or a byte an input bit (0 or not) where it has none. Integers are compared with the floor of a threshold, floating
    numbers with the threshold itself, in double: both are exact.

    Args:
        circuit: any; simplify it before.
        name: what every name in the file begins with.
        dtype: type of the numbers, one of `ordinate.logic.circuit.input_thresholds.DTYPES`; by default that of the thresholds,
            bytes where all are integers from 0 to 254, else float64.
        file: the name that the file will have, for the compile lines in its comment; `NAME.c` by default.
        stage: "gates" leaves packing, counting and comparing out: `NAME_block` then ends with the signals that vote.

    Raises:
        ArgumentError: a name that is none in C.
        UnknownNameError: another dtype.
        RefusedError: a dtype for a circuit without thresholds.

    >>> source = c_source(Circuit(2, [6], [0], [1], votes=[([2], [-1]), ([2], [1])]), "parity")
    >>> "void parity_predict(const uint8_t *rows, size_t n, int32_t *classes)" in source
    True
    """
    _check_name(name)
    program = lower(circuit, stage, recompute=True)
    inputs, parts = circuit.inputs, _inputs(circuit, dtype)
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
        **_memory(circuit, program, parts),
        "MEANING": "a bit: 0 or not" if inputs is None else "a number, compared with its threshold",
    } | parts
    text = text.replace("@EIGHT@", EIGHT_BYTES if named["NUMBER"] == "uint8_t" else EIGHT_NUMBERS)
    text = re.sub(r"@([A-Z_]+)@", lambda match: named[match[1]], text)
    text = re.sub(r"@([A-Z_]+)@", lambda match: named[match[1]], text)  # a part may hold parts
    return re.sub(r"(?<=-D)NAME_|\bNAME_", f"{name}_", text).replace("NAME:", f"{name}:").replace("NAME.c", file or f"{name}.c")


def c_header(circuit: Circuit, name: str = "circuit", *, dtype: str | None = None) -> str:
    """The header of `c_source`: sizes, the type of a number, and the two functions. Arguments and errors as there.

    >>> "void net_predict(const uint8_t *rows, size_t n, int32_t *classes);" in c_header(
    ...     Circuit(2, [6], [0], [1], votes=[([2], [-1]), ([2], [1])]), "net"
    ... )
    True
    """
    _check_name(name)
    inputs, parts = circuit.inputs, _inputs(circuit, dtype)
    text = HEADER
    named = parts | {
        "VERSION": __version__,
        "NUM_FEATURES": str(circuit.num_inputs if inputs is None else inputs.num_features),
        "NUM_CLASSES": str(circuit.num_classes),
    }
    text = re.sub(r"@([A-Z_]+)@", lambda match: named[match[1]], text)
    return text.replace("NAME_H", f"{name.upper()}_H").replace("NAME", name)


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", name) or name in _C_WORDS:
        raise ArgumentError("name", expected="a name in C: letters, digits, underscores", got=name)


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


def _inputs(circuit: Circuit, dtype: str | None) -> dict[str, str]:
    """Where the inputs look and what they compare with: a bit is `byte >= least`, unless it never is."""
    inputs = circuit.inputs
    parts = dict.fromkeys(("TABLES", "GATHERED", "GATHER", "VECTOR_TABLES", "VECTOR_LOADS", "VECTOR_EVER", "TYPEDEF"), "")
    parts |= {"STRIDE": "NAME_FEATURES", "NUMBER": "uint8_t", "NUMBERS": "bytes", "SEPARATELY": ", ", "DRAW": "state"}
    parts |= {"TIMES_SIZE": "", "TIMES_ROW": "", "ROW_BYTES": "NAME_FEATURES", "ROW_BYTES_INT": "NAME_FEATURES"}
    if inputs is None:
        if dtype is not None:
            raise RefusedError("dtype", expected="a circuit that carries thresholds", got="one of bits, which are bytes")
        return parts | {"COMPARISON": "x != 0", "VECTOR_COMPARISON": "x != 0"}
    dtype = inputs.emitted_dtype() if dtype is None else check_choice("dtype", dtype, DTYPES)
    if dtype != "uint8":
        parts |= _wide(inputs, dtype)
    else:
        parts |= _compared_bytes(inputs)
    if not np.array_equal(inputs.feature, np.arange(circuit.num_inputs)):
        parts["STRIDE"] = "NAME_INPUTS"
        parts["TABLES"] += f"static const uint32_t NAME_feature[NAME_INPUTS] = {{{_numbers(inputs.feature.tolist())}}};\n"
        parts["GATHERED"] = ", gathered[8 * NAME_INPUTS]"
        parts["GATHER"] = """\
      for (size_t k = 0; k < 8; k++)
        for (size_t j = 0; j < NAME_INPUTS; j++)
          gathered[k * NAME_INPUTS + j] = row[k * NAME_FEATURES + NAME_feature[j]];
      row = gathered;
      ahead = NULL;
"""
    return parts


def c_memory(circuit: Circuit, dtype: str | None = None) -> dict[str, int]:
    """What the file of `c_source` needs, nearly: bytes of tables, and on the stack bytes and words of 8 to 64 bytes.

    >>> sorted(c_memory(Circuit(2, [6], [0], [1], votes=[([2], [1])])))
    ['stack_bytes', 'stack_words', 'table_bytes']
    """
    return _needs(circuit, lower(circuit, "all", recompute=True), _inputs(circuit, dtype))


def _needs(circuit: Circuit, program: Program, parts: dict[str, str]) -> dict[str, int]:
    inputs = circuit.inputs
    features = circuit.num_inputs if inputs is None else inputs.num_features
    size = {"uint8_t": 1}.get(parts["NUMBER"], 8)
    tables = 4 * len(program.outputs) + circuit.num_classes * 24
    tables += (
        0
        if inputs is None
        else circuit.num_inputs * (1 if size == 1 else 8) + (4 * circuit.num_inputs if parts["GATHER"] else 0)
    )
    stack = 8 * (circuit.num_inputs + 64) + 8 * size * (features + (circuit.num_inputs if parts["GATHER"] else 0)) + 320
    words = circuit.num_inputs + 64 + max(1, program.num_slots - program.num_inputs)
    return {"table_bytes": tables, "stack_bytes": stack, "stack_words": words}


def _memory(circuit: Circuit, program: Program, parts: dict[str, str]) -> dict[str, str]:
    needs = _needs(circuit, program, parts)
    return {
        "TABLE_BYTES": f"about {needs['table_bytes']:,}",
        "STACK_BYTES": f"about {needs['stack_bytes']:,}",
        "STACK_WORDS": f"up to {needs['stack_words']:,}",
    }


def _wide(inputs: InputThresholds, dtype: str) -> dict[str, str]:
    """Comparisons of numbers that are no bytes: integers with the floor of each threshold, floating numbers with itself."""
    if dtype.startswith("float"):
        wide, kind = "double", {"float32": "float", "float64": "double"}[dtype]
        values = [float(one).hex() for one in inputs.threshold]
    else:
        wide, kind, bounds = "int64_t", f"{dtype}_t", np.iinfo(dtype)
        values = [str(int(one)) for one in np.clip(np.floor(inputs.threshold), int(bounds.min) - 1, int(bounds.max))]
    return {
        "TABLES": f"static const {wide} NAME_threshold[NAME_INPUTS] = {{{_numbers(values)}}};\n",
        "TYPEDEF": f"typedef {kind} NAME_number;\n",
        "NUMBER": "NAME_number",
        "NUMBERS": f"numbers of type {kind}",
        "WIDE": wide,
        "SEPARATELY": ";\n  NAME_number ",
        "DRAW": "(int)(state & 127)",
        "TIMES_SIZE": " * sizeof *some",
        "TIMES_ROW": " * sizeof *rows",
        "ROW_BYTES": "(NAME_FEATURES * sizeof *rows)",
        "ROW_BYTES_INT": "(int)(NAME_FEATURES * sizeof *rows)",
    }


def _compared_bytes(inputs: InputThresholds) -> dict[str, str]:
    least, parts = inputs.least_bytes(), dict[str, str]()
    parts["TABLES"] = _bytes("least", np.minimum(least, 255))
    parts["VECTOR_TABLES"] = ", least"
    parts["VECTOR_LOADS"] = "    memcpy(&least, NAME_least + at, sizeof least);\n"
    parts["VECTOR_COMPARISON"] = "x >= least"
    parts["COMPARISON"] = "x >= NAME_least[j]"
    if (least == 256).any():
        parts["TABLES"] += _bytes("ever", np.where(least < 256, 255, 0))
        parts["VECTOR_EVER"] = "    memcpy(&x, NAME_ever + at, sizeof x);\n    all &= x;\n"
        parts["COMPARISON"] = "(x >= NAME_least[j]) & NAME_ever[j]"
    return parts


def _bytes(name: str, values: npt.NDArray[np.int_]) -> str:
    return f"static const uint8_t NAME_{name}[NAME_INPUTS] = {{{_numbers(values.tolist())}}};\n"


def _numbers(values: list[int] | list[str]) -> str:
    return ", ".join(map(str, values)) if values else "0"
