/* A machine of one state a byte: what may stand here says what may stand next. Brackets are a stack; the keys of all
 * open objects are in one hash table, from which an object that closes takes its own in the reverse order, so that no
 * gap is left in a row of probes.
 */
#include "base/json_check.h"

#include "base/ascii.h"
#include "base/json.h"
#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>

enum state {
  MARK, /* the byte order mark, or what comes without one */
  VALUE,
  FIRST_VALUE, /* or the end of the list */
  FIRST_KEY,   /* or the end of the object */
  KEY,
  COLON,
  BEHIND, /* a value */
  STRING,
  ESCAPE,
  HEX,
  WIDE, /* inside a character beyond ASCII */
  WORD,
  MINUS,
  ZERO,
  WHOLE,
  DOT,
  FRACTION,
  EXPONENT,
  EXPONENT_SIGN,
  EXPONENT_DIGITS,
};

struct level {
  char closing;
  uint64_t object; /* its number */
  size_t first_key;
};

struct lumos_json_check {
  uint64_t byte; /* of the text: the next one */
  uint64_t fault_byte;
  const char *fault;
  enum state state;
  bool in_key;
  unsigned left;           /* bytes of a character, digits of an escape */
  unsigned char low, high; /* what the next byte of a character may be */
  const char *word;        /* what is left of it */
  uint64_t key_byte;       /* where the key began */
  LUMOS_VECTOR(struct level) levels;
  LUMOS_VECTOR(char) key;
  LUMOS_VECTOR(uint64_t) keys; /* hashes, in the order of the text */
  uint64_t *table;             /* 0: free */
  size_t slots;                /* a power of two, at least twice as many as keys */
  uint64_t objects;
};

static const char grammar[] = "not valid JSON";

struct lumos_json_check *lumos_json_check_new(void) {
  return lumos_allocate_zeroed(1, sizeof(struct lumos_json_check));
}

void lumos_json_check_free(struct lumos_json_check *check) {
  if (check != NULL) {
    lumos_vector_free(&check->levels);
    lumos_vector_free(&check->key);
    lumos_vector_free(&check->keys);
    free(check->table);
    free(check);
  }
}

static void fail_at(struct lumos_json_check *check, uint64_t byte, const char *what) {
  if (check->fault == NULL) {
    check->fault = what;
    check->fault_byte = byte;
  }
}

/* ---- Keys ---- */

static uint64_t mixed(uint64_t value) {
  value ^= value >> 32U;
  value *= UINT64_C(0xD6E8FEB86659FD93);
  value ^= value >> 32U;
  value *= UINT64_C(0xD6E8FEB86659FD93);
  return value ^ value >> 32U;
}

/* Of the key in this object; never 0. */
static uint64_t hash_of(const char *bytes, size_t length, uint64_t object) {
  uint64_t hash = mixed(object + 1) ^ length;
  for (size_t i = 0; i < length; i++) {
    hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001B3);
    hash ^= hash >> 29U;
  }
  hash = mixed(hash);
  return hash != 0 ? hash : 1;
}

/* Where the hash stands, or could. */
static size_t slot_of(const struct lumos_json_check *check, uint64_t hash) {
  size_t slot = (size_t)hash & (check->slots - 1);
  while (check->table[slot] != 0 && check->table[slot] != hash) {
    slot = (slot + 1) & (check->slots - 1);
  }
  return slot;
}

static void grow_table(struct lumos_json_check *check) {
  check->slots = check->slots == 0 ? 256 : check->slots * 2;
  free(check->table);
  check->table = lumos_allocate_zeroed(check->slots, sizeof *check->table);
  for (size_t i = 0; i < check->keys.count; i++) {
    check->table[slot_of(check, check->keys.items[i])] = check->keys.items[i];
  }
}

static void end_key(struct lumos_json_check *check) {
  struct lumos_slice text = {check->key.items, check->key.count, true, false};
  size_t length = check->key.count > 0 ? lumos_json_decode(&text, check->key.items, NULL) : 0;
  uint64_t hash = hash_of(check->key.items, length, check->levels.items[check->levels.count - 1].object);
  if (2 * (check->keys.count + 1) > check->slots) {
    grow_table(check);
  }
  size_t slot = slot_of(check, hash);
  if (check->table[slot] != 0) {
    fail_at(check, check->key_byte, "a key that stands twice in one object");
    return;
  }
  check->table[slot] = hash;
  lumos_vector_push(&check->keys, hash);
}

/* ---- Brackets ---- */

static void open_level(struct lumos_json_check *check, char closing) {
  lumos_vector_push(&check->levels, ((struct level){closing, check->objects++, check->keys.count}));
  check->state = closing == '}' ? FIRST_KEY : FIRST_VALUE;
}

static bool close_level(struct lumos_json_check *check, char closing) {
  if (check->levels.count == 0 || check->levels.items[check->levels.count - 1].closing != closing) {
    return false;
  }
  const struct level *level = &check->levels.items[--check->levels.count];
  while (check->keys.count > level->first_key) {
    check->table[slot_of(check, check->keys.items[--check->keys.count])] = 0;
  }
  check->state = BEHIND;
  return true;
}

/* ---- Bytes ---- */

static bool begin_string(struct lumos_json_check *check, bool key) {
  check->state = STRING;
  check->in_key = key;
  check->key_byte = check->byte;
  check->key.count = 0;
  return true;
}

static bool begin_word(struct lumos_json_check *check, const char *rest) {
  check->word = rest;
  check->state = WORD;
  return true;
}

