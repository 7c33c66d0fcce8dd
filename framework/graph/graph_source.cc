#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/graph/graph_io.h"

namespace emplace {
namespace {

constexpr unsigned kSourceHeadBytes = 1 << 16;

std::string ReadHead(const std::filesystem::path& path) {
  const gzFile file = gzopen(path.c_str(), "rb");  // reads plain files, too
  if (file == nullptr) return "";
  std::string head(kSourceHeadBytes, '\0');
  const int length = gzread(file, head.data(), kSourceHeadBytes);
  gzclose(file);
  head.resize(static_cast<size_t>(std::max(length, 0)));
  return head;
}

std::string FormatSource(const Json& source) {
  if (!source.is_object()) return "";
  std::vector<std::string> parts;
  for (const std::string_view field : {"framework", "model", "batch"}) {
    const auto value = source.find(field);
    if (value == source.end()) continue;
    const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
    parts.push_back(field == "batch" ? "batch " + text : text);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string ReadGraphSource(const std::filesystem::path& path) {
  static constexpr std::array<std::string_view, 2> kLists = {"tensors", "ops"};
  std::string source;
  try {
    VisitJson(ReadHead(path), path.string(), kLists, [&](const JsonPart& part) {
      if (part.key == "source") source = FormatSource(part.value);
    });
  } catch (const InputError&) {
    // The head ends in the middle of the file; only the content before is needed.
  }
  return source;
}

}  // namespace emplace
