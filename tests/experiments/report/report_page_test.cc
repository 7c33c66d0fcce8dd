#include "experiments/report/report_page.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/text.h"

using namespace emplace;

namespace {

using emplace::testing::Contains;

TEST_CASE("nothing in the data can end its element") {
  const Json data = {{"evil", "</script><script>alert(1)</script><!-- \xff"}};
  const std::string page = FormatReport("<b> & \"c\"", data);
  CHECK(Contains(page, "<title>&lt;b&gt; &amp; &quot;c&quot; – emplace report</title>"));
  CHECK_FALSE(Contains(page, "alert(1)</script>"));
  const std::string begin = "id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  const Json read = Json::parse(page.substr(at, page.find("</script>", at) - at));
  CHECK(read["evil"] == "</script><script>alert(1)</script><!-- \xEF\xBF\xBD");
}

TEST_CASE("the timeline stands before the graph") {
  const std::string page = FormatReport("t", Json::object());
  CHECK(page.find("<section id=\"plan\" hidden") < page.find("<section id=\"timeline\""));
  CHECK(page.find("<section id=\"timeline\"") < page.find("<section id=\"placement\""));
  CHECK(page.find("<a href=\"#timeline\"") < page.find("<a href=\"#placement\""));
}

TEST_CASE("the page is whole and names no other resource") {
  const std::string page = FormatReport("t", Json::object());
  CHECK_FALSE(Contains(page, "{{"));
  CHECK(Contains(page, "default-src 'none'"));
  CHECK(Contains(page, "Michael Bostock"));
  CHECK(Contains(page, "!function(){var d3={version:\"3.5"));
  for (const char* fetching : {"<link", " src=", "@import", "url(http"}) {
    CAPTURE(fetching);
    CHECK_FALSE(Contains(page, fetching));
  }
  CHECK(EscapeHtml("it's") == "it&#39;s");
}

}  // namespace
