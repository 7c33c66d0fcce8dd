#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "experiments/table/table_formats.h"

namespace emplace {
namespace {

std::string EscapeTex(const std::string& text) {
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) {
      escaped += std::string("\\") + c;
    } else if (c == '~' || c == '^') {
      escaped += fmt::format("\\{}{{}}", c);
    } else if (c == '\\') {
      escaped += "\\textbackslash{}";
    } else if (text.compare(i, 3, "–") == 0) {
      escaped += "--";
      i += 2;
    } else if (text.compare(i, 3, "∞") == 0) {
      escaped += "$\\infty$";
      i += 2;
    } else {
      // Two line breaks would end a paragraph.
      escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return escaped;
}

constexpr size_t kLineWidth = 100;

// Joins pieces with blanks, in lines of at most kLineWidth bytes unless a piece is longer. TeX
// reads a line break as a blank.
std::string FillLines(const std::vector<std::string>& pieces) {
  std::string text, line = " ";
  for (const std::string& piece : pieces) {
    if (line.size() + 1 + piece.size() > kLineWidth && line.find_first_not_of(' ') < line.size()) {
      text += line + "\n";
      line = "   ";
    }
    line += " " + piece;
  }
  return text + line + "\n";
}

// LaTeX would read a cell that begins with [ as an option of the \\ before it.
std::string Join(std::vector<std::string> cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].starts_with('[')) cells[i].insert(0, "{}");
    cells[i] += i + 1 < cells.size() ? " &" : " \\\\";
  }
  return FillLines(cells);
}

std::vector<std::string> WordsOf(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string TexCell(const CellText& text) {
  std::string line = EscapeTex(text.number);
  if (!text.interval.empty()) line += " {\\scriptsize " + EscapeTex(text.interval) + "}";
  if (!text.note.empty()) line += " {\\scriptsize " + EscapeTex(text.note) + "}";
  return line;
}

}  // namespace

std::string TableTex(const ResultTable& table) {
  const auto [lines, num_left] = LinesOf(table, EscapeTex, TexCell);
  std::string caption = table.title.empty() ? "" : table.title + ". ";
  for (const std::string& sentence : LegendOf(table)) {
    caption += sentence + (sentence.ends_with('.') ? " " : ". ");
  }
  caption.pop_back();
  std::string text = "\\begin{table}\n  \\centering\n" +
                     FillLines(WordsOf(fmt::format("\\caption{{{}}}", EscapeTex(caption))));
  text += fmt::format("  \\begin{{tabular}}{{{}{}}}\n  \\toprule\n",
                      std::string(num_left, 'l'),
                      std::string(table.columns.size(), 'r'));
  for (size_t i = 0; i < lines.size(); ++i)
    text += Join(lines[i]) + (i == 0 ? "  \\midrule\n" : "");
  return text + "  \\bottomrule\n  \\end{tabular}\n\\end{table}\n";
}

}  // namespace emplace
