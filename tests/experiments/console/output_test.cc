#include "experiments/console/output.h"

#include <cstdlib>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("lines are broken at blanks, words are not") {
  CHECK(WrapLines("one two three", 0, 2) == "one two three");
  CHECK(WrapLines("one two three", 13, 2) == "one two three");
  CHECK(WrapLines("one two three\nfour\n", 9, 2) == "one two\n  three\nfour\n");
  CHECK(WrapLines("  --all     every µ of it", 17, 12) ==
        "  --all     every\n            µ of\n            it");
  CHECK(WrapLines("extraordinarily long", 6, 1) == "extraordinarily\n long");
  CHECK(WrapLines("", 6, 1) == "");
  CHECK(WrapLines("a\n\nb", 6, 1) == "a\n\nb");
}

TEST_CASE("one row of a table in bold") {
  CHECK(FormatColumns({{"a", "b"}, {"long", "1"}}, 1) == "a     b\n\x1b[1mlong  1\x1b[0m\n");
  CHECK(FormatColumns({{"a", "b"}, {"long", "1"}}) == "a     b\nlong  1\n");
}

// Here stdout may be anything: $COLUMNS alone is certain.
TEST_CASE("$COLUMNS is the width of the view") {
  const auto columns = [](const char* text) {
    setenv("COLUMNS", text, 1);
    const int found = ViewOfOutput().columns;
    unsetenv("COLUMNS");
    return found;
  };
  const int without = ViewOfOutput().columns;
  CHECK(columns("57") == 57);
  CHECK(columns("0") == without);
  CHECK(columns("-3") == without);
  CHECK(columns("wide") == without);
  CHECK(columns("") == without);
}

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
