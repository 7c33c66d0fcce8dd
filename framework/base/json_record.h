#pragma once

// An object of a JSON file together with its place, so that every message names the place: "ops[3]
// "conv": flops: got -1; expected a finite number >= 0". Also typed values beyond those of json.h.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/json.h"

namespace emplace {

/// A view. The object, its key and the record around it must outlive it.
class JsonRecord {
 public:
  /// Views element `index` of the list `key` of the file, or the value of `key` for index -1.
  /// @throws InputError if the value is not an object, as all functions here
  JsonRecord(const Json& object, std::string_view key, int index);
  /// Views the value of a key within `outer`.
  JsonRecord(const Json& object, std::string_view key, const JsonRecord& outer, int index = -1);

  bool Has(std::string_view key) const;
  /// Returns read(value of a required key). Adds place and key to an InputError of `read`.
  template <class Read>
  auto At(std::string_view key, const Read& read) const {
    const Json& value = Required(key);
    try {
      return read(value);
    } catch (const PlacedError&) {
      throw;
    } catch (const InputError& error) {
      FailAt(key, error.what());
    }
  }
  /// Returns the same, or `fallback` if the key is absent.
  template <class Value, class Read>
  Value Get(std::string_view key, Value fallback, const Read& read) const {
    return Has(key) ? Value(At(key, read)) : std::move(fallback);
  }
  std::string Name(std::string_view key) const;
  double Amount(std::string_view key) const;
  std::int64_t Count(std::string_view key) const;
  /// Calls read(record) for each element of a required list.
  void Each(std::string_view key, const std::function<void(const JsonRecord&)>& read) const;
  /// Calls read(record) for the object of `key`, if the key is present.
  void Inner(std::string_view key, const std::function<void(const JsonRecord&)>& read) const;
  /// Calls read(key) for every key.
  void EachKey(const std::function<void(const std::string& key)>& read) const;

  [[noreturn]] void Fail(const std::string& message) const;

 private:
  class PlacedError : public InputError {  // its message names the place already
   public:
    using InputError::InputError;
  };

  const Json& Required(std::string_view key) const;
  [[noreturn]] void FailAt(std::string_view key, std::string_view message) const;
  void RequireObject() const;
  std::string Place() const;

  const Json& object_;
  const std::string_view key_;
  const int index_;
  const JsonRecord* outer_ = nullptr;
};

// Typed values; the functions throw as those of json.h do.

/// Returns a finite number > 0.
double JsonPositive(const Json& value);
bool JsonBool(const Json& value);
/// Returns a text that is not empty.
std::string JsonName(const Json& value);
/// Returns one of `choices`. The message for an unknown text suggests a choice of similar spelling.
/// @param what  noun for the choices, in messages
std::string JsonChoice(const Json& value,
                       std::string_view what,
                       std::span<const std::string> choices);
/// @throws InputError if the value is not a list
void RequireJsonList(const Json& value);

}  // namespace emplace
