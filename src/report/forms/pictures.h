/* The report's pictures, each described once: the page, SVG, PNG and PDF paint these. To add a picture: a row in
 * pictures.c, and a file that makes its scene. */
#ifndef LUMOS_REPORT_PICTURES_H
#define LUMOS_REPORT_PICTURES_H

#include "report/content/content.h"
#include "report/draw/scene.h"

struct report_picture {
  enum lumos_report_view view;
  enum report_table_number table; /* that has its numbers */
  const char *name;               /* "breakdown", as in --view */
  const char *title;              /* "Where the step went" */
  const char *none;               /* why there may be nothing to show, and the cure */
  /* What the picture says, in a sentence. */
  void (*finding)(const struct report_content *content, struct lumos_text *out);
  /* How it is to be read; NULL: it speaks for itself. */
  void (*reading)(const struct report_content *content, struct lumos_text *out);
  /* The paints that its legend explains: shown[paint]. */
  void (*legend)(const struct report_content *content, bool shown[PAINT_COUNT]);
  /* False: there is nothing to show; the scene is not begun. */
  bool (*scene)(const struct report_content *content, struct report_scene *scene);
};

enum { REPORT_PICTURES = 9 };
extern const struct report_picture report_pictures[REPORT_PICTURES];
/* The picture of a view; NULL: LUMOS_VIEW_DEFAULT, or what is no view. */
const struct report_picture *report_picture_of(enum lumos_report_view view);

/* The picture that was asked for, or the one that stands for the job: the breakdown, without GPU work the timeline. */
const struct report_picture *report_picture_chosen(const struct report_content *content);

/* A picture that stands alone: what it finds as its title, its subject, the diagnosis, the picture, its legend, and
 * which tool made it. False: there is nothing to show; the scene is not begun. */
bool report_picture_frame(const struct report_content *content, const struct report_picture *picture,
                          struct report_scene *scene);

/* The forms of a report that are pictures. */
bool report_svg_write(struct report_content *content, struct lumos_text *out,
                      struct lumos_error *error) LUMOS_MUST_CHECK;
bool report_png_write(struct report_content *content, struct lumos_text *out,
                      struct lumos_error *error) LUMOS_MUST_CHECK;
bool report_pdf_write(struct report_content *content, struct lumos_text *out,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
