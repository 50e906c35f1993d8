#include "tools/numbers.h"

#include "base/ascii.h"

int32_t tool_number_read(const char **at, int32_t most) {
  int64_t number = lumos_is_digit(**at) ? 0 : -1;
  while (lumos_is_digit(**at) && number <= most) {
    number = 10 * number + (*(*at)++ - '0');
  }
  return number > most ? -1 : (int32_t)number;
}

bool tool_numbers_read(const char *text, struct tool_numbers *numbers) {
  enum { MOST = 1 << 20 };
  bool good = true;
  do {
    int32_t first = tool_number_read(&text, MOST);
    int32_t last = first;
    if (*text == '-') {
      text++;
      last = tool_number_read(&text, MOST);
    }
    good = first >= 0 && last >= first && (*text == ',' || *text == '\0');
    for (int32_t number = first; good && number <= last && numbers->count <= MOST; number++) {
      lumos_vector_push(numbers, number);
    }
  } while (good && *text++ == ',');
  return good;
}