static bool begin_value(struct lumos_json_check *check, char byte) {
  switch (byte) {
    case '{':
      open_level(check, '}');
      return true;
    case '[':
      open_level(check, ']');
      return true;
    case '"':
      return begin_string(check, false);
    case 't':
      return begin_word(check, "rue");
    case 'f':
      return begin_word(check, "alse");
    case 'n':
      return begin_word(check, "ull");
    case '-':
      check->state = MINUS;
      return true;
    default:
      check->state = byte == '0' ? ZERO : WHOLE;
      return lumos_is_digit(byte);
  }
}

static bool go_behind(struct lumos_json_check *check, char byte) {
  if (byte != ',') {
    return close_level(check, byte);
  }
  if (check->levels.count == 0) {
    return false;
  }
  check->state = check->levels.items[check->levels.count - 1].closing == '}' ? KEY : VALUE;
  return true;
}

/* The first byte of a character beyond ASCII. */
static bool begin_wide(struct lumos_json_check *check, unsigned char byte) {
  if (byte < 0xC2 || byte > 0xF4) {
    return false;
  }
  check->left = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  check->low = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
  check->high = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
  check->state = WIDE;
  return true;
}

static bool go_on_in_string(struct lumos_json_check *check, char byte) {
  bool good = true;
  switch (check->state) {
    case ESCAPE:
      check->state = byte == 'u' ? HEX : STRING;
      check->left = 4;
      good = byte != '\0' && strchr("\"\\/bfnrtu", byte) != NULL;
      break;
    case HEX:
      good = lumos_is_digit(byte) || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f');
      check->state = --check->left == 0 ? STRING : HEX;
      break;
    case WIDE:
      good = (unsigned char)byte >= check->low && (unsigned char)byte <= check->high;
      check->low = 0x80;
      check->high = 0xBF;
      check->state = --check->left == 0 ? STRING : WIDE;
      if (!good) {
        fail_at(check, check->byte, "bytes that are not UTF-8");
      }
      break;
    default:
      if (byte == '"') {
        check->state = check->in_key ? COLON : BEHIND;
        if (check->in_key) {
          end_key(check);
        }
        return true;
      }
      if (byte == '\\') {
        check->state = ESCAPE;
      } else if ((unsigned char)byte >= 0x80 && !begin_wide(check, (unsigned char)byte)) {
        fail_at(check, check->byte, "bytes that are not UTF-8");
      } else if ((unsigned char)byte < ' ') {
        good = false;
      }
  }
  if (check->in_key) {
    lumos_vector_push(&check->key, byte);
  }
  return good;
}

/* A byte of a number or the one behind it. */
static bool go_on_in_number(struct lumos_json_check *check, char byte) {
  bool digit = lumos_is_digit(byte);
  switch (check->state) {
    case MINUS:
      check->state = byte == '0' ? ZERO : WHOLE;
      return digit;
    case DOT:
      check->state = FRACTION;
      return digit;
    case EXPONENT:
      check->state = digit ? EXPONENT_DIGITS : EXPONENT_SIGN;
      return digit || byte == '+' || byte == '-';
    case EXPONENT_SIGN:
      check->state = EXPONENT_DIGITS;
      return digit;
    default:
      break;
  }
  if (digit) {
    return check->state != ZERO;
  }
  if (byte == '.' && (check->state == ZERO || check->state == WHOLE)) {
    check->state = DOT;
    return true;
  }
  if ((byte | 0x20) == 'e' && check->state != EXPONENT_DIGITS) {
    check->state = EXPONENT;
    return true;
  }
  check->state = BEHIND;
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || go_behind(check, byte);
}

static bool go_on_in_mark(struct lumos_json_check *check, char byte) {
  static const char mark[] = "\xEF\xBB\xBF";
  if (check->byte < 3 && byte == mark[check->byte]) {
    check->state = check->byte == 2 ? VALUE : MARK;
    return true;
  }
  check->state = VALUE;
  bool blank = byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
  return check->byte == 0 && (blank || begin_value(check, byte));
}

/* Between values. */
static bool go_on_between(struct lumos_json_check *check, char byte) {
  switch (check->state) {
    case VALUE:
      return begin_value(check, byte);
    case FIRST_VALUE:
      return byte == ']' ? close_level(check, byte) : begin_value(check, byte);
    case FIRST_KEY:
      return byte == '}' ? close_level(check, byte) : byte == '"' && begin_string(check, true);
    case KEY:
      return byte == '"' && begin_string(check, true);
    case COLON:
      check->state = VALUE;
      return byte == ':';
    default:
      return go_behind(check, byte);
  }
}

static bool go_on(struct lumos_json_check *check, char byte) {
  switch (check->state) {
    case MARK:
      return go_on_in_mark(check, byte);
    case STRING:
    case ESCAPE:
    case HEX:
    case WIDE:
      return go_on_in_string(check, byte);
    case WORD:
      if (*check->word != byte) {
        return false;
      }
      check->state = *++check->word == '\0' ? BEHIND : WORD;
      return true;
    case VALUE:
    case FIRST_VALUE:
    case FIRST_KEY:
    case KEY:
    case COLON:
    case BEHIND:
      return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || go_on_between(check, byte);
    default:
      return go_on_in_number(check, byte);
  }
}

void lumos_json_check_feed(struct lumos_json_check *check, const char *bytes, size_t count) {
  for (size_t i = 0; i < count && check->fault == NULL; i++, check->byte++) {
    if (!go_on(check, bytes[i])) {
      fail_at(check, check->byte, grammar);
    }
  }
}

const char *lumos_json_check_fault(const struct lumos_json_check *check, uint64_t *byte) {
  *byte = check->fault_byte;
  return check->fault;
}

bool lumos_json_check_done(const struct lumos_json_check *check) {
  bool whole = check->state == BEHIND || check->state == ZERO || check->state == WHOLE || check->state == FRACTION ||
               check->state == EXPONENT_DIGITS;
  return check->fault == NULL && whole && check->levels.count == 0;
}
