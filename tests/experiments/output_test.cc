#include "experiments/output.h"

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("a table of Markdown and a field of CSV") {
  CHECK(MarkdownLines({{"a", "long"}, {"wider", "1"}}, 1) ==
        "| a     | long |\n"
        "|-------|-----:|\n"
        "| wider |    1 |\n");
  CHECK(CsvField("plain") == "plain");
  CHECK(CsvField("two, \"quoted\"") == "\"two, \"\"quoted\"\"\"");
}

}  // namespace
