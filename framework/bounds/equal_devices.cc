#include "framework/bounds/equal_devices.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "framework/bounds/period_programme.h"
#include "framework/bounds/period_terms.h"

namespace emplace {

void EqualDevices::DropCheapest() {
  std::ranges::stable_sort(
      items, std::greater{}, [](const PaidItem& item) { return item.in + item.out; });
  items.resize(items.size() * 4 / 5);
}

Nanos EqualDevices::Load(const std::vector<char>& within) const {
  Nanos load = 0;
  for (std::size_t g = 0; g < cost.size(); ++g) load += within[g] ? cost[g] : 0;
  for (const PaidItem& item : items) {
    const bool made = within[item.maker];
    const bool crosses =
        std::ranges::any_of(item.pins, [&](int g) { return bool(within[g]) != made; });
    if (crosses) load += made ? item.out : item.in;
  }
  return load;
}

std::vector<EqualDevices> ClassesOfDevices(const CompiledPeriod& p, Nanos most) {
  const std::vector<int> first = InterchangeableDevices(p);
  std::vector<EqualDevices> classes;
  for (int d = 0; d < p.num_devices; ++d) {
    if (first[d] != d) continue;
    EqualDevices one;
    for (int e = d; e < p.num_devices; ++e) {
      if (first[e] == d) one.devices.push_back(e);
    }
    for (int g = 0; g < p.num_groups; ++g) {
      const Nanos cost = p.problem.group_cost(g, d);
      one.cost.push_back(p.problem.allowed(g, d) && cost < most ? cost : kMaxNanos);
    }
    for (int i = 0; i < p.num_items && p.pays[d] != 0; ++i) {
      const ItemTimes times(p, i);
      const Nanos in = times.Range([&](int, int to) { return first[to] == d; }).first;
      const Nanos out = times.Range([&](int from, int) { return first[from] == d; }).first;
      if (in == 0 && out == 0) continue;
      PaidItem item{p.maker[i], {p.maker[i]}, std::min(in, most), std::min(out, most)};
      for (const int reader : p.readers_of(i)) item.pins.push_back(reader);
      std::ranges::sort(item.pins);
      const auto same = std::ranges::find_if(one.items, [&](const PaidItem& other) {
        return other.maker == item.maker && other.pins == item.pins;
      });
      if (same == one.items.end()) {
        one.items.push_back(std::move(item));
      } else {
        same->in = std::min(same->in + in, most);
        same->out = std::min(same->out + out, most);
      }
    }
    classes.push_back(std::move(one));
  }
  return classes;
}

}  // namespace emplace
