#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "experiments/console/output.h"
#include "experiments/table/table_formats.h"

namespace emplace {
namespace {

using Lines = std::vector<std::vector<std::string>>;

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

std::string MarkdownCell(const TableCell& cell, const ResultTableColumn& column) {
  const CellText text = DescribeCell(cell, column);
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
  static const ResultTableColumn kPlain{"", "", "ratio", ColumnValue::kFormula};
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
  const bool published = HasPublished(table);
  Lines lines(1);
  for (const std::string& head : table.heads) lines[0].push_back(EscapeMarkdown(head));
  if (published) lines[0].emplace_back("source");
  const size_t num_left = lines[0].size();
  for (const ResultTableColumn& column : table.columns)
    lines[0].push_back(EscapeMarkdown(HeadOf(column)));
  for (const ResultTableRow& row : table.rows) {
    std::vector<std::string> ours, theirs(row.heads.size());
    for (const std::string& head : row.heads) ours.push_back(EscapeMarkdown(head));
    if (published) ours.emplace_back("simulated");
    theirs.push_back(fmt::format("published [{}]", table.published_confidence));
    for (size_t c = 0; c < row.cells.size(); ++c) {
      const TableCell& cell = row.cells[c];
      ours.push_back(MarkdownCell(cell, table.columns[c]));
      theirs.push_back(cell.published ? FormatPublished(*cell.published, table.columns[c], table)
                                      : "");
    }
    lines.push_back(std::move(ours));
    if (row.HasPublished()) lines.push_back(std::move(theirs));
  }
  std::string text =
      table.title.empty() ? "" : fmt::format("## {}\n\n", EscapeMarkdown(table.title));
  text += MarkdownLines(lines, num_left);
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
