#pragma once

// What the tests of the pages that define file formats share (framework/FORMATS.md): every example
// is read, and every table of keys names the keys that the readers know, and no other, with their
// defaults.

#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "tests/support/pages.h"
#include "tests/support/paths.h"

namespace emplace::testing {

using Names = std::set<std::string>;

inline const std::string kGraphPage = "framework/graph/FORMAT.md";
inline const std::string kClusterPage = "framework/cluster/FORMAT.md";
inline const std::string kPlacementPage = "framework/placement/FORMAT.md";
inline const std::string kCostPage = "framework/cost/FORMAT.md";
inline const std::string kResultsPage = "framework/results/FORMAT.md";
inline const std::string kNothing = "(nothing was thrown)";

/// A table of keys: key -> is it required?
using KeyTable = std::map<std::string, bool>;

/// The table below a heading; its columns are "key", "default" and others.
inline KeyTable KeysOf(const std::string& page, const std::string& heading) {
  KeyTable keys;
  for (const auto& row : TableOf(SectionOf(ReadPage(page), heading))) {
    const std::vector<std::string> names = CodeSpans(row.at("key"));
    REQUIRE(names.size() == 1);
    CHECK_MESSAGE(keys.emplace(names[0], row.at("default") == "required").second, names[0]);
  }
  return keys;
}

inline Names NamesOf(const KeyTable& keys) {
  Names names;
  for (const auto& [key, is_required] : keys) names.insert(key);
  return names;
}

/// For comparisons that show both sides.
inline std::string Text(const Names& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The fenced block of a page in a language, counted from 0.
inline std::string Example(const std::string& page, const std::string& language, size_t index = 0) {
  const std::vector<std::string> blocks = FencedBlocks(ReadPage(page), language);
  REQUIRE(blocks.size() > index);
  return blocks[index];
}

/// Where in an example the records of a table of keys stand.
struct Records {
  std::string heading;
  std::vector<std::string> places;  ///< JSON pointers; CheckKnown() changes the first
};

/// Keys of the records at some places of an example.
inline Names KeysAt(const nlohmann::json& document, const std::vector<std::string>& places) {
  Names keys;
  for (const std::string& place : places) {
    const nlohmann::json& record = document.at(nlohmann::json::json_pointer(place));
    for (const auto& [key, value] : record.items()) keys.insert(key);
  }
  return keys;
}

/// Parses an example and checks that the reader knows every key of a table, and which are required.
/// A key is known if its value is looked at: of two values that make no sense one is refused.
inline void CheckKnown(const nlohmann::json& example,
                       const std::string& place,
                       const KeyTable& keys,
                       const std::function<void(const std::string&)>& parse) {
  CHECK_NOTHROW(parse(example.dump()));
  for (const auto& [key, is_required] : keys) {
    CAPTURE(place);
    CAPTURE(key);
    bool is_known = false;
    for (const nlohmann::json& poison : {nlohmann::json{{"no such", {0}}}, nlohmann::json(0)}) {
      nlohmann::json changed = example;
      changed[nlohmann::json::json_pointer(place)][key] = poison;
      const std::string message = MessageOf<InputError>([&] { parse(changed.dump()); });
      is_known = is_known || message != kNothing;
    }
    CHECK_MESSAGE(is_known, "no reader looks at the key");
    nlohmann::json shorter = example;
    shorter[nlohmann::json::json_pointer(place)].erase(key);
    const std::string message = MessageOf<InputError>([&] { parse(shorter.dump()); });
    const bool is_missed = message.find("required key \"" + key + "\"") != std::string::npos;
    CHECK_MESSAGE(is_missed == is_required, message);
  }
}

/// Optional keys of a table with their defaults as the page has them: 0, `"queue"`, not told.
using Defaults = std::map<std::string, std::string>;

inline Defaults DefaultsOf(const std::string& page, const std::string& heading) {
  Defaults defaults;
  for (const auto& row : TableOf(SectionOf(ReadPage(page), heading))) {
    if (row.at("default") != "required") defaults[CodeSpans(row.at("key"))[0]] = row.at("default");
  }
  return defaults;
}

/// The value that a default stands for; nothing for one in words. `activation` is a text.
inline std::optional<nlohmann::json> DefaultValue(const std::string& cell) {
  const std::vector<std::string> code = CodeSpans(cell);
  const bool is_code = code.size() == 1 && cell == "`" + code[0] + "`";
  const std::string text = is_code ? code[0] : cell;
  if (nlohmann::json::accept(text)) return nlohmann::json::parse(text);
  if (is_code) return nlohmann::json(text);
  return std::nullopt;
}

/// Values for CheckDefaults(), by key.
struct DefaultsHelp {
  /// Every key whose default stands in words, with the value that says the same; nothing: none
  /// does.
  std::map<std::string, std::optional<nlohmann::json>> words;
  /// Values that are not the default, for keys that need one; of the others it is that of the first
  /// record that has the key, or the opposite of a boolean, or the number above.
  std::map<std::string, nlohmann::json> other;
};

/// Checks for each optional key of a record that a document without it reads as one with its
/// default, and not as one with another value.
/// @param places  of records of the table in the document; the first one is changed
/// @param read    parses a document, and returns a text that shows all that was read
inline void CheckDefaults(const nlohmann::json& document,
                          const std::vector<std::string>& places,
                          const Defaults& defaults,
                          const DefaultsHelp& help,
                          const std::function<std::string(const std::string&)>& read) {
  using Pointer = nlohmann::json::json_pointer;
  CAPTURE(places[0]);
  for (const auto& [key, cell] : defaults) {
    CAPTURE(key);
    nlohmann::json without = document;
    without[Pointer(places[0])].erase(key);
    const auto read_with = [&](const nlohmann::json& value) {
      nlohmann::json changed = without;
      changed[Pointer(places[0])][key] = value;
      return read(changed.dump());
    };
    std::optional<nlohmann::json> value = DefaultValue(cell);
    if (!value) {
      REQUIRE_MESSAGE(help.words.contains(key), "a default in words: ", cell);
      value = help.words.at(key);
    }
    if (value) CHECK(read(without.dump()) == read_with(*value));

    std::optional<nlohmann::json> other;
    if (help.other.contains(key)) other = help.other.at(key);
    for (const std::string& place : places) {
      const nlohmann::json& record = document.at(Pointer(place));
      if (!other && record.contains(key) && record[key] != value) other = record[key];
    }
    if (!other && value && value->is_boolean()) other = !value->get<bool>();
    if (!other && value && value->is_number()) other = value->get<double>() + 1;
    REQUIRE_MESSAGE(other.has_value(), "no other value is known");
    CHECK(read(without.dump()) != read_with(*other));
  }
}

/// The keys in a list or table that a source keeps to itself: `kFileKeys = {"format", ...};`
inline Names ListInSource(const std::string& path, const std::string& name) {
  const std::string source = ReadPage(path);
  const size_t begin = source.find(name + " =");
  REQUIRE_MESSAGE(begin != std::string::npos, name);
  const std::string list = source.substr(begin, source.find("};", begin) - begin);
  Names names;
  static const std::regex text("\"([a-z_]+)\"");
  for (std::sregex_iterator at(list.begin(), list.end(), text), end; at != end; ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

}  // namespace emplace::testing
