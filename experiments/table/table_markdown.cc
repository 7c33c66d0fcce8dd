#include <cmath>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/table/table_formats.h"

namespace emplace {
namespace {

// Escapes markup: a vertical bar would end the cell, a line break the table; "<" would begin HTML
// and "](" a link.
std::string EscapeMarkdown(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '|':
      case '\\':
        escaped += std::string("\\") + c;
        break;
      case '(':
        escaped += escaped.ends_with(']') ? "\\(" : "(";
        break;
      case '<':
        escaped += "&lt;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return escaped;
}

std::string MarkdownCell(const CellText& text) {
  std::string line = text.number;
  if (!text.interval.empty()) line += " " + text.interval;
  if (!text.note.empty()) line += " " + text.note;
  return line;
}

// Returns how often a claim holds, with the number of seeds; empty if all resamples are equal.
std::string Share(double share, const SeedCounts& seeds) {
  if (seeds.most == 0) return "";
  return fmt::format(", in {:.1f} % of resamples of {}", 100 * share, ToString(seeds));
}

// Returns a side of a comparison with four significant digits.
std::string Side(double value) {
  static const LayoutColumn kPlain{"", "", "ratio", ColumnValue::kFormula};
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : FormatCellNumber(value, kPlain);
}

// Returns the possible result of the method; empty if the claim holds or names no method.
std::string PossibleText(const ClaimRow& row, const std::string& op) {
  if (row.verdict == Verdict::kHolds || row.possible == Possibility::kUnknown) return "";
  return fmt::format("; best known: {} {} {}, bound: {} {} {}: {}",
                     Side(row.best_left),
                     op,
                     Side(row.best_right),
                     Side(row.bound_left),
                     op,
                     Side(row.bound_right),
                     ToString(row.possible));
}

std::string ClaimText(const ResultTable& table, const ClaimResult& claim) {
  const bool open = claim.verdict == Verdict::kOpen;
  std::string text = fmt::format("- **{}** [{}] {} (`{}` in {} row{}): {} of {} rows{}\n",
                                 VerdictText(claim),
                                 claim.confidence,
                                 EscapeMarkdown(claim.text),
                                 claim.holds,
                                 claim.scope,
                                 claim.scope == "every" ? "" : "s",
                                 claim.rows_held,
                                 claim.rows.size(),
                                 open ? "" : Share(claim.share, claim.seeds));
  for (const ClaimRow& row : claim.rows) {
    const std::string name = EscapeMarkdown(table.rows[row.row].Name());
    text += row.verdict == Verdict::kOpen
                ? fmt::format("  - {}: open, not run: {}\n", name, fmt::join(row.missing, ", "))
                : fmt::format("  - {}: {} {} {} {}{}{}\n",
                              name,
                              Side(row.left),
                              claim.op,
                              Side(row.right),
                              ToString(row.verdict),
                              Share(row.share, row.seeds),
                              PossibleText(row, claim.op));
  }
  return text;
}

}  // namespace

std::string TableMarkdown(const ResultTable& table) {
  const TableLines table_lines = LinesOf(table, EscapeMarkdown, MarkdownCell);
  std::string text =
      table.title.empty() ? "" : fmt::format("## {}\n\n", EscapeMarkdown(table.title));
  text += MarkdownLines(table_lines.lines, table_lines.num_left);
  for (const std::string& sentence : LegendOf(table))
    text += "\n" + EscapeMarkdown(sentence) + "\n";
  return text;
}

std::string ClaimsMarkdown(const ResultTable& table) {
  std::string text = "### Claims\n\n";
  for (const ClaimResult& claim : table.claims) text += ClaimText(table, claim);
  return text;
}

}  // namespace emplace
