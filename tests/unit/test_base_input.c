/* Bytes in: every form, members in a row, and all bytes before a fault. Inputs are made here with zlib and zstd. */
#include "base/input.h"
#include "unit.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { TEXT_BYTES = 700 * 1024, LARGEST = 2 * 1024 * 1024 };

struct bytes {
  char *items;
  size_t count;
};

/* What a test works on: a text that compresses about four times, and room for a file and for what is read back. */
struct fixture {
  char *folder;
  char *path;
  struct bytes text;
  struct bytes file;
  struct bytes back;
};

static int make_fixture(void **state) {
  struct fixture *fixture = calloc(1, sizeof *fixture);
  assert_non_null(fixture);
  fixture->folder = unit_folder_new();
  fixture->path = unit_path(fixture->folder, "trace.json");
  fixture->text = (struct bytes){malloc(TEXT_BYTES), TEXT_BYTES};
  fixture->file = (struct bytes){malloc(LARGEST), 0};
  fixture->back = (struct bytes){malloc(LARGEST), 0};
  assert_true(fixture->text.items != NULL && fixture->file.items != NULL && fixture->back.items != NULL);
  uint64_t random = 1;
  for (size_t i = 0; i < TEXT_BYTES; i++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
    fixture->text.items[i] = "abcd"[random >> 62U];
  }
  *state = fixture;
  return 0;
}

static int drop_fixture(void **state) {
  struct fixture *fixture = *state;
  unit_folder_remove(fixture->folder);
  free(fixture->path);
  free(fixture->text.items);
  free(fixture->file.items);
  free(fixture->back.items);
  free(fixture);
  return 0;
}

/* Append one gzip member that holds the text. */
static void add_gzip(struct bytes *file, const char *text, size_t length) {
  z_stream stream = {.next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)length};
  assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_out = (Bytef *)file->items + file->count;
  stream.avail_out = (uInt)(LARGEST - file->count);
  assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
  file->count += stream.total_out;
  assert_int_equal(deflateEnd(&stream), Z_OK);
}

static void add_bytes(struct bytes *file, const char *bytes, size_t length) {
  memcpy(file->items + file->count, bytes, length);
  file->count += length;
}

/* Read the path in pieces of `piece` bytes into fixture->back; 0, or -1 with the error. */
static int64_t read_back(struct fixture *fixture, size_t piece, struct lumos_error *error) {
  struct lumos_input *input = lumos_input_open(fixture->path, error);
  fixture->back.count = 0;
  if (input == NULL) {
    return -1;
  }
  int64_t count = 0;
  do {
    assert_true(fixture->back.count + piece <= LARGEST);
    count = lumos_input_read(input, fixture->back.items + fixture->back.count, piece, error);
    fixture->back.count += count > 0 ? (size_t)count : 0;
  } while (count > 0);
  /* The end and a fault stay what they are. */
  assert_int_equal(lumos_input_read(input, fixture->back.items, 1, error), count);
  lumos_input_close(input);
  return count;
}

static void write_input(const struct fixture *fixture) {
  unit_write_file(fixture->path, fixture->file.items, fixture->file.count);
}

static void expect_text_back(struct fixture *fixture, size_t copies) {
  static const size_t pieces[] = {1000, 65536, 300000};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    struct lumos_error error = {LUMOS_DONE, ""};
    if (read_back(fixture, pieces[i], &error) != 0) {
      fail_msg("%s", error.text);
    }
    assert_int_equal(fixture->back.count, copies * fixture->text.count);
    for (size_t copy = 0; copy < copies; copy++) {
      assert_memory_equal(fixture->back.items + copy * fixture->text.count, fixture->text.items, fixture->text.count);
    }
  }
}

static void plain_text_is_read(void **state) {
  struct fixture *fixture = *state;
  add_bytes(&fixture->file, fixture->text.items, fixture->text.count);
  write_input(fixture);
  expect_text_back(fixture, 1);
}

