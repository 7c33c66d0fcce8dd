#include "framework/base/json_record.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace emplace {

JsonRecord::JsonRecord(const Json& object, std::string_view key, int index)
    : object_(object), key_(key), index_(index) {
  RequireObject();
}

JsonRecord::JsonRecord(const Json& object, std::string_view key, const JsonRecord& outer, int index)
    : object_(object), key_(key), index_(index), outer_(&outer) {
  RequireObject();
}

bool JsonRecord::Has(std::string_view key) const {
  return object_.contains(key);
}

const Json& JsonRecord::Required(std::string_view key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) Fail(fmt::format("required key \"{}\" is missing", key));
  return *found;
}

std::string JsonRecord::Name(std::string_view key) const {
  return At(key, JsonName);
}

double JsonRecord::Amount(std::string_view key) const {
  return At(key, JsonAmount);
}

std::int64_t JsonRecord::Count(std::string_view key) const {
  return At(key, JsonCount);
}

void JsonRecord::Each(std::string_view key,
                      const std::function<void(const JsonRecord&)>& read) const {
  At(key, [&](const Json& list) {
    RequireJsonList(list);
    for (size_t i = 0; i < list.size(); ++i) {
      read(JsonRecord(list[i], key, *this, static_cast<int>(i)));
    }
  });
}

void JsonRecord::Inner(std::string_view key,
                       const std::function<void(const JsonRecord&)>& read) const {
  if (!Has(key)) return;
  At(key, [&](const Json& object) { read(JsonRecord(object, key, *this)); });
}

void JsonRecord::EachKey(const std::function<void(const std::string& key)>& read) const {
  for (const auto& entry : object_.items()) read(entry.key());
}

void JsonRecord::Fail(const std::string& message) const {
  throw PlacedError(fmt::format("{}: {}", Place(), message));
}

void JsonRecord::FailAt(std::string_view key, std::string_view message) const {
  Fail(fmt::format("{}: {}", key, message));
}

void JsonRecord::RequireObject() const {
  if (!object_.is_object()) {
    Fail(fmt::format("got {}; expected an object", ClippedJson(object_)));
  }
}

std::string JsonRecord::Place() const {
  std::string place = outer_ != nullptr ? outer_->Place() + ": " : "";
  place += key_;
  if (index_ >= 0) place += fmt::format("[{}]", index_);
  if (!object_.is_object()) return place;
  for (const char* name : {"name", "signature"}) {
    if (Has(name) && object_[name].is_string()) place += " " + ClippedJson(object_[name]);
  }
  return place;
}

double JsonPositive(const Json& value) {
  const double number = JsonAmount(value);
  if (!(number > 0)) throw InputError(fmt::format("got {}; expected a number > 0", number));
  return number;
}

bool JsonBool(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  throw InputError(fmt::format("got {}; expected true or false", ClippedJson(value)));
}

std::string JsonName(const Json& value) {
  std::string name = JsonText(value, "a name");
  if (name.empty()) throw InputError("got \"\"; expected a name");
  return name;
}

std::string JsonChoice(const Json& value,
                       std::string_view what,
                       std::span<const std::string> choices) {
  std::string text = JsonText(value, what);
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  text.resize(std::min<size_t>(text.size(), 60));
  throw InputError(
      fmt::format("unknown {} {}{}", what, QuoteJson(text), ChoicesHint(text, choices)));
}

void RequireJsonList(const Json& value) {
  if (value.is_array()) return;
  throw InputError(fmt::format("got {}; expected a list", ClippedJson(value)));
}

}  // namespace emplace
