#include "framework/graph/graph_io.h"

#include <algorithm>
#include <array>
#include <climits>
#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/json.h"
#include "framework/graph/dtypes.h"

namespace emplace {
namespace {

constexpr std::string_view kFormat = "emplace-graph";
constexpr int kVersion = 1;
constexpr int kMaxRanks = 64;         // devices of a cluster
constexpr size_t kLongestShown = 60;  // characters of an unknown text that messages show
constexpr std::array<std::string_view, 2> kRecordKeys = {"tensors", "ops"};

const std::vector<std::string> kFileKeys =
    {"format", "version", "name", "ranks", "source", "tensors", "ops"};
// Values of single fields. The caller adds the place to messages.

int ReadId(const Json& value) {
  const std::int64_t id = JsonCount(value);
  if (id > INT_MAX) throw InputError(fmt::format("got {}; expected an id below 2^31", id));
  return static_cast<int>(id);
}

const Json::array_t& ReadList(const Json& value, std::string_view expected) {
  if (!value.is_array()) {
    throw InputError(fmt::format("got {}; expected {}", ClippedJson(value), expected));
  }
  return value.get_ref<const Json::array_t&>();
}

Json::object_t& ReadObject(Json& value, std::string_view expected) {
  if (!value.is_object()) {
    throw InputError(fmt::format("got {}; expected {}", ClippedJson(value), expected));
  }
  return value.get_ref<Json::object_t&>();
}

std::vector<int> ReadIds(const Json& value) {
  std::vector<int> ids;
  for (const Json& id : ReadList(value, "a list of ids")) ids.push_back(ReadId(id));
  return ids;
}

void CheckId(const Json& value, std::string_view list, int index) {
  const int id = ReadId(value);
  if (id == index) return;
  const std::string rule =
      fmt::format("expected {}, since ids count 0, 1, 2, ... in file order", index);
  throw InputError(id < index
                       ? fmt::format("duplicate id {}, which {}[{}] has; {}", id, list, id, rule)
                       : fmt::format("got {}; {}", id, rule));
}

// Reads a text that is one of an enum's names.
template <class Enum>
Enum ReadChoice(const Json& value,
                std::string_view what,
                std::optional<Enum> (*parse)(std::string_view),
                Enum last) {
  const std::string text = JsonText(value, what);
  if (const std::optional<Enum> choice = parse(text)) return *choice;
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    names.emplace_back(ToString(static_cast<Enum>(i)));
  }
  const std::string shown = text.substr(0, kLongestShown);
  throw InputError(
      fmt::format("unknown {} {}{}", what, QuoteJson(shown), ChoicesHint(shown, names)));
}

// Reads the name of an element type.
std::string ReadDtype(const Json& value) {
  const std::string text = JsonText(value, "an element type");
  if (text.empty()) return text;
  if (const Dtype* dtype = DtypeByName(text)) return std::string(dtype->name);
  std::vector<std::string> names;
  for (const Dtype& dtype : Dtypes()) names.emplace_back(dtype.name);
  for (const Dtype& dtype : Dtypes()) {
    names.insert(names.end(), dtype.aliases.begin(), dtype.aliases.end());
  }
  const std::string shown = text.substr(0, kLongestShown);
  throw InputError(
      fmt::format("unknown element type {}{}", QuoteJson(shown), ChoicesHint(shown, names)));
}

// Reads the names that restrict where an op may run; empty for null.
// @param names, name  describe the list and one of its texts in messages
std::vector<std::string> ReadRestriction(const Json& value,
                                         std::string_view names,
                                         std::string_view name) {
  std::vector<std::string> read;
  if (value.is_null()) return read;
  for (const Json& text : ReadList(value, fmt::format("a list of {}, or null", names))) {
    read.push_back(JsonText(text, name));
    if (read.back().empty()) throw InputError(fmt::format("got \"\"; expected {}", name));
  }
  if (read.empty()) {
    throw InputError("got an empty list, so the op could run nowhere; expected null for \"any\"");
  }
  return read;
}

std::vector<std::pair<std::string, double>> ReadCosts(Json& value) {
  std::vector<std::pair<std::string, double>> costs;
  for (const auto& [kind, cost] : ReadObject(value, "an object of device kind -> ns")) {
    costs.emplace_back(kind, AtPlace(kind, [&cost = cost] { return JsonAmount(cost); }));
  }
  return costs;
}

std::string ReadLabel(const Json& value) {
  if (value.is_null()) return "";
  std::string label = JsonText(value, "a label or null");
  if (label.empty()) throw InputError("got \"\"; expected a label, or null for none");
  return label;
}

std::string ReadObjectText(Json& value) {
  return ReadObject(value, "an object").empty() ? "" : value.dump();
}

std::vector<std::int64_t> ReadShape(const Json& value) {
  std::vector<std::int64_t> shape;
  for (const Json& size : ReadList(value, "a list of integers")) shape.push_back(JsonCount(size));
  return shape;
}

// The keys of a record besides `id`, each with the function that reads its value.
template <class Record>
using KeyReaders = std::vector<std::pair<std::string, void (*)(Record&, Json&)>>;

const KeyReaders<Tensor> kTensorReaders = {
    {"name", [](Tensor& t, Json& v) { t.name = JsonText(v, "the tensor's name"); }},
    {"shape", [](Tensor& t, Json& v) { t.shape = ReadShape(v); }},
    {"dtype", [](Tensor& t, Json& v) { t.dtype = ReadDtype(v); }},
    {"bytes", [](Tensor& t, Json& v) { t.bytes = JsonCount(v); }},
    {"role",
     [](Tensor& t, Json& v) {
       t.role = ReadChoice(v, "role", &ParseTensorRole, TensorRole::kOutput);
     }},
    {"alias_of", [](Tensor& t, Json& v) { t.alias_of = v.is_null() ? -1 : ReadId(v); }}};

const KeyReaders<Op> kOpReaders = {
    {"name", [](Op& op, Json& v) { op.name = JsonText(v, "the op's name"); }},
    {"kind", [](Op& op, Json& v) { op.kind = JsonText(v, "the op's type"); }},
    {"inputs", [](Op& op, Json& v) { op.inputs = ReadIds(v); }},
    {"outputs", [](Op& op, Json& v) { op.outputs = ReadIds(v); }},
    {"control_inputs", [](Op& op, Json& v) { op.control_inputs = ReadIds(v); }},
    {"flops", [](Op& op, Json& v) { op.flops = JsonAmount(v); }},
    {"bytes_accessed", [](Op& op, Json& v) { op.bytes_accessed = JsonCount(v); }},
    {"workspace_bytes", [](Op& op, Json& v) { op.workspace_bytes = JsonCount(v); }},
    {"phase",
     [](Op& op, Json& v) { op.phase = ReadChoice(v, "phase", &ParsePhase, Phase::kUpdate); }},
    {"colocate", [](Op& op, Json& v) { op.colocate = ReadLabel(v); }},
    {"device_kinds",
     [](Op& op, Json& v) {
       op.device_kinds = ReadRestriction(v, "device classes or kinds", "a device class or kind");
     }},
    {"devices",
     [](Op& op, Json& v) {
       op.devices = ReadRestriction(v, "device names or patterns", "a device name or pattern");
     }},
    {"cost_ns", [](Op& op, Json& v) { op.cost_ns = ReadCosts(v); }},
    {"attributes", [](Op& op, Json& v) { op.attributes = ReadObjectText(v); }}};

class GraphReader {
 public:
  explicit GraphReader(const std::string& where) : where_(where) {}

