# Writes OUTPUT (build_info.cc) from build_info.cc.in with VERSION and the git commit of SOURCE_DIR;
# the file is touched only when its content changes.
set(COMMIT "unknown")
find_program(GIT git)
if(GIT)
  execute_process(
    COMMAND ${GIT} --no-optional-locks -C ${SOURCE_DIR} describe --always --dirty --abbrev=12
      --match=no-tags
    OUTPUT_VARIABLE described ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(NOT failed)
    set(COMMIT ${described})
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.cc.in ${OUTPUT} @ONLY)
