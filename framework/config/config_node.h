#pragma once

// A YAML value with its place in the file. Every error names file:line:column, key, value, the
// expected form and the choices. No other part of the program includes yaml-cpp.

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

/// A value of an immutable tree; cheap to copy. Set() and Put() change only this node's copy.
class ConfigNode {
 public:
  ConfigNode();  ///< an empty map without a place

  /// @throws InputError for a missing file, malformed YAML (file:line:column) or duplicate keys
  static ConfigNode FromFile(const std::filesystem::path& path);
  /// @param name  stands for the file in messages
  static ConfigNode FromString(const std::string& text, const std::string& name);

  bool IsMap() const;
  bool IsSequence() const;
  bool IsScalar() const;
  bool IsNull() const;

  /// Returns the keys of a map in file order. @throws InputError if this is not a map
  std::vector<std::string> Keys() const;
  /// Returns whether this is a map with the key.
  bool Has(std::string_view key) const;
  /// Returns the value of a required key. @throws InputError if this is not a map or lacks the key
  ConfigNode At(std::string_view key) const;
  /// Returns the elements of a sequence. @throws InputError if this is not a sequence
  std::vector<ConfigNode> Elements() const;

  // Scalars; units.h describes the forms of those with a unit.
  // @throws InputError if the node is not a scalar of that form
  std::string AsString() const;
  bool AsBool() const;
  std::int64_t AsInt() const;
  double AsDouble() const;       ///< finite
  Nanos AsTime() const;          ///< [ns]
  std::int64_t AsBytes() const;  ///< [B]
  Bandwidth AsBandwidth() const;
  double AsFlopRate() const;  ///< [FLOP/s]

  /// Sets `path` ("budget.seconds", "agents.0.name") to the YAML text `value`, for `--set`. Adds
  /// missing maps on the path. Messages about the new values name `origin` as their place.
  /// @throws InputError if an index is out of range, a scalar is in the way or `value` is not YAML
  void Set(std::string_view path, const std::string& value, const std::string& origin = "--set");

  /// Sets `path` to a value that was read before; the value keeps its place.
  void Put(std::string_view path, const ConfigNode& value);

  /// @throws InputError for the first key not in `known`, with "did you mean"
  void RequireKnownKeys(std::span<const std::string> known) const;
  /// Returns "configs/quickstart.yaml:12:3", followed by the key path if any: "...:
  /// budget.seconds".
  std::string Where() const;
  /// @throws InputError "Where(): message"
  [[noreturn]] void Fail(const std::string& message) const;
  /// Returns the YAML text of this node (block style).
  std::string Dump() const;

 private:
  struct Impl;
  explicit ConfigNode(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

/// Returns a double-quoted YAML scalar that reads back as `text`.
std::string QuoteYaml(std::string_view text);

}  // namespace emplace
