#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"

namespace emplace {

/// A setting whose form is right but whose value makes no sense for the problem at hand (a device
/// that the cluster does not have). Thrown by agents' constructors, which know the key but not the
/// file; the registry of agents adds file, line and column.
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

/// @throws SettingError unless `value` is one of `choices`, naming them
void RequireChoice(const std::string& key,
                   const std::string& value,
                   const std::vector<std::string>& choices);

/// "\"a\", \"b\", \"c\"", for messages.
std::string JoinChoices(const std::vector<std::string>& choices);

}  // namespace emplace
