#pragma once

// A YAML value that knows its place in the file: every error names file:line:column, key, value,
// what was expected and the choices. No other part of the program includes yaml-cpp.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/time.h"
#include "framework/config/units.h"

namespace emplace {

/// A value of an immutable tree; cheap to copy. Set() and Put() change this node's own copy of the
/// tree.
class ConfigNode {
 public:
  ConfigNode();  ///< an empty map without a place
  ~ConfigNode();
  ConfigNode(const ConfigNode&);
  ConfigNode& operator=(const ConfigNode&);

  /// @throws InputError on a missing file or malformed YAML (file:line:column), duplicate keys
  /// included
  static ConfigNode FromFile(const std::filesystem::path& path);
  /// @param name  stands for the file in messages
  static ConfigNode FromString(const std::string& text, const std::string& name);

  bool IsMap() const;
  bool IsSequence() const;
  bool IsScalar() const;
  bool IsNull() const;

  /// Keys of a map in file order. @throws InputError if this is no map
  std::vector<std::string> Keys() const;
  /// Whether this is a map with the key.
  bool Has(std::string_view key) const;
  /// The value of a required key. @throws InputError if this is no map or has no such key
  ConfigNode At(std::string_view key) const;
  /// Elements of a sequence. @throws InputError if this is no sequence
  std::vector<ConfigNode> Elements() const;

  // Scalars; units.h tells the forms of those with a unit.
  // @throws InputError if the node is no scalar of that form
  std::string AsString() const;
  bool AsBool() const;
  std::int64_t AsInt() const;
  double AsDouble() const;       ///< finite
  Nanos AsTime() const;          ///< [ns]
  std::int64_t AsBytes() const;  ///< [B]
  Bandwidth AsBandwidth() const;
  double AsFlopRate() const;  ///< [FLOP/s]

  /// Sets `path` ("budget.seconds", "agents.0.name") to the YAML text `value`, for `--set`; adds
  /// maps on the way. Messages about the new values name `origin` as their place.
  /// @throws InputError if an index is out of range, a scalar is in the way or `value` is no YAML
  void Set(std::string_view path, const std::string& value, const std::string& origin = "--set");

  /// The same with a value that was read already; it keeps its place.
  void Put(std::string_view path, const ConfigNode& value);

  /// @throws InputError for the first key not in `known`, with "did you mean"
  void RequireKnownKeys(std::span<const std::string> known) const;
  /// "configs/quickstart.yaml:12:3" plus the key path when there is one: "...: budget.seconds".
  std::string Where() const;
  /// @throws InputError "Where(): message"
  [[noreturn]] void Fail(const std::string& message) const;
  /// YAML text of this node (block style).
  std::string Dump() const;

 private:
  struct Impl;
  explicit ConfigNode(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

/// A double-quoted YAML scalar that reads back as `text`.
std::string QuoteYaml(std::string_view text);

}  // namespace emplace
