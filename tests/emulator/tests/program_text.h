/* For tests: reading what a rank's threads do as text, without carrying it out. A job is read where it is posted. */
#ifndef EMULATOR_PROGRAM_TEXT_H
#define EMULATOR_PROGRAM_TEXT_H

#include "program.h"
#include "setup.h"

struct reader {
  void *self;
  /* work: of a launch, else NULL. */
  void (*read)(void *self, enum thread thread, const struct instruction *instruction, const struct work *work);
  struct program main_block, autograd_block;
};

static inline void read_block(struct reader *reader, const struct software *software, int rank, enum thread thread,
                              const struct program *block) {
  for (size_t i = 0; i < block->count; i++) {
    const struct instruction *instruction = &block->instructions[i];
    reader->read(reader->self, thread, instruction,
                 instruction->kind == DO_LAUNCH ? &block->works[instruction->of.work] : NULL);
    if (instruction->kind == DO_POST) {
      program_clear(&reader->autograd_block);
      software->serve(software->self, rank, instruction->of.job, &reader->autograd_block);
      read_block(reader, software, rank, THREAD_AUTOGRAD, &reader->autograd_block);
    }
  }
}

/* The next block of a rank; false: it has ended. */
static inline bool read_next(struct reader *reader, const struct software *software, int rank) {
  program_clear(&reader->main_block);
  if (!software->next(software->self, rank, &reader->main_block))
    return false;
  read_block(reader, software, rank, THREAD_MAIN, &reader->main_block);
  return true;
}

static inline void reader_free(struct reader *reader) {
  program_free(&reader->main_block);
  program_free(&reader->autograd_block);
}

/* The setup of a command line; words are cut out of `line`, which has to live as long. */
static inline bool setup_of_line(struct setup *setup, char *line) {
  enum { MOST_WORDS = 64 };
  char *words[MOST_WORDS] = {(char[]){"emulated-cluster"}};
  int count = 1;
  for (char *at = line; *at && count + 1 < MOST_WORDS;) {
    words[count++] = at;
    while (*at && *at != ' ')
      at++;
    while (*at == ' ')
      *at++ = 0;
  }
  words[count++] = (char[]){"folder"};
  bool done = false;
  return setup_read(setup, count, words, &done) && !done;
}

#endif
