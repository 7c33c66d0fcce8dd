#include "experiments/console/existing_output.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"
#include "framework/results/results_reader.h"
#include "framework/search/replicated_search.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

constexpr size_t kLongestNamePart = 120;  // most file systems allow 255 bytes in all

std::string NamesOf(const ResultsReader& reader, const std::string& group) {
  return fmt::format("{}", fmt::join(reader.Children(group), ", "));
}

// Returns "run quickstart of 2026-11-24T11:20:06Z: nmt on 8xv100_nvlink, 19 searches".
std::string ContentOf(const fs::path& file) {
  try {
    const ResultsReader reader(file);
    if (reader.Has("/validation")) return "a validation of " + NamesOf(reader, "/validation");
    const std::string made =
        fmt::format("{} of {}", reader.Text("/config", "name"), reader.Text("/config", "date"));
    if (reader.Has("/families")) {
      return fmt::format("experiment {} on {}", made, NamesOf(reader, "/families"));
    }
    const size_t searches = reader.Has("/agents") ? reader.Children("/agents").size() : 0;
    return fmt::format("run {}: {} on {}, {} search{}",
                       made,
                       reader.Text("/problem", "graph"),
                       reader.Text("/problem", "cluster"),
                       searches,
                       searches == 1 ? "" : "es");
  } catch (const InputError&) {
    return "content that is not a results file of emplace, or a damaged one";
  }
}

std::string NameOfValue(std::string value) {
  const size_t slash = value.find_last_of('/');
  if (slash != std::string::npos && value.find_first_of("[{") == std::string::npos) {
    value = value.substr(slash + 1);
    for (const std::string_view extension : {".gz", ".json", ".yaml", ".yml"}) {
      if (value.ends_with(extension)) value.resize(value.size() - extension.size());
    }
  }
  std::string name;
  for (const char c : value) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_plain || std::string_view("._,=+-").find(c) != std::string_view::npos) {
      name += c;
    } else if (std::string_view("[]{} \"'").find(c) == std::string_view::npos) {
      name += '_';
    }
  }
  return name;
}

}  // namespace

void RequireUnused(const fs::path& output, const std::string& choices) {
  std::error_code ignored;
  if (!fs::is_regular_file(output, ignored) || fs::file_size(output, ignored) == 0) return;
  throw InputError(fmt::format("{}: holds {}; {}", output.string(), ContentOf(output), choices));
}

void CreateFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw RunError(fmt::format("{}: cannot be created: {}", folder.string(), error.message()));
  }
}

std::string NamePart(const std::vector<std::string>& settings) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& setting : settings) {
    const size_t equals = std::min(setting.find('='), setting.size());
    const std::string key = setting.substr(0, equals);
    std::erase_if(values, [&](const auto& value) { return value.first == key; });
    if (!ChangesNoResult(key)) {
      values.emplace_back(key, setting.substr(std::min(equals + 1, setting.size())));
    }
  }
  std::string part, whole;
  for (const auto& [key, value] : values) {
    part += fmt::format(".{}={}", NameOfValue(key), NameOfValue(value));
    whole += fmt::format("{}={}\n", key, value);
  }
  if (part.size() <= kLongestNamePart) return part;
  return fmt::format("{}-{:08x}",
                     part.substr(0, kLongestNamePart - 9),
                     Checksum(std::as_bytes(std::span(whole))) & 0xffffffff);
}

bool ChangesNoResult(const std::string& key) {
  return key == "jobs" || key == "threads" || key == "output" || key == "gpu" || key == "ranks";
}

}  // namespace emplace
