/* The table of colours. Neighbours in a family differ in lightness as well as hue, so that they part in grey print too;
 * every plain paint has a contrast of 3 or more against the page, light and dark, and every ink of 4.5 against its
 * paint. */
#include "report/draw/palette.h"

static const struct report_paint_row rows[PAINT_COUNT] = {
    [PAINT_NONE] = {"none", "", FILL_PLAIN, {"#8391a8", "#8292aa"}, {0}, {"#0b1220", "#0b1220"}},
    [LUMOS_GEMM] = {"gemm", "GEMM", FILL_PLAIN, {"#052863", "#1e70d7"}, {0}, {"#ffffff", "#ffffff"}},
    [LUMOS_ATTENTION] = {"attention", "attention", FILL_PLAIN, {"#0a66cf", "#4698f6"}, {0}, {"#ffffff", "#0b1220"}},
    [LUMOS_ELEMENTWISE] =
        {"elementwise", "elementwise", FILL_PLAIN, {"#1c93e8", "#7dbdfe"}, {0}, {"#0b1220", "#0b1220"}},
    [LUMOS_NORM] = {"norm", "normalization", FILL_PLAIN, {"#416d8d", "#66a2b4"}, {0}, {"#ffffff", "#0b1220"}},
    [LUMOS_REDUCTION] = {"reduction", "reduction", FILL_PLAIN, {"#7f8ed5", "#a3add7"}, {0}, {"#0b1220", "#0b1220"}},
    [LUMOS_OPTIMIZER] = {"optimizer", "optimizer", FILL_PLAIN, {"#3c41a9", "#6f78d0"}, {0}, {"#ffffff", "#0b1220"}},
    [LUMOS_EMBEDDING] = {"embedding", "embedding", FILL_PLAIN, {"#478dab", "#43d3f5"}, {0}, {"#0b1220", "#0b1220"}},
    [LUMOS_COPY] = {"copy", "copy", FILL_PLAIN, {"#723797", "#b289db"}, {0}, {"#ffffff", "#0b1220"}},
    [LUMOS_MEMSET] = {"memset", "memset", FILL_PLAIN, {"#8d63b1", "#d1bdd8"}, {0}, {"#ffffff", "#0b1220"}},
    [LUMOS_COLLECTIVE] = {"collective", "collective", FILL_PLAIN, {"#bf540b", "#ee8a3c"}, {0}, {"#ffffff", "#0b1220"}},
    [LUMOS_P2P] = {"p2p", "send or receive", FILL_PLAIN, {"#cf801f", "#ffc581"}, {0}, {"#0b1220", "#0b1220"}},
    [LUMOS_OTHER_DEVICE] =
        {"device-other", "other GPU work", FILL_PLAIN, {"#878e9e", "#767f93"}, {0}, {"#0b1220", "#0b1220"}},
    [LUMOS_OP] = {"op", "op (CPU)", FILL_PLAIN, {"#04605c", "#20b8af"}, {0}, {"#ffffff", "#0b1220"}},
    [LUMOS_LAUNCH] = {"launch", "launch call", FILL_PLAIN, {"#078073", "#79d2bf"}, {0}, {"#ffffff", "#0b1220"}},
    [LUMOS_SYNC] =
        {"sync", "CPU waits", FILL_HATCHED, {"#dcefec", "#17302d"}, {"#3c9c8f", "#3b9d90"}, {"#06302c", "#d9f2ee"}},
    [LUMOS_EVENT] = {"event", "CUDA event call", FILL_PLAIN, {"#599e87", "#b0ebe5"}, {0}, {"#0b1220", "#0b1220"}},
    [LUMOS_ALLOC] = {"alloc", "memory call", FILL_PLAIN, {"#447d59", "#59b183"}, {0}, {"#ffffff", "#0b1220"}},
    [LUMOS_OTHER_HOST] =
        {"host-other", "other CPU work", FILL_PLAIN, {"#80959c", "#79928e"}, {0}, {"#0b1220", "#0b1220"}},
    [PAINT_COMPUTE] = {"compute", "compute", FILL_PLAIN, {"#1f5aa8", "#4b8ee6"}, {0}, {"#ffffff", "#0b1220"}},
    [PAINT_OVERLAPPED] = {"overlapped",
                          "overlapped",
                          FILL_TWO_TONE,
                          {"#1f5aa8", "#4b8ee6"},
                          {"#bf540b", "#ee8a3c"},
                          {"#ffffff", "#0b1220"}},
    [PAINT_TRANSFER] = {"transfer", "transfer", FILL_PLAIN, {"#bf540b", "#ee8a3c"}, {0}, {"#ffffff", "#1a0f05"}},
    [PAINT_WAIT] =
        {"wait", "waiting", FILL_HATCHED, {"#fdebd9", "#38281a"}, {"#d9853c", "#c67c3a"}, {"#3d1c02", "#fff6ec"}},
    [PAINT_BUBBLE] = {"pipeline-bubble",
                      "bubble",
                      FILL_OUTLINED,
                      {"#ffffff", "#0a0d10"},
                      {"#bf540b", "#ee8a3c"},
                      {"#3d1c02", "#fff6ec"}},
    [PAINT_UNSPLIT] =
        {"unsplit", "transfer or waiting", FILL_PLAIN, {"#d5782a", "#f3ab6b"}, {0}, {"#241303", "#1a0f05"}},
    [PAINT_COPY_PART] = {"copies", "copies", FILL_PLAIN, {"#723797", "#b289db"}, {0}, {"#ffffff", "#150b22"}},
    [PAINT_NOT_RECORDED] = {"not-recorded",
                            "outside the recording",
                            FILL_CROSSED,
                            {"#f6f7f9", "#1a1e24"},
                            {"#b4bbc5", "#4e5763"},
                            {"#3a414c", "#c3cad4"}},
    [PAINT_IDLE] =
        {"idle", "idle", FILL_HATCHED, {"#eceef1", "#23282f"}, {"#d5d9df", "#363d47"}, {"#3a414c", "#c3cad4"}},
    [PAINT_HOST_GAP] =
        {"host-gap", "CPU gap", FILL_HATCHED, {"#8fbfb5", "#135951"}, {"#056763", "#20b8af"}, {"#06302c", "#e2f7f4"}},
    [PAINT_LATENCY] = {"latency",
                       "launch latency",
                       FILL_HATCHED,
                       {"#efe6d3", "#3a3020"},
                       {"#8a7440", "#c2a764"},
                       {"#33280e", "#f6ecd6"}},
    [PAINT_BETWEEN] =
        {"between", "other gaps", FILL_HATCHED, {"#c8d0e6", "#2c3752"}, {"#5a6da0", "#98a9d4"}, {"#1b2742", "#e6ecf8"}},
    [PAINT_UNEXPLAINED] =
        {"unexplained", "unexplained delay", FILL_PLAIN, {"#c2186b", "#ff77b7"}, {0}, {"#ffffff", "#0b1220"}},
    [PAINT_RESOURCE] = {"resource",
                        "waiting for SMs",
                        FILL_HATCHED,
                        {"#f4ecc0", "#37310f"},
                        {"#7d6500", "#d9b72f"},
                        {"#332900", "#fbf3cf"}},
    [PAINT_BOUNDARY] = {"boundary",
                        "waiting outside the recording",
                        FILL_HATCHED,
                        {"#8f96a1", "#1b1a17"},
                        {"#0b1017", "#edebe6"},
                        {"#1b2129", "#e6e9ee"}},
    [PAINT_FORWARD] = {"forward", "forward", FILL_PLAIN, {"#1560a8", "#5c9fe0"}, {0}, {"#ffffff", "#0b1220"}},
    [PAINT_BACKWARD] = {"backward", "backward", FILL_PLAIN, {"#37a169", "#7be7b4"}, {0}, {"#0b1220", "#0b1220"}},
    [PAINT_WEIGHT] = {"weight", "weight gradient", FILL_PLAIN, {"#5c4400", "#f2e06a"}, {0}, {"#ffffff", "#0b1220"}},
    [PAINT_UPDATE] = {"update", "optimizer step", FILL_PLAIN, {"#6b7280", "#8f99a8"}, {0}, {"#ffffff", "#0b1220"}},
    [PAINT_COMMUNICATION] =
        {"communication", "communication", FILL_PLAIN, {"#bf540b", "#ee8a3c"}, {0}, {"#ffffff", "#1a0f05"}},
    [PAINT_NO_PASS] = {"no-pass", "unassigned work", FILL_HATCHED, {"#ece4f2", "#2c2336"}, {"#9a5fb5", "#b07fd0"}, {0}},
    [PAINT_BUSY_MEASURED] = {"busy-measured", "busy, measured", FILL_PLAIN, {"#3f8fd8", "#4f97dd"}, {0}, {0}},
    [PAINT_BUSY_SIMULATED] = {"busy-simulated", "busy, simulated", FILL_PLAIN, {"#0b2a5b", "#d6e6ff"}, {0}, {0}},
    [PAINT_OCCUPIED_MEASURED] =
        {"occupied-measured", "by occupancy, measured", FILL_PLAIN, {"#b07a00", "#c99a2e"}, {0}, {0}},
    [PAINT_OCCUPIED_SIMULATED] =
        {"occupied-simulated", "by occupancy, simulated", FILL_PLAIN, {"#6b3d00", "#ffe08a"}, {0}, {0}},
    [PAINT_ALLOCATED] = {"allocated", "allocated", FILL_PLAIN, {"#3f8fd8", "#4f97dd"}, {0}, {0}},
    [PAINT_RESERVED] = {"reserved", "reserved", FILL_PLAIN, {"#0b2a5b", "#d6e6ff"}, {0}, {0}},
    [PAINT_TEXT] = {"ink", "", FILL_PLAIN, {"#1b2129", "#e6e9ee"}, {0}, {0}},
    [PAINT_MUTED] = {"muted", "", FILL_PLAIN, {"#59626f", "#9aa4b2"}, {0}, {0}},
    [PAINT_RULE] = {"rule", "", FILL_PLAIN, {"#e3e6ea", "#2a3038"}, {0}, {0}},
    [PAINT_TRACK] = {"track", "", FILL_PLAIN, {"#f4f5f7", "#1a1f25"}, {0}, {0}},
    [PAINT_STEP] = {"step", "", FILL_PLAIN, {"#59626f", "#9aa4b2"}, {0}, {0}},
    [PAINT_ROUTE] = {"route", "critical path", FILL_PLAIN, {"#d1001f", "#ff5d6c"}, {0}, {0}},
    [PAINT_PAPER] = {"paper", "", FILL_PLAIN, {"#fcfcfa", "#11151a"}, {0}, {0}},
};

