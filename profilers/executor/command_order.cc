#include "profilers/executor/command_order.h"

#include <algorithm>
#include <functional>

namespace emplace {
namespace {

// Returns the waits in ascending order, without those that other waits imply. A wait that was added
// late may imply an earlier one.
std::vector<int> WithoutImplied(const std::vector<int>& waits,
                                std::span<const int> stream_of_command,
                                const CommandOrder& order) {
  std::vector<int> kept;
  for (int a : waits) {
    const bool implied = std::ranges::any_of(waits, [&](int b) {
      return a != b && order.done[b][stream_of_command[a]] > order.position[a];
    });
    if (!implied) kept.push_back(a);
  }
  std::ranges::sort(kept);
  return kept;
}

}  // namespace

std::vector<std::vector<int>> FindHazards(std::span<const std::vector<BufferAccess>> accesses,
                                          int num_buffers) {
  std::vector<int> last_writer(num_buffers, -1);
  std::vector<std::vector<int>> readers_since(num_buffers);
  std::vector<std::vector<int>> hazards(accesses.size());
  for (int c = 0; c < std::ssize(accesses); ++c) {
    for (const auto& [b, writes] : accesses[c]) {
      if (last_writer[b] >= 0) hazards[c].push_back(last_writer[b]);
      if (writes) {
        hazards[c].insert(hazards[c].end(), readers_since[b].begin(), readers_since[b].end());
        last_writer[b] = c;
        readers_since[b].clear();
      } else {
        readers_since[b].push_back(c);
      }
    }
  }
  return hazards;
}

CommandOrder OrderCommands(std::span<const int> stream_of_command,
                           int num_streams,
                           std::span<const std::vector<int>> dependencies,
                           std::span<const std::vector<int>> hazards) {
  const int num_commands = static_cast<int>(stream_of_command.size());
  CommandOrder order;
  order.waits.resize(num_commands);
  order.position.assign(num_commands, 0);
  order.done.resize(num_commands);
  std::vector<int> last(num_streams, -1), count(num_streams, 0);
  for (int c = 0; c < num_commands; ++c) {
    const int stream = stream_of_command[c];
    StreamClock known = last[stream] < 0 ? StreamClock(num_streams, 0) : order.done[last[stream]];
    std::vector<int>& waits = order.waits[c];
    // In descending order, because the commands that a wait implies were issued before it.
    const auto wait_for = [&](std::vector<int> needed) {
      int added = 0;
      std::ranges::sort(needed, std::greater<>());
      for (int other : needed) {
        if (known[stream_of_command[other]] > order.position[other]) continue;
        waits.push_back(other);
        ++added;
        for (int s = 0; s < num_streams; ++s) {
          known[s] = std::max(known[s], order.done[other][s]);
        }
      }
      return added;
    };
    wait_for(dependencies[c]);
    order.hazard_waits += wait_for(hazards[c]);
    waits = WithoutImplied(waits, stream_of_command, order);
    order.position[c] = count[stream]++;
    last[stream] = c;
    known[stream] = count[stream];
    order.done[c] = std::move(known);
  }
  return order;
}

}  // namespace emplace
