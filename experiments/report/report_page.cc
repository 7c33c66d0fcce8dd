#include "experiments/report/report_page.h"

#include <span>
#include <utility>

#include <boost/algorithm/string/replace.hpp>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"

namespace emplace {
namespace internal {
extern const std::span<const PageFile> kPageFiles;  // report_files.cc
}

namespace {

// In the order of the page.
constexpr std::string_view kScripts[] = {
    "format.js",       "colours.js",   "view.js",       "save.js",  "tables.js",
    "dots.js",         "summary.js",   "table.js",      "sweep.js", "curves.js",
    "learners.js",     "zoom.js",      "svg_canvas.js", "gantt.js", "plan.js",
    "timeline.js",     "placement.js", "folding.js",    "graph.js", "robustness.js",
    "verification.js", "report.js"};

std::string Scripts() {
  std::string text;
  for (const std::string_view name : kScripts) text += std::string(PageText(name)) + "\n";
  return text;
}

// Escapes '<', which could begin "</script>" or "<!--".
std::string DataText(const Json& data) {
  return boost::replace_all_copy(
      data.dump(-1, ' ', true, Json::error_handler_t::replace), "<", "\\u003c");
}

}  // namespace

std::string_view PageText(std::string_view name) {
  for (const PageFile& file : internal::kPageFiles) {
    if (file.name == name) return file.text;
  }
  EMPLACE_CHECK(false, std::string(name));
  return "";
}

std::string EscapeHtml(std::string_view text) {
  std::string escaped(text);
  for (const auto& [mark, name] : {std::pair("&", "&amp;"),
                                   std::pair("<", "&lt;"),
                                   std::pair(">", "&gt;"),
                                   std::pair("\"", "&quot;"),
                                   std::pair("'", "&#39;")}) {
    boost::replace_all(escaped, mark, name);
  }
  return escaped;
}

std::string FormatReport(const std::string& title, const Json& data) {
  const std::string_view page = PageText("report.html");
  std::string text;
  for (size_t at = 0; at < page.size();) {
    const size_t begin = page.find("{{", at);
    text += page.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    const size_t end = page.find("}}", begin);
    const std::string_view what = page.substr(begin + 2, end - begin - 2);
    if (what == "title") {
      text += EscapeHtml(title);
    } else if (what == "data") {
      text += DataText(data);
    } else if (what == "scripts") {
      text += Scripts();
    } else {
      text += PageText(what);
    }
    at = end + 2;
  }
  return text;
}

}  // namespace emplace