const struct report_paint_row *report_paint_row(enum report_paint paint) { return &rows[paint]; }

enum report_paint report_paint_of_kind(uint8_t kind) {
  return kind < LUMOS_TASK_KINDS ? (enum report_paint)kind : PAINT_NONE;
}

static void put_property(struct lumos_text *text, const char *css, const char *suffix, const char *colour) {
  if (colour != NULL) {
    lumos_text_format(text, "--%s%s:%s;", css, suffix, colour);
  }
}

static void put_properties(struct lumos_text *text, bool dark) {
  for (int i = 0; i < PAINT_COUNT; i++) {
    const struct report_paint_row *row = &rows[i];
    put_property(text, row->css, "", dark ? row->colour.dark : row->colour.light);
    put_property(text, row->css, "-second", dark ? row->second.dark : row->second.light);
    put_property(text, row->css, "-ink", dark ? row->ink.dark : row->ink.light);
  }
}

/* A colour as a picture's rule says it: by its custom property on a page; by itself, light, where a picture stands
 * alone. */
static void put_rule(struct lumos_text *text, bool alone, const char *css, const char *suffix, const char *light,
                     const char *property) {
  if (alone) {
    lumos_text_format(text, "{%s:%s}", property, light);
  } else {
    lumos_text_format(text, "{%s:var(--%s%s)}", property, css, suffix);
  }
}

