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
  // A spreadsheet takes these for formulas, but not a number.
  CHECK(CsvField("=HYPERLINK(1)") == "'=HYPERLINK(1)");
  CHECK(CsvField("@a") == "'@a");
  CHECK(CsvField("+1-1") == "'+1-1");
  CHECK(CsvField("-1,\"a\"") == "\"'-1,\"\"a\"\"\"");
  CHECK(CsvField("-1.5e3") == "-1.5e3");
  CHECK(CsvField("a=b") == "a=b");
}

}  // namespace
