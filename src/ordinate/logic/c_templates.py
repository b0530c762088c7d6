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
#define NAME_LANES 8
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
static const uint32_t NAME_outputs[@NUM_OUTPUTS@] = {@OUTPUT_SLOTS@};

static const NAME_word *NAME_output(const NAME_word *in, const NAME_word *v, int k)
{
  return NAME_outputs[k] < NAME_INPUTS ? in + NAME_outputs[k] : v + (NAME_outputs[k] - NAME_INPUTS);
}

/* up to NAME_IMAGES rows into words; rows that are not there count as zeros */
static void NAME_pack(const uint8_t *rows, size_t n, NAME_word *in)
{
  static const uint8_t none[NAME_INPUTS];
  uint8_t eights[8 * NAME_LANES][NAME_INPUTS];
  uint64_t lanes[NAME_LANES];
  for (size_t g = 0; g < 8 * NAME_LANES; g++) {
    memcpy(eights[g], none, sizeof none);
    for (size_t k = 0; k < 8 && 8 * g + k < n; k++) {
      const uint8_t *row = rows + (8 * g + k) * NAME_FEATURES;
      for (size_t j = 0; j < NAME_INPUTS; j++)
        eights[g][j] |= (uint8_t)((@COMPARISON@) << k);
    }
  }
  for (size_t j = 0; j < NAME_INPUTS; j++) {
    for (size_t l = 0; l < NAME_LANES; l++) {
      uint64_t w = 0;
      for (size_t g = 0; g < 8; g++)
        w |= (uint64_t)eights[8 * l + g][j] << (8 * g);
      lanes[l] = w;
    }
    memcpy(in + j, lanes, sizeof lanes);
  }
}
"""

PREDICT = """
void NAME_predict(const uint8_t *rows, size_t n, int32_t *classes);
void NAME_scores(const uint8_t *rows, size_t n, double *scores);

/* the class of each of n rows [n][NAME_FEATURES]: the greatest score, of equal ones the first */
void NAME_predict(const uint8_t *rows, size_t n, int32_t *classes)
{
  NAME_word in[NAME_INPUTS], v[NAME_SLOTS];
  uint64_t lanes[@CLASS_BITS@][NAME_LANES];
  for (size_t start = 0; start < n; start += NAME_IMAGES) {
    const size_t here = n - start < NAME_IMAGES ? n - start : NAME_IMAGES;
    NAME_pack(rows + start * NAME_FEATURES, here, in);
    NAME_block(in, v);
    for (int k = 0; k < @CLASS_BITS@; k++)
      memcpy(lanes[k], NAME_output(in, v, k), sizeof lanes[k]);
    for (size_t i = 0; i < here; i++) {
      uint32_t found = 0;
      for (int k = 0; k < @CLASS_BITS@; k++)
        found |= (uint32_t)(lanes[k][i / 64] >> (i % 64) & 1) << k;
      classes[start + i] = (int32_t)found;
    }
  }
}

/* the scores [n][NAME_CLASSES], (votes + bias) / tau */
void NAME_scores(const uint8_t *rows, size_t n, double *scores)
{
  static const int starts[NAME_CLASSES] = {@COUNT_STARTS@}, widths[NAME_CLASSES] = {@COUNT_WIDTHS@};
  static const double offset[NAME_CLASSES] = {@OFFSETS@}, bias[NAME_CLASSES] = {@BIAS@};
  NAME_word in[NAME_INPUTS], v[NAME_SLOTS];
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
