# Writes OUTPUT, a source that defines the stamp NAME which HEADER declares, from FLAGS and the
# files under FOLDERS of SOURCE_DIR ("framework,simulator"); the file is touched only when its
# content changes.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" folders "${FOLDERS}")
set(patterns "")
foreach(folder ${folders})
  if(NOT IS_DIRECTORY ${SOURCE_DIR}/${folder})
    message(FATAL_ERROR "${SOURCE_DIR}/${folder}: no folder of sources")
  endif()
  foreach(suffix h cc cu cuh)
    list(APPEND patterns ${SOURCE_DIR}/${folder}/*.${suffix})
  endforeach()
endforeach()
file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR} ${patterns})
list(SORT sources)
set(sums "")
foreach(source ${sources})
  file(SHA256 ${SOURCE_DIR}/${source} sum)
  string(APPEND sums "${source} ${sum}\n")
endforeach()
string(SHA256 sum "${sums}")
string(SUBSTRING ${sum} 0 12 sum)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"#include \"@HEADER@\"

namespace emplace {

const char* const @NAME@ = \"@sum@, @FLAGS@\";

}  // namespace emplace
")
