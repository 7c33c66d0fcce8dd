#pragma once

// The immutable tree of ConfigNode: the values that yaml-cpp parsed, with the place of every key
// and value. Private to framework/config.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::internal {

enum class YamlKind { kNull, kScalar, kSequence, kMap };

struct YamlValue {
  struct Entry {
    std::string key;
    std::shared_ptr<const YamlValue> value;
    std::shared_ptr<const std::string> file;  ///< the place of the key
    int line = 0, column = 0;
  };

  YamlKind kind = YamlKind::kNull;
  std::string scalar;
  bool quoted = false;  ///< a quoted scalar is always a text
  std::vector<std::shared_ptr<const YamlValue>> elements;
  std::vector<Entry> entries;               ///< in file order, keys distinct
  std::shared_ptr<const std::string> file;  ///< never null
  int line = 0, column = 0;                 ///< from 1; 0: only the file is known
  std::int64_t weight = 0;                  ///< [B] of the tree, aliases expanded
};

/// Limit for the weight of a document: 64 B for each value and key, plus its text. An alias has the
/// weight of the value that it stands for, so a few lines of nested aliases cannot become a billion
/// values. [B]
inline constexpr std::int64_t kMaxYamlWeight = std::int64_t{256} << 20;

enum class Places { kKeep, kDrop };

/// Parses one YAML document and resolves anchors and aliases.
/// @param name  stands for the file in messages and places
/// @param places  kDrop: only `name` is the place of each value
/// @throws InputError "name:line:column: ...": malformed YAML, a duplicate key, a key that is not a
///   scalar, a tag, a second document
std::shared_ptr<const YamlValue> ParseYaml(const std::string& text,
                                           const std::string& name,
                                           Places places);

/// Returns the same tree with `file` as the place of every key and value.
std::shared_ptr<const YamlValue> WithFile(const std::shared_ptr<const YamlValue>& value,
                                          const std::string& file);

/// Returns block style YAML that ParseYaml() reads back equal.
std::string FormatYaml(const YamlValue& value);

/// Returns "file:line:column", or "file" if the line is unknown.
std::string FormatPlace(const std::string& file, int line, int column);

/// Describes a value for messages: "a map", "a list", "nothing", "\"text\"" (at most 60
/// characters).
std::string Describe(const YamlValue& value);

}  // namespace emplace::internal
