/* Optimal string alignment: the Levenshtein distance, with a swap of neighbors as one change. */
#include "base/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST_WORD = 32 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t distance(const char *from, const char *to) {
  size_t rows = strlen(from);
  size_t columns = strlen(to);
  size_t table[LONGEST_WORD + 1][LONGEST_WORD + 1];
  if (rows > LONGEST_WORD || columns > LONGEST_WORD) {
    return SIZE_MAX;
  }
  for (size_t row = 0; row <= rows; row++) {
    for (size_t column = 0; column <= columns; column++) {
      if (row == 0 || column == 0) {
        table[row][column] = row + column;
        continue;
      }
      bool alike = from[row - 1] == to[column - 1];
      table[row][column] = least(least(table[row - 1][column], table[row][column - 1]) + 1,
                                 table[row - 1][column - 1] + (alike ? 0 : 1));
      if (row > 1 && column > 1 && from[row - 1] == to[column - 2] && from[row - 2] == to[column - 1]) {
        table[row][column] = least(table[row][column], table[row - 2][column - 2] + 1);
      }
    }
  }
  return table[rows][columns];
}

void lumos_nearest_offer(struct lumos_nearest *nearest, const char *candidate) {
  size_t length = strlen(nearest->word);
  bool begins = length > 0 && strncmp(candidate, nearest->word, length) == 0;
  size_t change = begins ? 0 : distance(nearest->word, candidate);
  size_t limit = nearest->best == NULL ? length / 2 + 1 : nearest->distance;
  if (change < limit) {
    nearest->best = candidate;
    nearest->distance = change;
  }
}
