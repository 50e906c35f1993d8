/* The template engine. A scope is a short list of named values; rendering walks the text from tag to tag. */
#include "report/text/template.h"

#include "base/input.h"
#include "report/text/templates.h"
#include <errno.h>
#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEMPLATE_LIMIT = 4 << 20, NAME_LIMIT = 64 };

struct value {
  const char *name;
  struct value *next;
  bool is_section;
  const char *bytes; /* a value's */
  size_t length;
  struct report_scope *first, *last; /* a section's items */
};

struct report_scope {
  struct report_model *model;
  const struct report_scope *outer;
  struct report_scope *next; /* the next item of its section */
  struct value *values;
};

struct report_model {
  struct lumos_arena *arena;
  struct report_scope *root;
};

static struct report_scope *new_scope(struct report_model *model, const struct report_scope *outer) {
  struct report_scope *scope = lumos_arena_take(model->arena, sizeof *scope);
  *scope = (struct report_scope){.model = model, .outer = outer};
  return scope;
}

struct report_model *report_model_new(void) {
  struct report_model *model = lumos_allocate_zeroed(1, sizeof *model);
  model->arena = lumos_arena_new();
  model->root = new_scope(model, NULL);
  return model;
}

void report_model_free(struct report_model *model) {
  if (model != NULL) {
    lumos_arena_free(model->arena);
    free(model);
  }
}

struct report_scope *report_model_root(struct report_model *model) {
  return model->root;
}

static struct value *find_here(const struct report_scope *scope, const char *name, size_t length) {
  for (struct value *value = scope->values; value != NULL; value = value->next) {
    if (strlen(value->name) == length && memcmp(value->name, name, length) == 0) {
      return value;
    }
  }
  return NULL;
}

static struct value *add_value(struct report_scope *scope, const char *name) {
  struct value *value = lumos_arena_take(scope->model->arena, sizeof *value);
  *value = (struct value){.name = name, .next = scope->values};
  scope->values = value;
  return value;
}

void report_set(struct report_scope *scope, const char *name, const char *bytes, size_t length) {
  struct value *value = add_value(scope, name);
  value->bytes = lumos_arena_copy(scope->model->arena, bytes, length);
  value->length = length;
}

void report_set_text(struct report_scope *scope, const char *name, const char *nul_terminated) {
  report_set(scope, name, nul_terminated, strlen(nul_terminated));
}

void report_set_take(struct report_scope *scope, const char *name, struct lumos_text *text) {
  report_set(scope, name, text->bytes == NULL ? "" : text->bytes, text->length);
  lumos_text_free(text);
}

static struct value *section_of(struct report_scope *scope, const char *name) {
  struct value *value = find_here(scope, name, strlen(name));
  if (value == NULL) {
    value = add_value(scope, name);
    value->is_section = true;
  }
  return value;
}

void report_section(struct report_scope *scope, const char *name) { (void)section_of(scope, name); }

struct report_scope *report_section_item(struct report_scope *scope, const char *name) {
  struct value *section = section_of(scope, name);
  struct report_scope *item = new_scope(scope->model, scope);
  if (section->last == NULL) {
    section->first = item;
  } else {
    section->last->next = item;
  }
  section->last = item;
  return item;
}

void report_section_if(struct report_scope *scope, const char *name, bool shown) {
  report_section(scope, name);
  if (shown) {
    (void)report_section_item(scope, name);
  }
}

/* As deep as templates may nest sections. */
static bool scope_holds(const struct report_scope *scope, const char *name, const char *bytes, size_t length) {
  for (const struct value *value = scope->values; value != NULL; value = value->next) {
    if (!value->is_section && strcmp(value->name, name) == 0 && value->length == length &&
        memcmp(value->bytes, bytes, length) == 0) {
      return true;
    }
    for (const struct report_scope *item = value->first; item != NULL; item = item->next) {
      if (scope_holds(item, name, bytes, length)) {
        return true;
      }
    }
  }
  return false;
}

bool report_model_holds(const struct report_model *model, const char *name, const char *nul_terminated) {
  return scope_holds(model->root, name, nul_terminated, strlen(nul_terminated));
}

/* The text being rendered. */
struct reader {
  const char *name;
  const char *bytes;
  size_t length;
  report_escape *escape;
  struct lumos_text *out;
  struct lumos_error *error;
};

enum tag_kind { TAG_ESCAPED, TAG_RAW, TAG_OPEN, TAG_CLOSE };

struct tag {
  enum tag_kind kind;
  size_t start, end; /* bytes of the whole tag */
  const char *name;
  size_t name_length;
};

static bool fail_at(const struct reader *reader, size_t byte, const char *what, const struct tag *tag) {
  int shown = tag == NULL ? 0 : (int)(tag->name_length < NAME_LIMIT ? tag->name_length : NAME_LIMIT);
  return lumos_fail(reader->error, "%s: byte %zu: %s%s%.*s%s; compare with the template that is compiled in",
                    reader->name, byte, what, tag == NULL ? "" : " \"", shown, tag == NULL ? "" : tag->name,
                    tag == NULL ? "" : "\"");
}

static size_t find_pair(const struct reader *reader, size_t from, size_t end, char bracket) {
  for (size_t i = from; i + 1 < end; i++) {
    if (reader->bytes[i] == bracket && reader->bytes[i + 1] == bracket) {
      return i;
    }
  }
  return end;
}

