# cmake -DTEMPLATES=a|b -DOUTPUT=templates.c -P embed.cmake: write the files as C arrays, sorted by name.
string(REPLACE "|" ";" paths "${TEMPLATES}")
list(SORT paths)
set(arrays "")
set(rows "")
set(count 0)
foreach(path ${paths})
  get_filename_component(name "${path}" NAME)
  file(READ "${path}" hex HEX)
  file(SIZE "${path}" size)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "  \\1\n"
         bytes "${bytes}")
  # A NUL behind the bytes, not counted: a template may be read as a string.
  string(APPEND arrays "static const unsigned char template_${count}[] = {\n${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", (const char *)template_${count}, ${size}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE "${OUTPUT}"
  "/* Made by .cmake/embed.cmake from templates/. */\n#include \"report/text/templates.h\"\n\n${arrays}\n"
  "const struct lumos_template lumos_templates[] = {\n${rows}    {NULL, NULL, 0},\n};\n"
  "const size_t lumos_template_count = ${count};\n")
