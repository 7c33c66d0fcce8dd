#pragma once

// Output of the program: to stdout, to stderr, and numbers formatted for people.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// Writes to stdout. @throws RunError if writing fails (a full disk)
void Print(std::string_view text);
/// Writes the text that Print() has buffered.
/// @throws RunError if writing fails
void FlushOutput();
/// Prints "emplace: warning: `message`" on stderr. A message is printed once, however often it is
/// given, since the runs of a sweep share graphs and costs.
void PrintWarning(const std::string& message);
/// Disables PrintWarning(), for a process that repeats the work of another one.
void SilenceWarnings();

/// The format in which stdout shows text.
struct TextView {
  int columns = 0;      ///< of a line; 0: no limit
  bool styled = false;  ///< whether it can show bold text
};
/// Returns the view of stdout. Columns: $COLUMNS if that is a number > 0, else the width of the
/// terminal, else (a file, a pipe) no limit. Styled: a terminal, unless $NO_COLOR is set
/// (https://no-color.org) or $TERM is "dumb".
TextView ViewOfOutput();
/// Returns the text in bold, for a view that is styled.
std::string Bold(const std::string& text);
/// Wraps lines that are wider than `columns` at blanks and indents their continuation. A word that
/// is wider than a line is not split. @param columns  0: no limit
std::string WrapLines(std::string_view text, int columns, int indent);

/// Returns "41.3 ms": four significant digits, the unit by size. @param time [ns]
std::string FormatTime(Nanos time);
/// Returns a duration: "41.2 h", "12.5 min", "52.0 s". @param seconds  [s]
std::string FormatDuration(double seconds);
/// Returns "1.20 GiB". @param bytes [B]
std::string FormatBytes(std::int64_t bytes);
/// Returns "2.800 TFLOP". @param flops [FLOP]
std::string FormatFlops(double flops);

/// Returns a table whose columns are padded to their widest cell: the first is left-aligned, the
/// others right-aligned, with two blanks between.
/// @param rows  the header first; all of one length
/// @param bold  index of a row to show in bold; -1: none
std::string FormatColumns(const std::vector<std::vector<std::string>>& rows, int bold = -1);
/// Returns the number of columns of a text of one line: its code points, not its bytes.
int TextWidth(std::string_view text);

/// Returns a Markdown table with aligned columns.
/// @param lines  the head first; all of one length, texts in Markdown
/// @param num_left  number of left-aligned columns; the others are right-aligned
std::string MarkdownLines(const std::vector<std::vector<std::string>>& lines, size_t num_left);

/// Returns a field of CSV, quoted if necessary; a ' is put before texts that look like formulas.
std::string CsvField(const std::string& field);

}  // namespace emplace
