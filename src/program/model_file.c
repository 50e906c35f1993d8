/* A model description that a user gives, because shapes were not recorded or the user knows better. */
#include <lumos/program.h>

#include "base/object.h"
#include "base/text.h"
#include <stddef.h>
#include <string.h>

struct field {
  const char *name;
  size_t value, evidence; /* offsets in the description */
};

#define FIELD(field) \
  { #field, offsetof(struct lumos_model_description, field), offsetof(struct lumos_model_description, evidence.field) }
static const struct field fields[] = {
    FIELD(layers), FIELD(hidden),   FIELD(heads),      FIELD(kv_heads),    FIELD(head_dim),      FIELD(ffn_matrices),
    FIELD(ffn),    FIELD(sequence), FIELD(vocabulary), FIELD(micro_batch), FIELD(micro_batches),
};
enum { FIELDS = sizeof fields / sizeof *fields };

static int32_t *value_of(struct lumos_model_description *model, const struct field *field) {
  return (int32_t *)((char *)model + field->value);
}

static bool is_unused(const char *name) {
  static const char *const unused[] = {"type", "parallel", "evidence"};
  for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
    if (strcmp(name, unused[i]) == 0) {
      return true;
    }
  }
  return false;
}

static bool read_member(const char *path, const cJSON *member, struct lumos_model_description *model,
                        struct lumos_error *error) {
  size_t i = 0;
  while (i < FIELDS && strcmp(fields[i].name, member->string) != 0) {
    i++;
  }
  if (i == FIELDS) {
    return is_unused(member->string) ||
           lumos_fail(
               error,
               "%s: a model has no %.60s; give layers, hidden, heads, kv_heads, head_dim, ffn, ffn_matrices, sequence, "
               "vocabulary, micro_batch, micro_batches, or some of them",
               path, member->string);
  }
  double number = cJSON_IsNumber(member) ? member->valuedouble : 0;
  if (!(number >= 1 && number <= INT32_MAX && number == (double)(int32_t)number)) {
    return lumos_fail(error, "%s: %s is not a whole number from 1 to 2147483647", path, fields[i].name);
  }
  if (*value_of(model, &fields[i]) != LUMOS_ABSENT_INT) {
    return lumos_fail(error, "%s: %s is given twice; leave one out", path, fields[i].name);
  }
  *value_of(model, &fields[i]) = (int32_t)number;
  return true;
}

bool lumos_program_model_read(const char *path, struct lumos_model_description *model, struct lumos_error *error) {
  cJSON *document = lumos_object_read(path, "a JSON object", "{\"hidden\":4096,\"heads\":32}", error);
  bool good = document != NULL;
  *model = lumos_model_description_empty;
  for (const cJSON *member = good ? document->child : NULL; good && member != NULL; member = member->next) {
    good = read_member(path, member, model, error);
  }
  cJSON_Delete(document);
  return good;
}

/* Say in the history of the graph stage that a file changed the result. */
static void write_history(struct lumos_job *job, const char *name) {
  lumos_string_id tool = lumos_intern_text(job->strings, "lumos-graph");
  struct lumos_text args = LUMOS_TEXT_BUFFER;
  lumos_text_format(&args, "--model-file %s", name);
  for (size_t i = job->history.count; i > 0; i--) {
    if (job->history.items[i - 1].tool == tool) {
      job->history.items[i - 1].args = lumos_intern(job->strings, args.bytes, args.length);
      break;
    }
  }
  lumos_text_free(&args);
}

void lumos_program_model_give(struct lumos_job *job, const struct lumos_model_description *model, const char *name) {
  struct lumos_model_description given = *model;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  lumos_text_format(&evidence, "file: %s", name);
  lumos_string_id from = lumos_intern(job->strings, evidence.bytes, evidence.length);
  for (size_t i = 0; i < FIELDS; i++) {
    int32_t value = *value_of(&given, &fields[i]);
    if (value == LUMOS_ABSENT_INT) {
      continue;
    }
    if (job->models.count == 0) {
      lumos_vector_push(&job->models, lumos_model_description_empty);
    }
    *value_of(&job->models.items[0], &fields[i]) = value;
    *(lumos_string_id *)((char *)&job->models.items[0] + fields[i].evidence) = from;
  }
  write_history(job, name);
  lumos_text_free(&evidence);
}
