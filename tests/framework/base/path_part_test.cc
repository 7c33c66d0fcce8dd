#include "framework/base/path_part.h"

#include <string>

#include <doctest/doctest.h>

namespace emplace {
namespace {

using namespace std::string_literals;

TEST_CASE("A part of a path is one name") {
  for (const std::string& name :
       {"a"s, "a b"s, "-rf"s, "..."s, ".hidden"s, "a..b"s, "\xc3\xa9"s, std::string(255, 'x')}) {
    CAPTURE(name);
    CHECK(IsPathPart(name));
    CHECK(IsPathBelow(name));
  }
  for (const std::string& name : {""s,
                                  "."s,
                                  ".."s,
                                  "a/b"s,
                                  "/etc/x"s,
                                  "../x"s,
                                  "con\0"s,
                                  "\0"s,
                                  "a\nb"s,
                                  "\x7f"s,
                                  std::string(256, 'x')}) {
    CAPTURE(name);
    CHECK_FALSE(IsPathPart(name));
  }
}

TEST_CASE("A path below a folder has no way up") {
  for (const std::string& path : {"runs/0001.h5"s, "a/b/c"s, "a/..."s}) {
    CAPTURE(path);
    CHECK(IsPathBelow(path));
  }
  for (const std::string& path : {""s,
                                  "/"s,
                                  "/etc/x"s,
                                  "../x"s,
                                  "runs/../../x"s,
                                  "runs/.."s,
                                  "runs/"s,
                                  "runs//x"s,
                                  "./x"s,
                                  "runs/x\0.h5"s,
                                  "runs/" + std::string(256, 'x')}) {
    CAPTURE(path);
    CHECK_FALSE(IsPathBelow(path));
  }
}

}  // namespace
}  // namespace emplace
