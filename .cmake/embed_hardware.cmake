# cmake -DTABLE=hardware.json -DOUTPUT=hardware.c -P embed_hardware.cmake: write the file as a C string.
file(READ "${TABLE}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "  \\1\n"
       bytes "${bytes}")
file(WRITE "${OUTPUT}"
  "/* Made by .cmake/embed_hardware.cmake from src/cost/hardware.json. */\n#include \"cost/hardware_table.h\"\n\n"
  "const char lumos_hardware_table[] = {\n${bytes}0};\n")
