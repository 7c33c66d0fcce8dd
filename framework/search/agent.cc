#include "framework/search/agent.h"

#include <algorithm>
#include <mutex>
#include <utility>

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

void AgentRegistry::AddLoader(std::string prefix, AgentLoader load) {
  loaders_.insert_or_assign(std::move(prefix), std::move(load));
}

const AgentEntry& AgentRegistry::Find(const std::string& name, const std::string& where) const {
  std::vector<std::string> names;
  for (const AgentEntry& entry : entries_) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  for (const auto& [prefix, load] : loaders_) {
    if (!name.starts_with(prefix)) continue;
    const std::lock_guard lock(loaded_->mutex);
    const auto found = loaded_->entries.find(name);
    if (found != loaded_->entries.end()) return found->second;
    return loaded_->entries.emplace(name, load(name, where)).first->second;
  }
  ThrowUnknown(where, "agent", name, names);
}

}  // namespace emplace
