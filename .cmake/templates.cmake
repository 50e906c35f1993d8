# Templates as C: every file in templates/ becomes a byte array, so that lumos-render needs no file at run time.

function(lumos_embed_templates output_variable)
  file(GLOB templates CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/templates/*")
  set(generated "${PROJECT_BINARY_DIR}/templates.c")
  set(script "${PROJECT_SOURCE_DIR}/.cmake/embed.cmake")
  string(REPLACE ";" "|" joined "${templates}")
  add_custom_command(
    OUTPUT "${generated}"
    COMMAND "${CMAKE_COMMAND}" "-DTEMPLATES=${joined}" "-DOUTPUT=${generated}" -P "${script}"
    DEPENDS ${templates} "${script}"
    COMMENT "Embedding the templates"
    VERBATIM)
  set(${output_variable} "${generated}" PARENT_SCOPE)
endfunction()
