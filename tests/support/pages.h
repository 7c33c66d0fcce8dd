#pragma once

// The project's pages (Markdown) as tests read them: sections, fenced blocks, tables.

#include <map>
#include <string>
#include <vector>

namespace emplace::testing {

/// The text of a page. @param path  from the root of the tree
std::string ReadPage(const std::string& path);

/// What stands below a heading, up to the next one of any level.
/// @throws std::runtime_error if the page has no such heading, or two
std::string SectionOf(const std::string& page, const std::string& heading);

/// Contents of the fenced blocks of a language, in order.
std::vector<std::string> FencedBlocks(const std::string& text, const std::string& language);

/// Rows of the first table, each a map from the column's head to its cell.
/// @throws std::runtime_error if there is no table, or a row with other columns than its head
std::vector<std::map<std::string, std::string>> TableOf(const std::string& text);

/// Texts in backticks, in order.
std::vector<std::string> CodeSpans(const std::string& text);

/// Targets of links to other files, "FORMAT.md#top" without what follows the '#'.
std::vector<std::string> LinkedFiles(const std::string& page);

}  // namespace emplace::testing