/* The fills and strokes of pictures; a patterned fill is a pattern of the picture's own (svg.c) made of the two
 * colours. */
static void put_picture_rules(struct lumos_text *text, const struct report_paint_row *row, bool alone) {
  const char *css = row->css;
  lumos_text_format(text, "svg .%s", css);
  put_rule(text, alone, css, "", row->colour.light, "fill");
  lumos_text_format(text, "svg line.%s,svg .stroke.%s", css, css);
  put_rule(text, alone, css, "", row->colour.light, "stroke");
  if (row->ink.light != NULL) {
    lumos_text_format(text, "svg .%s-ink", css);
    put_rule(text, alone, css, "-ink", row->ink.light, "fill");
  }
  if (row->fill == FILL_OUTLINED) {
    lumos_text_format(text, "svg .%s.outlined", css);
    put_rule(text, alone, css, "-second", row->second.light, "stroke");
  } else if (row->fill != FILL_PLAIN) {
    lumos_text_format(text, "svg .%s-second", css);
    put_rule(text, alone, css, "-second", row->second.light, "fill");
  }
}

/* A legend's swatch. */
static void put_swatch(struct lumos_text *text, const struct report_paint_row *row) {
  const char *css = row->css;
  switch (row->fill) {
    case FILL_PLAIN:
      lumos_text_format(text, ".%s::before{background:var(--%s)}", css, css);
      break;
    case FILL_HATCHED:
      lumos_text_format(
          text,
          ".%s::before{background:repeating-linear-gradient(135deg,var(--%s) 0 2.5px,var(--%s-second) 2.5px 4px)}", css,
          css, css);
      break;
    case FILL_CROSSED:
      lumos_text_format(text,
                        ".%s::before{background:repeating-linear-gradient(135deg,transparent 0 "
                        "2.5px,var(--%s-second) 2.5px 4px),repeating-linear-gradient(45deg,var(--%s) 0 "
                        "2.5px,var(--%s-second) 2.5px 4px)}",
                        css, css, css, css);
      break;
    case FILL_TWO_TONE:
      lumos_text_format(text, ".%s::before{background:linear-gradient(var(--%s) 62%%,var(--%s-second) 62%%)}", css, css,
                        css);
      break;
    case FILL_OUTLINED:
      lumos_text_format(text,
                        ".%s::before{background:var(--%s);outline:1px dashed var(--%s-second);outline-offset:-1px}",
                        css, css, css);
      break;
  }
}

void report_palette_css(struct lumos_text *text) {
  lumos_text_put(text, ":root{color-scheme:light dark;");
  put_properties(text, false);
  lumos_text_put(text, "}\n@media screen and (prefers-color-scheme:dark){:root{");
  put_properties(text, true);
  lumos_text_put(text, "}}\n");
  for (int i = 0; i < PAINT_COUNT; i++) {
    put_picture_rules(text, &rows[i], false);
    put_swatch(text, &rows[i]);
    lumos_text_char(text, '\n');
  }
}

void report_palette_picture_css(struct lumos_text *text) {
  for (int i = 0; i < PAINT_COUNT; i++) {
    put_picture_rules(text, &rows[i], true);
    lumos_text_char(text, '\n');
  }
}
