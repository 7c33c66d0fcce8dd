# Writes OUTPUT (default_policy.cc): the text of FILE, compiled into the program.
file(READ ${FILE} content)
string(FIND "${content}" ")policy\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${FILE}: cannot be embedded")
endif()
file(WRITE ${OUTPUT} "#include \"agents/learned/default_policy.h\"\n\nnamespace emplace::internal {\n\n"
  "extern const std::string_view kDefaultPolicy;\nconst std::string_view kDefaultPolicy =\n"
  "    R\"policy(${content})policy\";\n\n}  // namespace emplace::internal\n")
