#include "framework/plan/forward_op.h"

#include <nlohmann/json.hpp>

#include "framework/base/json.h"

namespace emplace {

ForwardOpAttribute::ForwardOpAttribute(const Op& op) : before_(op.attributes) {
  if (op.attributes.find("\"forward_op\"") == std::string::npos) return;
  Json object = Json::parse(op.attributes, nullptr, false);
  if (!object.is_object() || !object.contains("forward_op")) return;
  Json& value = object["forward_op"];
  if (!value.is_string()) return;
  has_name_ = true;
  name_ = value.get<std::string>();
  Json before = Json::object(), after = Json::object();
  bool passed = false;
  for (const auto& [key, each] : object.items()) {
    if (key == "forward_op") {
      passed = true;
      continue;
    }
    (passed ? after : before)[key] = each;
  }
  before_ = before.dump();
  before_.pop_back();
  if (!before.empty()) before_ += ',';
  before_ += "\"forward_op\":";
  after_ = after.dump();
  after_.front() = ',';
  if (after.empty()) after_ = "}";
}

std::string ForwardOpAttribute::WithPrefix(std::string_view prefix) const {
  if (!has_name_) return before_;
  return before_ + Json(std::string(prefix) + name_).dump() + after_;
}

}  // namespace emplace
