/* Finding paths and the users that they name. */
#include "report/text/location.h"

#include "base/ascii.h"
#include <string.h>
#include <strings.h>

/* A folder's name with spaces or brackets goes on for at most so many bytes behind the first of them. */
enum { MOST_JOINED = 64, MOST_USER = 64 };

static bool is_blank(char byte) { return (unsigned char)byte <= ' '; }
static bool is_one_of(char byte, const char *set) { return byte != '\0' && strchr(set, byte) != NULL; }

/* No name goes on behind these, */
static bool is_hard_end(char byte) {
  return (is_blank(byte) && byte != ' ') || byte == 0x7F || is_one_of(byte, "\"'`<>|;*?");
}

/* and behind these only where a separator follows. */
static bool is_soft_end(char byte) { return is_one_of(byte, " ()[]{}:,"); }

static bool is_opening(char byte) {
  return is_blank(byte) || (unsigned char)byte >= 0x80 || is_one_of(byte, "\"'`([{<=,;:|~@>&!#");
}

/* May a path begin here? Behind "-I" and the like, too. */
static bool opens(const char *bytes, size_t at) {
  if (at == 0 || is_opening(bytes[at - 1])) {
    return true;
  }
  return at >= 2 && lumos_is_letter(bytes[at - 1]) && bytes[at - 2] == '-' && (at == 2 || is_opening(bytes[at - 3]));
}

static bool separates(const struct report_location *path, char byte) {
  return byte == '/' || (path->backslash && byte == '\\');
}

static size_t skip_separators(const struct report_location *path, const char *bytes, size_t limit, size_t at) {
  while (at < limit && separates(path, bytes[at])) {
    at++;
  }
  return at;
}

/* "C:\" or "C:/" */
static bool is_drive(const char *bytes, size_t length, size_t at) {
  return length - at > 2 && lumos_is_letter(bytes[at]) && bytes[at + 1] == ':' && is_one_of(bytes[at + 2], "/\\");
}

/* The end of "~" or "~name" where a slash follows; 0: it does not. */
static size_t home_end(const char *bytes, size_t length, size_t at) {
  size_t end = at + 1;
  while (end < length && end - at <= MOST_USER && (lumos_is_alphanumeric(bytes[end]) || is_one_of(bytes[end], "._-"))) {
    end++;
  }
  return end < length && bytes[end] == '/' ? end : 0;
}

/* What a path begins with; sets first, root and backslash. Returns the least number of parts behind it, 0: no path
 * begins here. */
static int read_root(const char *bytes, size_t length, size_t at, struct report_location *path) {
  static const char scheme[] = "file:/";
  size_t root = at;
  int parts = 1;
  if (bytes[at] == '/') {
    bool of_url = at > 0 && bytes[at - 1] == ':' && length - at > 1 && bytes[at + 1] == '/';
    parts = of_url ? 0 : 2; /* "/x" alone is as short as its name */
  } else if (bytes[at] == '~') {
    root = home_end(bytes, length, at);
    parts = root != 0;
  } else if (bytes[at] == '.') {
    root += length - at > 1 && bytes[at + 1] == '.' ? 2 : 1;
    parts = root < length && bytes[root] == '/';
  } else if (bytes[at] == '\\' && length - at > 1 && bytes[at + 1] == '\\') {
    path->backslash = true;
    parts = 2;
  } else if (length - at >= sizeof scheme - 1 && strncasecmp(bytes + at, scheme, sizeof scheme - 1) == 0) {
    root += sizeof scheme - 2;
    size_t behind = skip_separators(path, bytes, length, root);
    root = is_drive(bytes, length, behind) ? behind + 2 : root;
    path->backslash = root > behind;
  } else if (is_drive(bytes, length, at)) {
    path->backslash = true;
    root += 2;
  } else {
    return 0;
  }
  path->first = at;
  path->root = skip_separators(path, bytes, length, root);
  return parts;
}

/* The place of "(12)" behind which the text ends or ": name" follows, as in "/x/y.py(12): name"; `length`: there is
 * none. */
static size_t frame_line(const char *bytes, size_t length) {
  for (size_t at = 0; at < length; at++) {
    if (bytes[at] == '(') {
      size_t end = at + 1;
      while (end < length && lumos_is_digit(bytes[end])) {
        end++;
      }
      bool closed = end > at + 1 && end < length && bytes[end] == ')';
      if (closed && (end + 1 == length || bytes[end + 1] == ':')) {
        return at;
      }
    }
  }
  return length;
}

