"""The fixed parts of the emitted C: types, packing, unpacking and the test program. `NAME_` and `@...@` are filled in."""

from __future__ import annotations

__all__ = ["GATES_MAIN", "HEAD", "MAIN", "PACK", "PREDICT"]

HEAD = """\
/* NAME: a logic circuit of @GATES@ two-input gates, written by ordinate @VERSION@.
 *
 * C99, no dependency. @OPERATIONS@ word operations a block of NAME_IMAGES images.
 * Each of the @NUM_FEATURES@ bytes of a row is @MEANING@.
 *
 *   cc -std=c99 -O3 -march=native -c NAME.c            a part of a program
 *   cc -std=c99 -O3 -march=native -DNAME_MAIN NAME.c   a program: rows of bytes in, classes and scores out
 *   -DNAME_WORD64                                      words of 64 bits, whatever the machine has
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
#define NAME_IMAGES (64 * NAME_LANES)
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

/* as many bytes as a word of all lanes has, the first one lowest in its lane */
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
static void NAME_pack(const uint8_t *rows, size_t n, NAME_word *in)
{
  static const uint64_t halves = 0x00000000FFFFFFFFu, pairs = 0x0000FFFF0000FFFFu, bytes = 0x00FF00FF00FF00FFu;
  uint8_t eight[8][NAME_PADDED] = {{0}}, some[8 * NAME_FEATURES]@GATHERED@;
  for (size_t l = 0; l < NAME_LANES; l++) {
    for (size_t g = 0; g < 8; g++) {
      const size_t first = 64 * l + 8 * g;
      const uint8_t *row = rows + first * NAME_FEATURES, *ahead = first + 16 <= n ? row + 8 * NAME_FEATURES : NULL;
      if (first + 8 > n) {
        const size_t here = first < n ? (n - first) * NAME_FEATURES : 0;
        memcpy(some, here ? row : rows, here);
        memset(some + here, 0, sizeof some - here);
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

PREDICT = """
void NAME_predict(const uint8_t *rows, size_t n, int32_t *classes);
void NAME_scores(const uint8_t *rows, size_t n, double *scores);

/* the class of each of n rows [n][NAME_FEATURES]: the greatest score, of equal ones the first */
void NAME_predict(const uint8_t *rows, size_t n, int32_t *classes)
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
void NAME_scores(const uint8_t *rows, size_t n, double *scores)
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
  uint8_t *rows = malloc((size_t)ROWS * NAME_FEATURES);
  int32_t *classes = malloc(ROWS * sizeof *classes);
  uint64_t state = 88172645463325252u, images = 0;
  if (!rows || !classes)
    exit(2);
  for (size_t i = 0; i < (size_t)ROWS * NAME_FEATURES; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    rows[i] = (uint8_t)state;
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
  static uint8_t rows[NAME_IMAGES * NAME_FEATURES];
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
    const size_t n = got / NAME_FEATURES;
    if (got % NAME_FEATURES) {
      fprintf(stderr, "NAME: expected rows of %d bytes, got %d bytes past the last whole one\\n", NAME_FEATURES,
              (int)(got % NAME_FEATURES));
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
