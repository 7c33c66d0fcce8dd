# Writes OUTPUT: the text of FILE, compiled into the program as emplace::internal::NAME.
file(READ ${FILE} content)
string(FIND "${content}" ")text\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${FILE}: cannot be embedded")
endif()
file(WRITE ${OUTPUT} "#include <string_view>\n\nnamespace emplace::internal {\n\n"
  "extern const std::string_view ${NAME};\nconst std::string_view ${NAME} =\n"
  "    R\"text(${content})text\";\n\n}  // namespace emplace::internal\n")
