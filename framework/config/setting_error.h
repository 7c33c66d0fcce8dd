#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"

namespace emplace {

/// A setting of the right form whose value is invalid for the current problem, such as a device
/// that the cluster does not have. Constructors of agents throw it. They know the key but not the
/// file, so the registry of agents adds file, line and column.
class SettingError : public InputError {
 public:
  /// @param key  dotted path of the setting within the agent's settings
  SettingError(std::string key, const std::string& message)
      : InputError(key + ": " + message), key_(std::move(key)), message_(message) {}
  const std::string& key() const { return key_; }
  const std::string& message() const { return message_; }

 private:
  std::string key_, message_;
};

/// @throws SettingError naming the choices unless `value` is one of them
void RequireChoice(const std::string& key,
                   const std::string& value,
                   const std::vector<std::string>& choices);

/// Returns "\"a\", \"b\", \"c\"", for messages.
std::string JoinChoices(const std::vector<std::string>& choices);

}  // namespace emplace
