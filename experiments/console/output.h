#pragma once

// What the program says: to stdout, to stderr, and numbers in words for people.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// Writes to stdout. @throws RunError if it cannot be written (a full disk)
void Print(std::string_view text);
/// Writes what Print() may have kept back.
/// @throws RunError if it cannot be written
void FlushOutput();
/// "emplace: warning: `message`" on stderr. A message is printed once, however often it is given:
/// the runs of a sweep share graphs and costs.
void PrintWarning(const std::string& message);
/// From now on PrintWarning() says nothing: for a process that does what another one does, too.
void SilenceWarnings();

/// How stdout shows text.
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
/// Breaks lines that are wider than `columns` at blanks and indents their continuation. A word that
/// is wider than a line stays whole. @param columns  0: no limit
std::string WrapLines(std::string_view text, int columns, int indent);

/// "41.3 ms"; four significant digits, the unit by size. @param time [ns]
std::string FormatTime(Nanos time);
/// "41.2 h", "12.5 min", "52.0 s": how long something took. @param seconds  [s]
std::string FormatDuration(double seconds);
/// "1.20 GiB". @param bytes [B]
std::string FormatBytes(std::int64_t bytes);
/// "2.800 TFLOP". @param flops [FLOP]
std::string FormatFlops(double flops);

/// Columns padded to their widest cell: the first flush left, the others flush right, two blanks
/// between.
/// @param rows  the header first; all of one length
/// @param bold  index of a row to show in bold; -1: none
std::string FormatColumns(const std::vector<std::vector<std::string>>& rows, int bold = -1);
/// Returns the columns that a text of one line takes: its code points, not its bytes.
int TextWidth(std::string_view text);

/// A table of Markdown with aligned columns.
/// @param lines  the head first; all of one length, texts of Markdown
/// @param num_left  so many columns are flush left, the others flush right
std::string MarkdownLines(const std::vector<std::vector<std::string>>& lines, size_t num_left);

/// A field of CSV, quoted where it has to be; a ' is put before what a spreadsheet would compute.
std::string CsvField(const std::string& field);

}  // namespace emplace
