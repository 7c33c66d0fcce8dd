#include "experiments/table/run_keys.h"

#include <set>

#include "experiments/run/run_config.h"

namespace emplace {

std::vector<std::string> RunKeys() {
  static const std::set<std::string> kOthers = {
      "agents", "seeds", "output", "jobs", "threads", "ranks"};
  std::vector<std::string> keys = {"agent"};
  for (const FieldHelp& field : DescribeFields<RunConfig>()) {
    if (!kOthers.contains(field.key)) keys.push_back(field.key);
  }
  return keys;
}

}  // namespace emplace