  void Visit(const JsonPart& part) {
    if (part.index < 0) {
      AtKey(part.key, std::string(part.key), [&] { ReadFileKey(part.key, part.value); });
    } else if (postponed_.empty()) {
      try {
        if (part.key == "ops") {
          ReadRecord(part, kOpReaders, {"id", "name", "kind", "inputs", "outputs"}, ops_);
        } else {
          ReadRecord(part, kTensorReaders, {"id", "bytes"}, tensors_);
        }
      } catch (const InputError& error) {
        // Records of an unknown format or version mean nothing, so these are checked first.
        if (!format_.is_discarded() && !version_.is_discarded()) throw;
        postponed_ = error.what();
      }
    }
  }

  Graph Finish(const WarningSink& warn) {
    CheckJsonFormat(format_, version_, kFormat, kVersion, where_);
    if (!postponed_.empty()) throw InputError(postponed_);
    for (const auto& [seen, key] :
         {std::pair(has_name_, "name"), {has_tensors_, "tensors"}, {has_ops_, "ops"}}) {
      if (!seen) throw InputError(fmt::format("{}: required key \"{}\" is missing", where_, key));
    }
    if (warn) Warn(warn);
    return Graph(std::move(name_),
                 std::move(tensors_),
                 std::move(ops_),
                 std::move(source_),
                 where_,
                 std::move(extra_),
                 ranks_);
  }

 private:
  struct UnknownKey {
    std::string key, first_place, hint;
    int places = 0;
  };

  template <class Body>
  void AtKey(std::string_view key, const std::string& place, const Body& body) {
    const bool checked_as_a_whole = key == "format" || key == "version";
    if (checked_as_a_whole) return body();
    AtPlace(where_ + ": " + place, body);
  }

  void ReadFileKey(std::string_view key, Json& value) {
    if (key == "format") {
      format_ = value;
      CheckJsonFormat(
          format_, version_.is_discarded() ? Json(kVersion) : version_, kFormat, kVersion, where_);
    } else if (key == "version") {
      version_ = value;
      CheckJsonFormat(
          format_.is_discarded() ? Json(kFormat) : format_, version_, kFormat, kVersion, where_);
    } else if (key == "name") {
      name_ = JsonText(value, "the graph's name");
      has_name_ = true;
    } else if (key == "ranks") {
      const std::int64_t count = JsonCount(value);
      if (count < 1 || count > kMaxRanks) {
        throw InputError(fmt::format("got {}; expected a number from 1 to {}", count, kMaxRanks));
      }
      ranks_ = static_cast<int>(count);
    } else if (key == "source") {
      source_ = ReadObjectText(value);
    } else if (key == "tensors") {
      ReadList(value, "a list of tensors");
      has_tensors_ = true;
    } else if (key == "ops") {
      ReadList(value, "a list of ops");
      has_ops_ = true;
    } else if (key == kInstanceKey) {
      Append(extra_, key, value);
    } else {
      Keep(extra_, key, value, kFileKeys, [] { return std::string(); });
    }
  }

