#include "framework/graph/grouping.h"

#include <numeric>
#include <unordered_map>

namespace emplace {

Grouping Grouping::Identity(int num_ops) {
  std::vector<int> labels(num_ops);
  std::iota(labels.begin(), labels.end(), 0);
  return Grouping(labels);
}

Grouping::Grouping(std::span<const int> label_of_op) {
  std::unordered_map<int, int> number;
  group_of_op_.reserve(label_of_op.size());
  for (int label : label_of_op) {
    group_of_op_.push_back(
        number.try_emplace(label, static_cast<int>(number.size())).first->second);
  }
  members_.offsets.assign(number.size() + 1, 0);
  for (int group : group_of_op_) ++members_.offsets[group + 1];
  std::partial_sum(members_.offsets.begin(), members_.offsets.end(), members_.offsets.begin());
  members_.values.resize(group_of_op_.size());
  std::vector<int> next(members_.offsets.begin(), members_.offsets.end() - 1);
  for (int op = 0; op < num_ops(); ++op) members_.values[next[group_of_op_[op]]++] = op;
}

}  // namespace emplace
