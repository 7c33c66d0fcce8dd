# Writes OUTPUT (source_stamp.cc, see source_stamp.h) from FLAGS and what lies under framework/ and
# profilers/ of SOURCE_DIR; the file is touched only when its content changes.
file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR}
  ${SOURCE_DIR}/framework/*.h ${SOURCE_DIR}/framework/*.cc
  ${SOURCE_DIR}/profilers/*.h ${SOURCE_DIR}/profilers/*.cc
  ${SOURCE_DIR}/profilers/*.cu ${SOURCE_DIR}/profilers/*.cuh)
list(SORT sources)
set(sums "")
foreach(source ${sources})
  file(SHA256 ${SOURCE_DIR}/${source} sum)
  string(APPEND sums "${source} ${sum}\n")
endforeach()
string(SHA256 sum "${sums}")
string(SUBSTRING ${sum} 0 12 sum)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"#include \"profilers/source_stamp.h\"

namespace emplace {

const char* const kSourceStamp = \"@sum@, @FLAGS@\";

}  // namespace emplace
")
