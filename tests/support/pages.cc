#include "tests/support/pages.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "framework/base/file.h"
#include "tests/support/paths.h"

namespace emplace::testing {
namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool IsFence(const std::string& line) {
  return line.find_first_not_of(' ') != std::string::npos &&
         line.substr(line.find_first_not_of(' ')).starts_with("```");
}

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// "## Keys of an op" -> "Keys of an op"; nothing for any other line.
std::optional<std::string> HeadingOf(const std::string& line) {
  const size_t level = line.find_first_not_of('#');
  if (level == 0 || level == std::string::npos || line[level] != ' ') return std::nullopt;
  return Trimmed(line.substr(level));
}

// "| a | b |" -> {"a", "b"}
std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells;
  for (size_t begin = 1; begin < line.size();) {
    const size_t end = std::min(line.find('|', begin), line.size());
    cells.push_back(Trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return cells;
}

}  // namespace

std::string ReadPage(const std::string& path) {
  return ReadFile(SourceDir() / path);
}

std::string SectionOf(const std::string& page, const std::string& heading) {
  std::string section;
  bool is_inside = false, is_fenced = false;
  int found = 0;
  for (const std::string& line : LinesOf(page)) {
    if (IsFence(line)) is_fenced = !is_fenced;
    const std::optional<std::string> here = is_fenced ? std::nullopt : HeadingOf(line);
    if (here) {
      is_inside = *here == heading;
      found += is_inside;
    } else if (is_inside) {
      section += line + "\n";
    }
  }
  if (found != 1) {
    throw std::runtime_error(std::to_string(found) + " headings \"" + heading + "\", expected one");
  }
  return section;
}

std::vector<std::string> FencedBlocks(const std::string& text, const std::string& language) {
  std::vector<std::string> blocks;
  bool is_wanted = false, is_fenced = false;
  for (const std::string& line : LinesOf(text)) {
    if (!IsFence(line)) {
      if (is_wanted) blocks.back() += line + "\n";
      continue;
    }
    is_fenced = !is_fenced;
    is_wanted = is_fenced && Trimmed(line) == "```" + language;
    if (is_wanted) blocks.emplace_back();
  }
  return blocks;
}

std::vector<std::map<std::string, std::string>> TableOf(const std::string& text) {
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> head;
  bool is_rule_next = false;
  for (const std::string& line : LinesOf(text)) {
    if (!line.starts_with('|')) {
      if (!head.empty()) break;
      continue;
    }
    const std::vector<std::string> cells = CellsOf(line);
    if (head.empty()) {
      head = cells;
      is_rule_next = true;
      continue;
    }
    if (cells.size() != head.size()) {
      throw std::runtime_error("a table of " + std::to_string(head.size()) +
                               " columns has: " + line);
    }
    if (is_rule_next) {
      is_rule_next = false;
      continue;
    }
    auto& row = rows.emplace_back();
    for (size_t i = 0; i < head.size(); ++i) row[head[i]] = cells[i];
  }
  if (rows.empty()) throw std::runtime_error("expected a table in: " + text.substr(0, 200));
  return rows;
}

std::vector<std::string> CodeSpans(const std::string& text) {
  std::vector<std::string> spans;
  for (size_t begin = text.find('`'); begin != std::string::npos; begin = text.find('`', begin)) {
    const size_t end = text.find('`', begin + 1);
    if (end == std::string::npos) break;
    spans.push_back(text.substr(begin + 1, end - begin - 1));
    begin = end + 1;
  }
  return spans;
}

std::vector<std::string> LinkedFiles(const std::string& page) {
  static const std::regex pattern(R"(\]\(([^)#\s]+)(#[^)]*)?\))");
  std::vector<std::string> files;
  for (std::sregex_iterator link(page.begin(), page.end(), pattern), end; link != end; ++link) {
    const std::string target = (*link)[1];
    if (target.find("://") == std::string::npos) files.push_back(target);
  }
  return files;
}

}  // namespace emplace::testing
