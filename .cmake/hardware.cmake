# The table of GPUs as C: src/cost/hardware.json becomes a byte array, so that the library needs no file at run time.

function(lumos_embed_hardware output_variable)
  set(table "${PROJECT_SOURCE_DIR}/src/cost/hardware.json")
  set(generated "${PROJECT_BINARY_DIR}/hardware.c")
  set(script "${PROJECT_SOURCE_DIR}/.cmake/embed_hardware.cmake")
  add_custom_command(
    OUTPUT "${generated}"
    COMMAND "${CMAKE_COMMAND}" "-DTABLE=${table}" "-DOUTPUT=${generated}" -P "${script}"
    DEPENDS "${table}" "${script}"
    COMMENT "Embedding the table of GPUs"
    VERBATIM)
  set(${output_variable} "${generated}" PARENT_SCOPE)
endfunction()