static void short_and_empty_files_are_read(void **state) {
  struct fixture *fixture = *state;
  struct lumos_error error;
  for (size_t length = 0; length < 6; length++) {
    fixture->file.count = 0;
    add_bytes(&fixture->file, "[1,2]", length > 5 ? 5 : length);
    write_input(fixture);
    assert_int_equal(read_back(fixture, 100, &error), 0);
    assert_int_equal(fixture->back.count, length);
    assert_memory_equal(fixture->back.items, "[1,2]", length);
  }
}

static void gzip_is_read(void **state) {
  struct fixture *fixture = *state;
  add_gzip(&fixture->file, fixture->text.items, fixture->text.count);
  write_input(fixture);
  expect_text_back(fixture, 1);
}

static void gzip_members_in_a_row_are_one_text(void **state) {
  struct fixture *fixture = *state;
  add_gzip(&fixture->file, fixture->text.items, fixture->text.count);
  add_gzip(&fixture->file, "", 0);
  add_gzip(&fixture->file, fixture->text.items, 1);
  add_gzip(&fixture->file, fixture->text.items + 1, fixture->text.count - 1);
  write_input(fixture);
  expect_text_back(fixture, 2);
}

/* Many small members put the boundaries everywhere, also across the edges of the reading window. */
static void many_small_gzip_members_are_read(void **state) {
  struct fixture *fixture = *state;
  size_t total = 0;
  for (size_t i = 0; fixture->file.count < 600000; i++) {
    size_t length = i * 7 % 301;
    add_gzip(&fixture->file, fixture->text.items + total % 1000, length);
    total += length;
  }
  write_input(fixture);
  struct lumos_error error;
  assert_int_equal(read_back(fixture, 65536, &error), 0);
  assert_int_equal(fixture->back.count, total);
}

static void zero_padding_behind_gzip_is_ignored(void **state) {
  struct fixture *fixture = *state;
  static const char zeros[1000];
  add_gzip(&fixture->file, fixture->text.items, fixture->text.count);
  add_bytes(&fixture->file, zeros, sizeof zeros);
  write_input(fixture);
  expect_text_back(fixture, 1);
}

static void bytes_before_garbage_are_delivered(void **state) {
  struct fixture *fixture = *state;
  add_gzip(&fixture->file, fixture->text.items, fixture->text.count);
  add_bytes(&fixture->file, LITERAL("not gzip"));
  write_input(fixture);
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_int_equal(read_back(fixture, 65536, &error), -1);
  assert_int_equal(fixture->back.count, fixture->text.count);
  assert_memory_equal(fixture->back.items + 1, fixture->text.items + 1, fixture->text.count - 1);
  assert_non_null(strstr(error.text, "byte 716800: "));
  assert_non_null(strstr(error.text, "not compressed"));
}

/* Only what the last block holds may be missing from a cut file: here at least nine tenths must come. */
static void a_cut_gzip_gives_what_it_holds(void **state) {
  struct fixture *fixture = *state;
  add_gzip(&fixture->file, fixture->text.items, fixture->text.count);
  size_t whole = fixture->file.count;
  for (size_t lost = 1; lost < 40; lost++) {
    fixture->file.count = whole - lost;
    write_input(fixture);
    struct lumos_error error = {LUMOS_DONE, ""};
    assert_int_equal(read_back(fixture, 65536, &error), -1);
    assert_int_equal(error.status, LUMOS_UNUSABLE);
    assert_non_null(strstr(error.text, "end too early"));
    assert_true(fixture->back.count > fixture->text.count - 500);
    if (lost <= 8) { /* only the trailer is missing */
      assert_int_equal(fixture->back.count, fixture->text.count);
    }
    assert_memory_equal(fixture->back.items + 1, fixture->text.items + 1, fixture->back.count - 1);
  }
}

