#include "agents/policy_gradient/update_fields.h"

#include "framework/base/error.h"

namespace emplace {

UpdateTable MakeUpdateTable(const UpdateFields& fields) {
  UpdateTable table;
  for (const auto& [name, value] : fields) table.columns.push_back(name);
  return table;
}

void AddRow(UpdateTable& table, const UpdateFields& fields) {
  EMPLACE_CHECK(fields.size() == table.columns.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    EMPLACE_CHECK(fields[i].first == table.columns[i], fields[i].first);
    table.values.push_back(fields[i].second);
  }
}

}  // namespace emplace
