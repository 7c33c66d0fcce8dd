#pragma once

// An object of a JSON file and where it stands, so that every message says so: "ops[3] "conv":
// flops: got -1; expected a finite number >= 0". And typed values beyond those of json.h.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/json.h"

namespace emplace {

/// A view: the object, its key and the record around it outlive it.
class JsonRecord {
 public:
  /// Element `index` of the list `key` of the file; with -1 the value of `key`.
  /// @throws InputError if it is no object, as all functions here
  JsonRecord(const Json& object, std::string_view key, int index);
  /// The same of a key within `outer`.
  JsonRecord(const Json& object, std::string_view key, const JsonRecord& outer, int index = -1);

  bool Has(std::string_view key) const;
  /// read(value of a required key). What `read` throws as InputError gets place and key in front.
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
  /// The same, or `fallback` if the key is not there.
  template <class Value, class Read>
  Value Get(std::string_view key, Value fallback, const Read& read) const {
    return Has(key) ? Value(At(key, read)) : std::move(fallback);
  }
  std::string Name(std::string_view key) const;
  double Amount(std::string_view key) const;
  std::int64_t Count(std::string_view key) const;
  /// read(record) for each element of a required list.
  void Each(std::string_view key, const std::function<void(const JsonRecord&)>& read) const;
  /// read(record) for the object of `key`, if it is there.
  void Inner(std::string_view key, const std::function<void(const JsonRecord&)>& read) const;
  /// read(key) for every key.
  void EachKey(const std::function<void(const std::string& key)>& read) const;

  [[noreturn]] void Fail(const std::string& message) const;

 private:
  class PlacedError : public InputError {  // says already where
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

// Typed values, which throw as those of json.h do.

/// A finite number > 0.
double JsonPositive(const Json& value);
bool JsonBool(const Json& value);
/// A text that is not empty.
std::string JsonName(const Json& value);
/// One of `choices`; the message suggests one that is spelt alike. @param what  is chosen
std::string JsonChoice(const Json& value,
                       std::string_view what,
                       std::span<const std::string> choices);
/// @throws InputError for what is no list
void RequireJsonList(const Json& value);

}  // namespace emplace