/* The next tag in [from, end): 1 found, 0 none, -1 malformed. */
static int next_tag(const struct reader *reader, size_t from, size_t end, struct tag *tag) {
  size_t start = find_pair(reader, from, end, '{');
  if (start == end) {
    return 0;
  }
  size_t name = start + 2;
  int mark = name < end ? reader->bytes[name] : ' ';
  tag->start = start;
  tag->kind = mark == '{' ? TAG_RAW : mark == '#' ? TAG_OPEN : mark == '/' ? TAG_CLOSE : TAG_ESCAPED;
  name += tag->kind == TAG_ESCAPED ? 0 : 1;
  size_t close = find_pair(reader, name, end, '}');
  size_t brackets = tag->kind == TAG_RAW ? 3 : 2;
  if (close == end || close + brackets > end || reader->bytes[close + brackets - 1] != '}') {
    (void)fail_at(reader, start, "a tag that does not end", NULL);
    return -1;
  }
  tag->name = reader->bytes + name;
  tag->name_length = close - name;
  tag->end = close + brackets;
  return 1;
}

/* The closing tag of a section whose opening tag is `open`. */
static bool find_close(const struct reader *reader, const struct tag *open, size_t end, struct tag *close) {
  size_t at = open->end;
  int nested = 0;
  int found = 0;
  while ((found = next_tag(reader, at, end, close)) == 1) {
    at = close->end;
    if (close->kind == TAG_OPEN) {
      nested++;
    } else if (close->kind == TAG_CLOSE && nested-- == 0) {
      if (close->name_length == open->name_length && memcmp(close->name, open->name, open->name_length) == 0) {
        return true;
      }
      return fail_at(reader, close->start, "the end of another section than the open one:", close);
    }
  }
  return found == 0 ? fail_at(reader, open->start, "a section without an end:", open) : false;
}

static bool render(const struct reader *reader, size_t from, size_t end, const struct report_scope *scope, int depth);

static bool render_section(const struct reader *reader, const struct tag *open, const struct tag *close,
                           const struct report_scope *scope, int depth) {
  const struct value *section = find_here(scope, open->name, open->name_length);
  if (section == NULL || !section->is_section) {
    return fail_at(reader, open->start, "an unknown section", open);
  }
  if (depth >= REPORT_TEMPLATE_DEPTH) {
    return fail_at(reader, open->start, "sections nested too deep:", open);
  }
  for (const struct report_scope *item = section->first; item != NULL; item = item->next) {
    if (!render(reader, open->end, close->start, item, depth + 1)) {
      return false;
    }
  }
  return true;
}

static bool render_value(const struct reader *reader, const struct tag *tag, const struct report_scope *scope) {
  const struct value *value = NULL;
  for (; scope != NULL && value == NULL; scope = scope->outer) {
    value = find_here(scope, tag->name, tag->name_length);
  }
  if (value == NULL || value->is_section) {
    return fail_at(reader, tag->start, "an unknown name", tag);
  }
  if (tag->kind == TAG_RAW) {
    lumos_text_add(reader->out, value->bytes, value->length);
  } else {
    reader->escape(reader->out, value->bytes, value->length);
  }
  return true;
}

static bool render(const struct reader *reader, size_t from, size_t end, const struct report_scope *scope, int depth) {
  size_t at = from;
  struct tag tag = {.start = end, .end = end};
  int found = 0;
  while ((found = next_tag(reader, at, end, &tag)) == 1) {
    lumos_text_add(reader->out, reader->bytes + at, tag.start - at);
    at = tag.end;
    if (tag.kind == TAG_OPEN) {
      struct tag close = {.start = end, .end = end};
      if (!find_close(reader, &tag, end, &close) || !render_section(reader, &tag, &close, scope, depth)) {
        return false;
      }
      at = close.end;
    } else if (tag.kind == TAG_CLOSE) {
      return fail_at(reader, tag.start, "the end of a section that is not open:", &tag);
    } else if (!render_value(reader, &tag, scope)) {
      return false;
    }
  }
  lumos_text_add(reader->out, reader->bytes + at, end - at);
  return found == 0;
}

bool report_template_render(const char *name, const char *bytes, size_t length, const struct report_model *model,
                            report_escape *escape, struct lumos_text *out, struct lumos_error *error) {
  struct reader reader = {.name = name, .bytes = bytes, .length = length, .escape = escape, .out = out, .error = error};
  return render(&reader, 0, length, model->root, 0);
}

static bool load_file(const char *folder, const char *name, struct report_source *source, bool *missing,
                      struct lumos_error *error) {
  struct lumos_text path = LUMOS_TEXT_BUFFER;
  lumos_text_put(&path, folder);
  lumos_text_char(&path, '/');
  lumos_text_put(&path, name);
  lumos_text_char(&path, '\0');
  *missing = access(path.bytes, F_OK) != 0 && errno == ENOENT;
  if (!*missing) {
    source->owned = lumos_input_slurp(path.bytes, TEMPLATE_LIMIT, &source->length, error);
    source->bytes = source->owned;
  }
  lumos_text_free(&path);
  return *missing || source->owned != NULL;
}

bool report_template_load(const char *folder, const char *name, struct report_source *source,
                          struct lumos_error *error) {
  *source = (struct report_source){0};
  bool missing = true;
  if (folder != NULL && access(folder, F_OK) != 0) {
    return lumos_fail(error, "%s: no such folder; give the folder that holds your templates", folder);
  }
  if (folder != NULL && !load_file(folder, name, source, &missing, error)) {
    return false;
  }
  for (size_t i = 0; missing && i < lumos_template_count; i++) {
    if (strcmp(lumos_templates[i].name, name) == 0) {
      source->bytes = lumos_templates[i].bytes;
      source->length = lumos_templates[i].length;
      return true;
    }
  }
  return !missing || lumos_fail(error, "%s: no such template is compiled in", name);
}

void report_template_release(struct report_source *source) { free(source->owned); }