static void a_cut_gzip_header_is_told(void **state) {
  struct fixture *fixture = *state;
  add_gzip(&fixture->file, fixture->text.items, fixture->text.count);
  for (size_t length = 2; length < 12; length++) {
    fixture->file.count = length;
    write_input(fixture);
    struct lumos_error error = {LUMOS_DONE, ""};
    assert_int_equal(read_back(fixture, 65536, &error), -1);
    assert_int_equal(fixture->back.count, 0);
  }
}

static void a_wrong_checksum_is_told_after_the_data(void **state) {
  struct fixture *fixture = *state;
  add_gzip(&fixture->file, fixture->text.items, fixture->text.count);
  fixture->file.items[fixture->file.count - 8] ^= 1;
  write_input(fixture);
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_int_equal(read_back(fixture, 65536, &error), -1);
  assert_int_equal(fixture->back.count, fixture->text.count);
  assert_non_null(strstr(error.text, "checksum"));
}

static void damaged_gzip_fails(void **state) {
  struct fixture *fixture = *state;
  add_gzip(&fixture->file, fixture->text.items, fixture->text.count);
  memset(fixture->file.items + fixture->file.count / 2, 0xFF, 64);
  write_input(fixture);
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_int_equal(read_back(fixture, 65536, &error), -1);
  assert_non_null(strstr(error.text, "damaged"));
  assert_true(fixture->back.count < fixture->text.count);
}

/* One literal, then 258 bytes from 4 bytes before, where there is nothing. What a library puts there is no text; the
 * literal may be lost with it. */
static void nothing_is_made_up_for_damage(void **state) {
  struct fixture *fixture = *state;
  add_bytes(&fixture->file, LITERAL("\x1F\x8B\x08\0\0\0\0\0\0\x03\x4B\x1C\xC5"));
  memset(fixture->file.items + fixture->file.count, 0, 100);
  fixture->file.count += 100;
  write_input(fixture);
  for (size_t piece = 1; piece < 1000; piece += 111) {
    struct lumos_error error = {LUMOS_DONE, ""};
    assert_int_equal(read_back(fixture, piece, &error), -1);
    assert_non_null(strstr(error.text, "a block is invalid"));
    assert_true(fixture->back.count <= 1);
  }
}

#ifdef HAVE_ZSTD

static void add_zstd(struct bytes *file, const char *text, size_t length) {
  size_t count = ZSTD_compress(file->items + file->count, LARGEST - file->count, text, length, 3);
  assert_false(ZSTD_isError(count));
  file->count += count;
}

static void zstd_frames_in_a_row_are_one_text(void **state) {
  struct fixture *fixture = *state;
  add_bytes(&fixture->file, LITERAL("\x50\x2A\x4D\x18\x04\0\0\0skip")); /* as pzstd begins */
  add_zstd(&fixture->file, fixture->text.items, fixture->text.count);
  add_zstd(&fixture->file, fixture->text.items, 1);
  add_zstd(&fixture->file, fixture->text.items + 1, fixture->text.count - 1);
  write_input(fixture);
  expect_text_back(fixture, 2);
}

static void a_cut_zstd_gives_what_it_holds(void **state) {
  struct fixture *fixture = *state;
  add_zstd(&fixture->file, fixture->text.items, fixture->text.count);
  fixture->file.count = fixture->file.count * 9 / 10;
  write_input(fixture);
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_int_equal(read_back(fixture, 65536, &error), -1);
  assert_non_null(strstr(error.text, "end too early"));
  assert_true(fixture->back.count > fixture->text.count * 6 / 10);
  assert_memory_equal(fixture->back.items + 1, fixture->text.items + 1, fixture->back.count - 1);
}

