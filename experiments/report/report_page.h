#pragma once

// The page of a report: one HTML file with everything in it.

#include <string>
#include <string_view>

#include "framework/base/json.h"

namespace emplace {

/// Files of page/ and D3, compiled into the program; report_files.cc is written by embed.cmake.
struct PageFile {
  std::string_view name;  ///< "report.css"
  std::string_view text;
};
/// @throws nothing: a name that is not there is our bug
std::string_view PageText(std::string_view name);

/// The page with its data. Nothing in `data` can end the script element that it stands in.
/// @param data  as report_data.h makes it
std::string FormatReport(const std::string& title, const Json& data);

/// `text` for an element's content or a quoted attribute.
std::string EscapeHtml(std::string_view text);

}  // namespace emplace
