#include "framework/search/agent.h"

#include <algorithm>

#include "framework/base/error.h"

namespace emplace {

void AgentRegistry::Add(AgentEntry entry) {
  const auto place = std::lower_bound(
      entries_.begin(), entries_.end(), entry.name, [](const AgentEntry& a, const std::string& b) {
        return a.name < b;
      });
  EMPLACE_CHECK(place == entries_.end() || place->name != entry.name, entry.name);
  entries_.insert(place, std::move(entry));
}

const AgentEntry& AgentRegistry::Find(const std::string& name, const std::string& where) const {
  std::vector<std::string> names;
  for (const AgentEntry& entry : entries_) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  ThrowUnknown(where, "agent", name, names);
}

}  // namespace emplace