/* All that a frame holds comes before what is said of its checksum, whatever the room. */
static void a_wrong_checksum_of_zstd_is_told_after_the_data(void **state) {
  struct fixture *fixture = *state;
  ZSTD_CCtx *context = ZSTD_createCCtx();
  assert_non_null(context);
  assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)));
  fixture->file.count = ZSTD_compress2(context, fixture->file.items, LARGEST, fixture->text.items, 5000);
  (void)ZSTD_freeCCtx(context);
  fixture->file.items[fixture->file.count - 1] ^= 1;
  write_input(fixture);
  static const size_t pieces[] = {1, 13, 4999, 5000, 65536};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    struct lumos_error error = {LUMOS_DONE, ""};
    assert_int_equal(read_back(fixture, pieces[i], &error), -1);
    assert_non_null(strstr(error.text, "checksum"));
    assert_int_equal(fixture->back.count, 5000);
    assert_memory_equal(fixture->back.items + 1, fixture->text.items + 1, 4999);
  }
}

#endif

static void what_cannot_be_opened_is_named(void **state) {
  struct fixture *fixture = *state;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_null(lumos_input_open(fixture->path, &error));
  assert_non_null(strstr(error.text, fixture->path));
  assert_non_null(strstr(error.text, "No such file"));
  assert_null(lumos_input_open(fixture->folder, &error));
  assert_non_null(strstr(error.text, "directory"));
}

/* Archives and compressions that are not read, as they are and compressed once more. */
static void containers_are_refused_with_the_cure(void **state) {
  struct fixture *fixture = *state;
  static const struct {
    size_t offset;
    const char *magic, *said;
  } rows[] = {{0, "PK\x03\x04", "is a zip archive; unpack it (unzip)"},
              {257, "ustar", "is a tar archive; unpack it (tar -xf)"},
              {0, "7z\xBC\xAF\x27\x1C", "is a 7z archive"},
              {0, "\xFD\x37zXZ", "is compressed with xz"},
              {0, "BZh9", "is compressed with bzip2"},
              {0, "\x04\x22\x4D\x18", "is compressed with lz4"}};
  for (size_t i = 0; i < 2 * (sizeof rows / sizeof *rows); i++) {
    char text[600] = "";
    memcpy(text + rows[i / 2].offset, rows[i / 2].magic, strlen(rows[i / 2].magic));
    fixture->file.count = 0;
    if (i % 2 == 0) {
      add_bytes(&fixture->file, text, sizeof text);
    } else {
      add_gzip(&fixture->file, text, sizeof text);
    }
    write_input(fixture);
    struct lumos_error error = {LUMOS_DONE, ""};
    assert_null(lumos_input_open(fixture->path, &error));
    assert_non_null(strstr(error.text, rows[i / 2].said));
  }
}

static void standard_input_takes_every_form(void **state) {
  struct fixture *fixture = *state;
  add_gzip(&fixture->file, fixture->text.items, fixture->text.count);
  write_input(fixture);
  int kept = dup(STDIN_FILENO);
  int file = open(fixture->path, O_RDONLY);
  assert_true(file >= 0 && dup2(file, STDIN_FILENO) == STDIN_FILENO);
  size_t length = 0;
  struct lumos_error error;
  char *text = lumos_input_slurp("-", LARGEST, &length, &error);
  assert_non_null(text);
  assert_int_equal(length, fixture->text.count);
  assert_memory_equal(text, fixture->text.items, length);
  assert_int_equal(text[length], 0);
  free(text);
  (void)dup2(kept, STDIN_FILENO);
  (void)close(kept);
  (void)close(file);
}

static void slurp_keeps_its_limit(void **state) {
  struct fixture *fixture = *state;
  add_bytes(&fixture->file, fixture->text.items, fixture->text.count);
  write_input(fixture);
  size_t length = 0;
  struct lumos_error error = {LUMOS_DONE, ""};
  char *text = lumos_input_slurp(fixture->path, fixture->text.count, &length, &error);
  assert_non_null(text);
  assert_int_equal(length, fixture->text.count);
  free(text);
  assert_null(lumos_input_slurp(fixture->path, fixture->text.count - 1, &length, &error));
  assert_non_null(strstr(error.text, "larger than 716799 bytes"));
}

