#include "tools/picturing.h"

#include "base/duration.h"
#include <string.h>

static bool is_picture(enum lumos_report_format format) {
  return format == LUMOS_REPORT_SVG || format == LUMOS_REPORT_PNG || format == LUMOS_REPORT_PDF;
}

static bool read_size(const char *size, struct lumos_report_options *report, struct lumos_error *error) {
  enum { LEAST_PIXELS = 200, MOST_PIXELS = 16384 /* a side. Chosen: a PNG of that square has 1 GB */, MOST_RATIO = 4 };
  const char *at = size;
  int32_t width = tool_number_read(&at, MOST_PIXELS);
  report->is_ratio = *at == ':';
  bool parted = width > 0 && (*at == ':' || *at == 'x');
  at += parted;
  int32_t height = parted ? tool_number_read(&at, MOST_PIXELS) : -1;
  report->width = width;
  report->height = height;
  bool good = height > 0 && *at == '\0' && width <= MOST_RATIO * height && height <= MOST_RATIO * width &&
              (report->is_ratio || (width >= LEAST_PIXELS && height >= LEAST_PIXELS));
  return good || lumos_fail(error,
                            "option --size: '%s' is not a size; give a ratio up to 4:1, such as 16:9, or pixels, such "
                            "as 1920x1080, at least 200 and at most 16384 a side",
                            size);
}

/* "0,2-5" */
static bool read_ranks(struct tool_picturing *picturing, struct lumos_report_options *report,
                       struct lumos_error *error) {
  bool good = tool_numbers_read(picturing->ranks, &picturing->numbers);
  report->ranks = picturing->numbers.items;
  report->rank_count = picturing->numbers.count;
  return good || lumos_fail(error, "option --ranks: '%s' is not a list of ranks; give numbers and spans, as 0,2-5",
                            picturing->ranks);
}

static bool read_span(const char *span, struct lumos_report_options *report, struct lumos_error *error) {
  const char *at = span;
  bool good = lumos_duration_read(&at, &report->span_from) && *at++ == '-' &&
              lumos_duration_read(&at, &report->span_until) && *at == '\0';
  report->has_span = true;
  return (good && report->span_from < report->span_until) ||
         lumos_fail(error, "option --span: '%s' is not a span of time; give its start and its end, as 10ms-25ms", span);
}

/* What a page that lies where `output` does calls `picture`. */
static const char *address_of(const char *picture, const char *output) {
  const char *slash = output == NULL ? NULL : strrchr(output, '/');
  size_t folder = slash == NULL ? 0 : (size_t)(slash - output) + 1;
  return folder > 0 && strncmp(picture, output, folder) == 0 ? picture + folder : picture;
}

static bool check_picture(struct tool_picturing *picturing, const char *output, struct lumos_report_options *report,
                          struct lumos_error *error) {
  picturing->format = lumos_report_format_of_path(picturing->picture);
  if (report->format != LUMOS_REPORT_MARKDOWN || report->full) {
    return lumos_fail(error, "--picture is for a comment in Markdown; write .md without --full, or leave it out");
  }
  if (picturing->format != LUMOS_REPORT_PNG && picturing->format != LUMOS_REPORT_SVG) {
    return lumos_fail(error, "option --picture: %s ends in neither .png nor .svg", picturing->picture);
  }
  report->picture = address_of(picturing->picture, output);
  return lumos_output_try(picturing->picture, error);
}

/* What was given that only pictures have; NULL: nothing. */
static const char *given_for_pictures(const struct tool_picturing *picturing,
                                      const struct lumos_report_options *report) {
  return picturing->size != NULL    ? "--size"
         : picturing->ranks != NULL ? "--ranks"
         : picturing->span != NULL  ? "--span"
         : report->no_verdict       ? "--no-verdict"
                                    : NULL;
}

bool tool_picturing_check(struct tool_picturing *picturing, const char *output, struct lumos_report_options *report,
                          struct lumos_error *error) {
  const char *given = given_for_pictures(picturing, report);
  if (given != NULL && !is_picture(report->format) && picturing->picture == NULL) {
    return lumos_fail(error, "%s is for pictures; write .svg, .png or .pdf, or leave it out", given);
  }
  if (report->full && report->format != LUMOS_REPORT_MARKDOWN) {
    return lumos_fail(error, "--full is for Markdown; write .md, or leave it out");
  }
  if (picturing->span != NULL && report->view != LUMOS_VIEW_GANTT) {
    return lumos_fail(error, "--span is for the timeline; add --view gantt");
  }
  if (picturing->ranks != NULL && report->view != LUMOS_VIEW_GANTT && report->view != LUMOS_VIEW_BREAKDOWN &&
      report->view != LUMOS_VIEW_MEMORY && report->view != LUMOS_VIEW_DEFAULT) {
    return lumos_fail(
        error, "--ranks is for breakdown, timeline and memory; add --view breakdown, --view gantt or --view memory");
  }
  return (picturing->picture == NULL || check_picture(picturing, output, report, error)) &&
         (picturing->size == NULL || read_size(picturing->size, report, error)) &&
         (picturing->ranks == NULL || read_ranks(picturing, report, error)) &&
         (picturing->span == NULL || read_span(picturing->span, report, error));
}

bool tool_picturing_write(const struct tool_picturing *picturing, struct lumos_job *job,
                          const struct lumos_report_options *report, struct lumos_error *error) {
  if (picturing->picture == NULL) {
    return true;
  }
  struct lumos_report_options options = *report;
  options.format = picturing->format;
  struct lumos_text picture = LUMOS_TEXT_BUFFER;
  struct lumos_output output;
  bool good = lumos_report(job, &options, &picture, error) && lumos_output_open(&output, picturing->picture, error);
  if (good) {
    lumos_text_add(&output.text, picture.bytes, picture.length);
    good = lumos_output_commit(&output, error);
  }
  lumos_text_free(&picture);
  return good;
}
