#pragma once

// The page of a report: one HTML file that contains data, scripts and D3.

#include <string>
#include <string_view>

#include "framework/base/json.h"

namespace emplace {

/// A file of page/, or D3, compiled into the program (embed.cmake writes report_files.cc).
struct PageFile {
  std::string_view name;  ///< "report.css"
  std::string_view text;
};
/// Returns the text of a page file, which must exist.
std::string_view PageText(std::string_view name);

/// Returns the page with its data. The data is escaped so that it cannot end its HTML element.
/// @param data  as report_data.h makes it
std::string FormatReport(const std::string& title, const Json& data);

/// Escapes the characters of `text` that are markup in HTML contents and attributes.
std::string EscapeHtml(std::string_view text);

}  // namespace emplace