static void progress_counts_the_file(void **state) {
  struct fixture *fixture = *state;
  add_gzip(&fixture->file, fixture->text.items, fixture->text.count);
  write_input(fixture);
  struct lumos_error error;
  struct lumos_input *input = lumos_input_open(fixture->path, &error);
  assert_non_null(input);
  uint64_t consumed = 1;
  uint64_t size = 0;
  lumos_input_progress(input, &consumed, &size);
  assert_true(consumed < fixture->file.count); /* only the beginning */
  assert_int_equal(size, fixture->file.count);
  while (lumos_input_read(input, fixture->back.items, 65536, &error) > 0) {
  }
  lumos_input_progress(input, &consumed, &size);
  assert_int_equal(consumed, size);
  lumos_input_close(input);
  lumos_input_close(NULL);
}

static void peeked_bytes_are_read_again(void **state) {
  struct fixture *fixture = *state;
  struct lumos_error error;
  add_gzip(&fixture->file, "ab", 2);
  add_gzip(&fixture->file, fixture->text.items, 1000);
  fixture->file.count -= 4; /* cut: all bytes come, then the fault */
  write_input(fixture);
  struct lumos_input *input = lumos_input_open(fixture->path, &error);
  assert_non_null(input);
  char start[LUMOS_INPUT_PEEK + 1];
  assert_int_equal(lumos_input_peek(input, start, 3), 3);
  assert_int_equal(lumos_input_peek(input, start, sizeof start), LUMOS_INPUT_PEEK);
  assert_memory_equal(start, "ab", 2);
  assert_memory_equal(start + 2, fixture->text.items, LUMOS_INPUT_PEEK - 2);
  int64_t count = 0;
  while ((count = lumos_input_read(input, fixture->back.items + fixture->back.count, 100, &error)) > 0) {
    fixture->back.count += (size_t)count;
  }
  assert_int_equal(count, -1);
  assert_int_equal(fixture->back.count, 1002);
  assert_memory_equal(fixture->back.items, "ab", 2);
  assert_memory_equal(fixture->back.items + 2, fixture->text.items, 1000);
  lumos_input_close(input);
  fixture->file.count = 0;
  write_input(fixture);
  input = lumos_input_open(fixture->path, &error);
  assert_non_null(input);
  assert_int_equal(lumos_input_peek(input, start, sizeof start), 0);
  assert_int_equal(lumos_input_read(input, start, sizeof start, &error), 0);
  lumos_input_close(input);
}

#define INPUT_TEST(function) cmocka_unit_test_setup_teardown(function, make_fixture, drop_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {
      INPUT_TEST(plain_text_is_read),
      INPUT_TEST(short_and_empty_files_are_read),
      INPUT_TEST(gzip_is_read),
      INPUT_TEST(gzip_members_in_a_row_are_one_text),
      INPUT_TEST(many_small_gzip_members_are_read),
      INPUT_TEST(zero_padding_behind_gzip_is_ignored),
      INPUT_TEST(bytes_before_garbage_are_delivered),
      INPUT_TEST(a_cut_gzip_gives_what_it_holds),
      INPUT_TEST(a_cut_gzip_header_is_told),
      INPUT_TEST(a_wrong_checksum_is_told_after_the_data),
      INPUT_TEST(damaged_gzip_fails),
      INPUT_TEST(nothing_is_made_up_for_damage),
#ifdef HAVE_ZSTD
      INPUT_TEST(zstd_frames_in_a_row_are_one_text),
      INPUT_TEST(a_cut_zstd_gives_what_it_holds),
      INPUT_TEST(a_wrong_checksum_of_zstd_is_told_after_the_data),
#endif
      INPUT_TEST(what_cannot_be_opened_is_named),
      INPUT_TEST(containers_are_refused_with_the_cure),
      INPUT_TEST(standard_input_takes_every_form),
      INPUT_TEST(slurp_keeps_its_limit),
      INPUT_TEST(peeked_bytes_are_read_again),
      INPUT_TEST(progress_counts_the_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
