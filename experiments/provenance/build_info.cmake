# Writes OUTPUT (build_info.cc) from build_info.cc.in with VERSION and the git commit of SOURCE_DIR; the file is
# written only when its content changes. Sources without git have the commit that `git archive` wrote to commit.txt.
set(COMMIT "unknown")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE_DIR}/.git)  # not a checkout that contains an unpacked archive
  execute_process(
    COMMAND ${GIT} --no-optional-locks -C ${SOURCE_DIR} describe --always --dirty --abbrev=12
      --match=no-tags
    OUTPUT_VARIABLE described ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(NOT failed)
    set(COMMIT ${described})
  endif()
else()
  file(READ ${CMAKE_CURRENT_LIST_DIR}/commit.txt archived)
  string(REGEX MATCH "^[0-9a-f]+" archived "${archived}")
  if(archived)
    string(SUBSTRING ${archived} 0 12 COMMIT)
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.cc.in ${OUTPUT} @ONLY)