  // Reads a record and adds its place to errors. Keeps unknown keys.
  template <class Record>
  void ReadRecord(const JsonPart& part,
                  const KeyReaders<Record>& readers,
                  std::initializer_list<std::string_view> required,
                  std::vector<Record>& records) {
    static const std::vector<std::string> kKeys = [&] {
      std::vector<std::string> keys{"id"};
      for (const auto& [key, read] : readers) keys.push_back(key);
      return keys;
    }();
    Json& json = part.value;
    Record record;
    std::string_view field;
    const auto place = [&] {
      std::string text = fmt::format("{}[{}]", part.key, part.index);
      const auto name = json.is_object() ? json.find("name") : json.end();
      if (name != json.end() && name->is_string()) text += " " + ClippedJson(*name);
      return text;
    };
    try {
      size_t found = 0;
      for (auto& [key, value] : ReadObject(json, "an object")) {
        field = key;
        const auto reader = std::ranges::find(readers, key, &KeyReaders<Record>::value_type::first);
        if (key == "id") {
          CheckId(value, part.key, part.index);
        } else if (reader != readers.end()) {
          reader->second(record, value);
        } else {
          Keep(record.extra, key, value, kKeys, place);
        }
        found += std::ranges::find(required, key) != required.end();
      }
      field = {};
      if (found < required.size()) {
        for (std::string_view key : required) {
          if (json.contains(key)) continue;
          throw InputError(fmt::format("required key \"{}\" is missing", key));
        }
      }
    } catch (const InputError& error) {
      throw InputError(fmt::format(
          "{}: {}: {}{}{}", where_, place(), field, field.empty() ? "" : ": ", error.what()));
    }
    records.push_back(std::move(record));
  }

  // Appends a key to the object text `extra`.
  static void Append(std::string& extra, std::string_view key, const Json& value) {
    extra.empty() ? void(extra = "{") : void(extra.back() = ',');
    extra += QuoteJson(key) + ":" + value.dump() + "}";
  }

  // Appends an unknown key to the object text `extra`, and counts it for warnings.
  template <class Place>
  void Keep(std::string& extra,
            std::string_view key,
            const Json& value,
            const std::vector<std::string>& known,
            const Place& place) {
    Append(extra, key, value);
    const auto [at, is_new] =
        unknown_index_.try_emplace(std::string(key), static_cast<int>(unknown_.size()));
    if (is_new) {
      // Names only the likely key, because a list of all keys would hide it.
      const std::string hint = ChoicesHint(key.substr(0, 60), known);
      const bool has_guess = key.size() > 3 && hint.starts_with("; did you mean");
      unknown_.push_back(
          {std::string(key), place(), has_guess ? hint.substr(0, hint.find('?') + 1) : "", 0});
    }
    ++unknown_[at->second].places;
  }

  void Warn(const WarningSink& warn) const {
    constexpr size_t kMostWarnings = 20;
    for (size_t i = 0; i < std::min(unknown_.size(), kMostWarnings); ++i) {
      const UnknownKey& unknown = unknown_[i];
      warn(fmt::format(
          "{}: {}{}unknown key {} kept{}{}",
          where_,
          unknown.first_place,
          unknown.first_place.empty() ? "" : ": ",
          ClippedJson(unknown.key),
          unknown.places > 1 ? fmt::format(" (the first of {} places)", unknown.places) : "",
          unknown.hint));
    }
    if (unknown_.size() > kMostWarnings) {
      warn(fmt::format("{}: {} more unknown keys kept", where_, unknown_.size() - kMostWarnings));
    }
  }

  const std::string where_;
  Json format_ = Json(Json::value_t::discarded), version_ = Json(Json::value_t::discarded);
  bool has_name_ = false, has_tensors_ = false, has_ops_ = false;
  std::string name_, source_, extra_;
  int ranks_ = 1;
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::string postponed_;  // message of the first bad record before format and version are known
  std::unordered_map<std::string, int> unknown_index_;
  std::vector<UnknownKey> unknown_;
};

}  // namespace

Graph ParseGraph(const std::string& json, const std::string& where, const WarningSink& warn) {
  GraphReader reader(where);
  VisitJson(json, where, kRecordKeys, [&](const JsonPart& part) { reader.Visit(part); });
  return reader.Finish(warn);
}

Graph ReadGraph(const std::filesystem::path& path, const WarningSink& warn) {
  return ParseGraph(ReadFile(path), path.string(), warn);
}

}  // namespace emplace
