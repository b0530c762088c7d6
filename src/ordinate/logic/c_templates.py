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
#define NAME_PADDED ((NAME_INPUTS + 7) / 8 * 8)

#if defined(__GNUC__) && !defined(NAME_WORD64)
#if defined(__AVX512F__)
#define NAME_LANES 8
#elif defined(__AVX2__)
#define NAME_LANES 4
#else
#define NAME_LANES 2
#endif
typedef uint64_t NAME_word __attribute__((vector_size(8 * NAME_LANES)));
#else
#define NAME_LANES 1
typedef uint64_t NAME_word;
#endif
#define NAME_IMAGES (64 * NAME_LANES)
#define NAME_SLOTS @NUM_SLOTS@

void NAME_block(const NAME_word *in, NAME_word *v);

"""

PACK = """
@TABLES@
#define NAME_bit(row, j) (@COMPARISON@)

static const uint32_t NAME_outputs[@NUM_OUTPUTS@] = {@OUTPUT_SLOTS@};

static const NAME_word *NAME_output(const NAME_word *in, const NAME_word *v, int k)
{
  return NAME_outputs[k] < NAME_INPUTS ? in + NAME_outputs[k] : v + (NAME_outputs[k] - NAME_INPUTS);
}

/* eight bytes as a word, the first one lowest */
static uint64_t NAME_eight(const uint8_t *bytes)
{
  uint64_t w = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  memcpy(&w, bytes, sizeof w);
#else
  for (int k = 0; k < 8; k++)
    w |= (uint64_t)bytes[k] << (8 * k);
#endif
  return w;
}

#define NAME_SWAP(a, b, shift, mask)              \\
  do {                                            \\
    const NAME_word t = (((a) >> shift) ^ (b)) & mask; \\
    b ^= t;                                       \\
    a ^= t << shift;                              \\
  } while (0)

/* Up to NAME_IMAGES rows into words; rows that are not there count as zeros. Eight rows become bytes, a bit a row; then the
   bytes of eight inputs and eight such groups change places, in all lanes at once. */
static void NAME_pack(const uint8_t *rows, size_t n, NAME_word *in)
{
  static const uint8_t none[NAME_FEATURES];
  static const uint64_t halves = 0x00000000FFFFFFFFu, pairs = 0x0000FFFF0000FFFFu, bytes = 0x00FF00FF00FF00FFu;
  uint8_t eight[NAME_PADDED] = {0};
  uint64_t block[NAME_PADDED / 8][8][NAME_LANES];
  for (size_t g = 0; g < 8 * NAME_LANES; g++) {
    const uint8_t *row[8];
    for (size_t k = 0; k < 8; k++)
      row[k] = 8 * g + k < n ? rows + (8 * g + k) * NAME_FEATURES : none;
    const uint8_t *r0 = row[0], *r1 = row[1], *r2 = row[2], *r3 = row[3];
    const uint8_t *r4 = row[4], *r5 = row[5], *r6 = row[6], *r7 = row[7];
    for (size_t j = 0; j < NAME_INPUTS; j++)
      eight[j] = (uint8_t)((NAME_bit(r0, j) ? 1 : 0) | (NAME_bit(r1, j) ? 2 : 0) | (NAME_bit(r2, j) ? 4 : 0) |
                           (NAME_bit(r3, j) ? 8 : 0) | (NAME_bit(r4, j) ? 16 : 0) | (NAME_bit(r5, j) ? 32 : 0) |
                           (NAME_bit(r6, j) ? 64 : 0) | (NAME_bit(r7, j) ? 128 : 0));
    for (size_t j = 0; j < NAME_PADDED / 8; j++)
      block[j][g % 8][g / 8] = NAME_eight(eight + 8 * j);
  }
  for (size_t j = 0; j < NAME_PADDED / 8; j++) {
    NAME_word w[8];
    memcpy(w, block[j], sizeof w);
    for (int g = 0; g < 4; g++)
      NAME_SWAP(w[g], w[g + 4], 32, halves);
    for (int g = 0; g < 8; g += g % 2 ? 3 : 1)
      NAME_SWAP(w[g], w[g + 2], 16, pairs);
    for (int g = 0; g < 8; g += 2)
      NAME_SWAP(w[g], w[g + 1], 8, bytes);
    memcpy(in + 8 * j, w, sizeof w);
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
  uint64_t lanes[@CLASS_BITS@][NAME_LANES];
  for (size_t start = 0; start < n; start += NAME_IMAGES) {
    const size_t here = n - start < NAME_IMAGES ? n - start : NAME_IMAGES;
    NAME_pack(rows + start * NAME_FEATURES, here, in);
    NAME_block(in, v);
    for (int k = 0; k < @CLASS_BITS@; k++)
      memcpy(lanes[k], NAME_output(in, v, k), sizeof lanes[k]);
    for (size_t l = 0; 64 * l < here; l++) {
      int32_t found[64] = {0};
      for (int k = 0; k < @CLASS_BITS@; k++)
        for (int i = 0; i < 64; i++)
          found[i] |= (int32_t)((lanes[k][l] >> i & 1) << k);
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
  uint64_t lanes[NAME_LANES];
  for (size_t start = 0; start < n; start += NAME_IMAGES) {
    const size_t here = n - start < NAME_IMAGES ? n - start : NAME_IMAGES;
    double *out = scores + start * NAME_CLASSES;
    NAME_pack(rows + start * NAME_FEATURES, here, in);
    NAME_block(in, v);
    for (size_t c = 0; c < NAME_CLASSES; c++) {
      for (size_t i = 0; i < here; i++)
        out[i * NAME_CLASSES + c] = offset[c];
      for (int k = 0; k < widths[c]; k++) {
        memcpy(lanes, NAME_output(in, v, starts[c] + k), sizeof lanes);
        for (size_t i = 0; i < here; i++)
          out[i * NAME_CLASSES + c] += (double)((lanes[i / 64] >> (i % 64) & 1) << k);
      }
      for (size_t i = 0; i < here; i++)
        out[i * NAME_CLASSES + c] = (out[i * NAME_CLASSES + c] + bias[c]) / @TAU@;
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