/* Where the path must end, when that is written; `length`: it is to be judged. */
static size_t written_end(const char *bytes, size_t length, size_t at) {
  if (at == 0) {
    return frame_line(bytes, length);
  }
  if (bytes[at - 1] == '"' || bytes[at - 1] == '\'') {
    const char *quote = memchr(bytes + at, bytes[at - 1], length - at);
    return quote == NULL ? length : (size_t)(quote - bytes);
  }
  return length;
}

/* A part stopped at `stop`. Does its name go on to a separator? Where that stands; 0: it ends here. A name with a dot
 * is a file's. */
static size_t joined_end(const struct report_location *path, const char *bytes, size_t length, size_t stop) {
  if (memchr(bytes + path->name, '.', stop - path->name) != NULL) {
    return 0;
  }
  for (size_t at = stop; at < length && at - stop <= MOST_JOINED && !is_hard_end(bytes[at]); at++) {
    if (separates(path, bytes[at])) {
      return opens(bytes, at) ? 0 : at; /* another path */
    }
    bool sentence = is_one_of(bytes[at], ":,") && at + 1 < length && bytes[at + 1] == ' ';
    if (sentence || (bytes[at] == '.' && opens(bytes, at))) {
      return 0;
    }
  }
  return 0;
}

/* The parts from path->root on; sets name and end, returns how many there are. */
static int read_parts(const char *bytes, size_t length, size_t limit, struct report_location *path) {
  bool judged = limit == length;
  int parts = 0;
  size_t at = path->root;
  path->name = path->end = at;
  while (at < limit) {
    size_t stop = at;
    while (stop < limit && !separates(path, bytes[stop]) &&
           !(judged && (is_hard_end(bytes[stop]) || is_soft_end(bytes[stop])))) {
      stop++;
    }
    if (stop == at) {
      break;
    }
    path->name = at;
    parts++;
    bool ends = stop < limit && !separates(path, bytes[stop]);
    size_t joined = ends ? joined_end(path, bytes, length, stop) : stop;
    path->end = at = skip_separators(path, bytes, limit, joined == 0 ? stop : joined);
    if (joined == 0) {
      break;
    }
  }
  return parts;
}

/* Most bytes of most texts begin no path, and are asked. */
static bool may_begin(const char *bytes, size_t length, size_t at) {
  if (bytes[at] == '/' || bytes[at] == '~') {
    return true;
  }
  if (length - at < 3) {
    return false;
  }
  if (bytes[at] == '.') {
    return bytes[at + 1] == '/' || (bytes[at + 1] == '.' && bytes[at + 2] == '/');
  }
  return (bytes[at] == '\\' && bytes[at + 1] == '\\') || (lumos_is_letter(bytes[at]) && bytes[at + 1] == ':') ||
         ((bytes[at] == 'f' || bytes[at] == 'F') && (bytes[at + 1] == 'i' || bytes[at + 1] == 'I'));
}

bool report_location_possible(const char *bytes, size_t length) {
  return memchr(bytes, '/', length) != NULL || memchr(bytes, '\\', length) != NULL;
}

bool report_location_at(const char *bytes, size_t length, size_t at, struct report_location *path) {
  if (!may_begin(bytes, length, at)) {
    return false;
  }
  *path = (struct report_location){0};
  int least = opens(bytes, at) ? read_root(bytes, length, at, path) : 0;
  return least > 0 && read_parts(bytes, length, written_end(bytes, length, at), path) >= least;
}

static bool is_home(const char *bytes, size_t length) {
  return (length == 4 && memcmp(bytes, "home", 4) == 0) || (length == 5 && strncasecmp(bytes, "users", 5) == 0);
}

bool report_location_user(const char *bytes, const struct report_location *path, size_t *next, size_t *first,
                          size_t *length) {
  static const char cache[] = "torchinductor_";
  const size_t prefix = sizeof cache - 1;
  bool home = false;
  for (size_t at = *next; at < path->end;) {
    size_t stop = at;
    while (stop < path->end && !separates(path, bytes[stop])) {
      stop++;
    }
    *next = skip_separators(path, bytes, path->end, stop);
    size_t size = stop - at;
    bool file = at == path->name && memchr(bytes + at, '.', size) != NULL;
    bool cached = size > prefix && memcmp(bytes + at, cache, prefix) == 0;
    bool tilde = at == path->first && size > 1 && bytes[at] == '~';
    if ((home && !file) || cached || tilde) {
      size_t skipped = home && !file ? 0 : cached ? prefix : 1;
      *first = at + skipped;
      *length = size - skipped;
      return *length <= MOST_USER;
    }
    home = is_home(bytes + at, size);
    at = *next;
  }
  return false;
}
