/* Reads golden vectors of a rotation in C99, with nothing but the standard library, and holds a rotation written here to them.
 *
 *     ordinate golden --all --out vectors
 *     cc -std=c99 -O2 -o read_golden examples/golden/read_golden.c -lm
 *     ./read_golden vectors/rotary-half.json vectors/rotary-interleaved.json
 *
 * The reader is no JSON library: it looks for a key inside the object of another key and reads the number, the word or the list
 * of numbers that stands there, which is all that the format needs. Exit 0 when every number is within its tolerance, 1 when one
 * is not, 2 for a file that cannot be read or that this example has no code for.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    if (text != NULL) text[fread(text, 1, (size_t)size, file)] = '\0';
    fclose(file);
    return text;
}

/* The value of `key`, which must be a direct child of the object or list that `at` points to; NULL if there is none. */
static const char *child(const char *at, const char *key) {
    int depth = 0;
    size_t length = strlen(key);
    if (at == NULL) return NULL;
    for (const char *c = at; *c != '\0'; c++) {
        if (*c == '"') {
            const char *start = c + 1;
            for (c = start; *c != '\0' && *c != '"'; c++)
                if (*c == '\\') c++;
            if (*c == '\0') return NULL;
            if (depth == 1 && (size_t)(c - start) == length && strncmp(start, key, length) == 0) {
                const char *after = c + 1;
                while (*after == ' ' || *after == '\n') after++;
                if (*after == ':') {
                    after++;
                    while (*after == ' ' || *after == '\n') after++;
                    return after;
                }
            }
        } else if (*c == '{' || *c == '[') {
            depth++;
        } else if (*c == '}' || *c == ']') {
            if (--depth == 0) return NULL;
        }
    }
    return NULL;
}

static double number(const char *at, double otherwise) { return at == NULL ? otherwise : strtod(at, NULL); }

/* Reads a list of numbers into new memory and tells how many there are. */
static double *numbers(const char *at, int *count) {
    int room = 16;
    double *list = malloc(sizeof(double) * (size_t)room);
    *count = 0;
    if (at == NULL || *at != '[' || list == NULL) return list;
    for (const char *c = at + 1; *c != '\0' && *c != ']';) {
        char *end;
        double value = strtod(c, &end);
        if (end == c) {
            c++;
            continue;
        }
        if (*count == room) {
            room *= 2;
            double *larger = realloc(list, sizeof(double) * (size_t)room);
            if (larger == NULL) return list;
            list = larger;
        }
        list[(*count)++] = value;
        c = end;
    }
    return list;
}

static int is_word(const char *at, const char *word) {
    return at != NULL && *at == '"' && strncmp(at + 1, word, strlen(word)) == 0 && at[1 + strlen(word)] == '"';
}

static int check(const char *path) {
    char *text = read_file(path);
    if (text == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 2;
    }
    const char *settings = child(text, "settings"), *inputs = child(text, "inputs");
    const char *output = child(child(text, "outputs"), "rotated");
    const char *tolerance = child(child(child(text, "tolerances"), "rotated"), "float64");
    const char *scaling = child(text, "scaling");
    if (!is_word(child(text, "schema"), "ordinate.golden/1") || !is_word(child(text, "encoding"), "rotary") ||
        scaling == NULL || strncmp(scaling, "null", 4) != 0) {
        fprintf(stderr, "%s: this example has no code for it\n", path);
        free(text);
        return 2;
    }
    int count, tokens, rank, expected_count, wrong = 0;
    double *x = numbers(child(child(inputs, "x"), "data"), &count);
    double *shape = numbers(child(child(inputs, "x"), "shape"), &rank);
    double *positions = numbers(child(child(inputs, "positions"), "data"), &tokens);
    double *expected = numbers(child(output, "float64"), &expected_count);
    int channels = (int)shape[rank - 1];
    int turning = (int)number(child(settings, "rotary_dim"), channels);
    int start = is_word(child(settings, "rotated_channels"), "last") ? channels - turning : 0;
    int half = is_word(child(settings, "layout"), "half");
    double base = number(child(settings, "base"), 10000.0);
    double absolute = number(child(tolerance, "absolute"), 0.0);
    double per_position = number(child(tolerance, "per_position"), 0.0);

    double *turned = malloc(sizeof(double) * (size_t)count);
    memcpy(turned, x, sizeof(double) * (size_t)count);
    for (int row = 0; row < count / channels; row++) {
        for (int pair = 0; pair < turning / 2; pair++) {
            double angle = positions[row % tokens] * pow(base, -2.0 * pair / turning);
            int first = row * channels + start + (half ? pair : 2 * pair);
            int second = half ? first + turning / 2 : first + 1;
            turned[first] = x[first] * cos(angle) - x[second] * sin(angle);
            turned[second] = x[first] * sin(angle) + x[second] * cos(angle);
        }
    }
    for (int i = 0; i < count; i++) {
        double allowed = absolute + per_position * fabs(positions[i / channels % tokens]);
        if (count != expected_count || !(fabs(turned[i] - expected[i]) <= allowed)) wrong++;
    }
    printf("%s: %d numbers, %d wrong\n", path, count, wrong);
    free(x), free(shape), free(positions), free(expected), free(turned), free(text);
    return wrong == 0 && count > 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    int code = argc < 2 ? 2 : 0;
    for (int i = 1; i < argc; i++) {
        int one = check(argv[i]);
        if (one > code) code = one;
    }
    return code;
}
