#pragma once

// The page of a report: one HTML file with everything in it, data, scripts and D3.

#include <string>
#include <string_view>

#include "framework/base/json.h"

namespace emplace {

/// A file of page/, or D3, compiled into the program (embed.cmake writes report_files.cc).
struct PageFile {
  std::string_view name;  ///< "report.css"
  std::string_view text;
};
/// The text of one of them, which must be there.
std::string_view PageText(std::string_view name);

/// The page with its data, which is escaped so that nothing in it can end the element that holds
/// it.
/// @param data  as report_data.h makes it
std::string FormatReport(const std::string& title, const Json& data);

/// `text` with the characters escaped that HTML would take for markup, in contents and attributes.
std::string EscapeHtml(std::string_view text);

}  // namespace emplace
