#include "framework/bounds/item_arcs.h"

#include "framework/bounds/period_terms.h"

namespace emplace {

std::vector<ItemArc> AddItems(const CompiledPeriod& p, FlowNetwork& network) {
  std::vector<ItemArc> items;
  for (int i = 0; i < p.num_items; ++i) {
    const Nanos time = ItemTimes(p, i).least();
    if (time == 0) continue;
    const int in = network.AddNode(), out = network.AddNode();
    items.push_back({network.AddArc(in, out, time), time});
    const auto pin = [&](int group) {
      network.AddArc(group, in, FlowNetwork::kUnbounded);
      network.AddArc(out, group, FlowNetwork::kUnbounded);
    };
    pin(p.maker[i]);
    for (const int reader : p.readers_of(i)) pin(reader);
  }
  return items;
}

}  // namespace emplace
