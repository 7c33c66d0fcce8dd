#pragma once

// The immutable tree behind ConfigNode: what yaml-cpp parsed, with the place of every key and
// value. Private to framework/config.

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
    std::shared_ptr<const std::string> file;  ///< the key's place
    int line = 0, column = 0;
  };

  YamlKind kind = YamlKind::kNull;
  std::string scalar;
  bool quoted = false;  ///< a quoted scalar is a text, whatever it looks like
  std::vector<std::shared_ptr<const YamlValue>> elements;
  std::vector<Entry> entries;               ///< in file order, keys distinct
  std::shared_ptr<const std::string> file;  ///< never null
  int line = 0, column = 0;                 ///< from 1; 0: the file alone is the place
  std::int64_t weight = 0;                  ///< [B] of the tree below, aliases written out
};

/// What a document may weigh: 64 B for each value and key besides its text, an alias as much as
/// what it stands for. So a few lines of aliases of aliases do not become a billion values. [B]
inline constexpr std::int64_t kMaxYamlWeight = std::int64_t{256} << 20;

enum class Places { kKeep, kDrop };

/// One YAML document; anchors and aliases are resolved.
/// @param name  stands for the file in messages and places
/// @param places  kDrop: `name` alone is the place of everything
/// @throws InputError "name:line:column: ...": malformed YAML, a duplicate key, a key that is no
///   scalar, a tag, a second document
std::shared_ptr<const YamlValue> ParseYaml(const std::string& text,
                                           const std::string& name,
                                           Places places);

/// The same tree with `file` as the place of every key and value.
std::shared_ptr<const YamlValue> WithFile(const std::shared_ptr<const YamlValue>& value,
                                          const std::string& file);

/// Block style YAML that ParseYaml reads back equal.
std::string FormatYaml(const YamlValue& value);

/// "file:line:column", or "file" where there is no line.
std::string FormatPlace(const std::string& file, int line, int column);

/// For messages: "a map", "a list", "nothing", "\"text\"" (cut after 60 characters).
std::string Describe(const YamlValue& value);

}  // namespace emplace::internal
