/* Fuzzer: any bytes as a description of a model. It is refused with a reason, or it has whole numbers from 1 on alone,
 * and the job that it is given to is sound, says who gave it, and keeps what the description does not name.
 */
#include "fuzz.h"

#include <lumos/program.h>

enum { KEPT = 12345 };

static void expect_given(const struct lumos_model_description *model, const struct lumos_job *job, bool described) {
  const struct lumos_model_description *has =
      job->models.count == 0 ? &lumos_model_description_empty : &job->models.items[0];
  const int32_t values[][2] = {{model->layers, has->layers},
                               {model->hidden, has->hidden},
                               {model->heads, has->heads},
                               {model->kv_heads, has->kv_heads},
                               {model->head_dim, has->head_dim},
                               {model->ffn, has->ffn},
                               {model->ffn_matrices, has->ffn_matrices},
                               {model->sequence, has->sequence},
                               {model->vocabulary, has->vocabulary},
                               {model->micro_batch, has->micro_batch},
                               {model->micro_batches, has->micro_batches}};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    int32_t before = described && i < 2 ? KEPT : LUMOS_ABSENT_INT;
    if (values[i][0] != LUMOS_ABSENT_INT && values[i][0] < 1) {
      fuzz_fail("a size of a model is 1 at least", "");
    }
    if (values[i][1] != (values[i][0] == LUMOS_ABSENT_INT ? before : values[i][0])) {
      fuzz_fail("a job has what it is given, and keeps what else it had", "");
    }
  }
}

/* To a job of one rank, which has a description already, or none. */
static void give(const struct lumos_model_description *model, bool described) {
  struct lumos_job *job = lumos_job_new();
  struct lumos_rank rank = lumos_rank_empty;
  struct lumos_model_description had = lumos_model_description_empty;
  rank.rank = 0;
  had.layers = had.hidden = KEPT;
  lumos_vector_push(&job->ranks, rank);
  if (described) {
    lumos_vector_push(&job->models, had);
  }
  lumos_vector_push(&job->history, ((struct lumos_history){.tool = lumos_intern_text(job->strings, "lumos-graph")}));
  lumos_program_model_give(job, model, "model.json");
  expect_given(model, job, described);
  if (strcmp(lumos_string(job->strings, job->history.items[0].args), "--model-file model.json") != 0) {
    fuzz_fail("the history names the file", lumos_string(job->strings, job->history.items[0].args));
  }
  lumos_job_free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_model_description model;
  struct fuzz_file file = fuzz_file(data, size);
  bool good = lumos_program_model_read(file.path, &model, &error);
  (void)close(file.descriptor);
  if (!good) {
    fuzz_expect_reason(&error);
    return 0;
  }
  give(&model, false);
  give(&model, true);
  return 0;
}
