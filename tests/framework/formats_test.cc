// framework/FORMATS.md lists every page of a format; links of all pages lead somewhere.

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "framework/base/file.h"
#include "tests/framework/format_pages.h"
#include "tests/support/pages.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("every page of a format is on the list, and links lead somewhere") {
  const std::string list = ReadPage("framework/FORMATS.md");
  for (const std::string& page :
       {kGraphPage, kClusterPage, kPlacementPage, kCostPage, kResultsPage}) {
    CHECK_MESSAGE(list.find(page.substr(std::string("framework/").size())) != std::string::npos,
                  page);
    CHECK_NOTHROW(SectionOf(ReadPage(page), "History"));
  }
  int pages = 0;
  for (const char* room : {"framework", "simulator", "agents", "profilers", "configs"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(SourceDir() / room)) {
      if (entry.path().extension() != ".md") continue;
      ++pages;
      for (const std::string& target : LinkedFiles(ReadFile(entry.path()))) {
        CHECK_MESSAGE(std::filesystem::exists(entry.path().parent_path() / target),
                      entry.path().string() << ": " << target);
      }
    }
  }
  CHECK(pages >= 10);
}

}  // namespace
