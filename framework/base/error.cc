#include "framework/base/error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace emplace {
namespace {

// Returns the Levenshtein distance, with two rows.
int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

// Names of earlier versions and the names in their place: agents, coarsening passes, keys of
// configs and their values.
constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"abreast", "concurrent"},
    {"cheapest", "merge_cheapest"},
    {"contracted", "simulate_groups"},
    {"evaluator", "ranks"},
    {"ideals", "max_load_dp"},
    {"learned", "learned_local_search"},
    {"local", "none"},
    {"nothing", "none"},
};

// Returns the choice that has taken the place of an earlier name, or null.
const std::string* RenamedTo(std::string_view value, std::span<const std::string> choices) {
  for (const auto& [old_name, new_name] : kRenamed) {
    if (old_name != value) continue;
    const auto found = std::ranges::find(choices, new_name);
    return found == choices.end() ? nullptr : &*found;
  }
  return nullptr;
}

}  // namespace

std::string ChoicesHint(std::string_view value, std::span<const std::string> choices) {
  constexpr size_t kListed = 20;
  if (const std::string* const renamed = RenamedTo(value, choices)) {
    return fmt::format("; it is now called \"{}\"", *renamed);
  }
  std::string hint;
  const std::string* nearest = nullptr;
  int least = std::max<int>(2, static_cast<int>(value.size()) / 3) + 1;
  for (const std::string& choice : choices) {
    const int distance = EditDistance(value, choice);
    if (distance < least) {
      least = distance;
      nearest = &choice;
    }
  }
  if (nearest != nullptr) hint += fmt::format("; did you mean \"{}\"?", *nearest);
  if (choices.empty()) return hint + "; no choices exist";
  hint += nearest != nullptr ? " choices: " : "; choices: ";
  for (size_t i = 0; i < std::min(choices.size(), kListed); ++i) {
    hint += (i > 0 ? ", " : "") + choices[i];
  }
  if (choices.size() > kListed) hint += fmt::format(" and {} more", choices.size() - kListed);
  return hint;
}

void ThrowUnknown(std::string_view where,
                  std::string_view what,
                  std::string_view value,
                  std::span<const std::string> choices) {
  throw InputError(
      fmt::format("{}: unknown {} \"{}\"{}", where, what, value, ChoicesHint(value, choices)));
}

namespace internal {

void CheckFailed(const char* file, int line, const char* condition, const std::string& details) {
  std::fputs(fmt::format("{}:{}: CHECK failed: {}{}{}\n",
                         file,
                         line,
                         condition,
                         details.empty() ? "" : ": ",
                         details)
                 .c_str(),
             stderr);
  std::abort();
}

}  // namespace internal
}  // namespace emplace
