#pragma once

// Draws the window of groups that a large neighbourhood frees.

#include <array>
#include <string_view>
#include <vector>

#include "agents/large_neighborhood/schedule_view.h"
#include "framework/base/random.h"
#include "framework/search/problem.h"

namespace emplace {

enum class WindowKind {
  kCritical,  ///< a run of the groups of the critical chain
  kRun,       ///< a run in topological order
  kNear,      ///< grown from a random group along random edges
  kIdle,      ///< groups that start after a time at which a device is idle and may run there
};
inline constexpr int kNumWindowKinds = 4;

struct Window {
  std::vector<int> groups;  ///< distinct, each with a choice, at least one
  int aim = -1;             ///< the idle device, -1 for other windows
};

class WindowDrawer {
 public:
  /// @param problem  some group has a choice; outlives this
  explicit WindowDrawer(const Problem& problem);

  /// Draws a window of at most `size` groups. It is smaller if fewer groups of its kind are found,
  /// and a run if there are none.
  void Draw(WindowKind kind, int size, const ScheduleView& view, Rng& rng, Window& window);

 private:
  bool Add(int group, Window& window);
  void DrawRun(std::span<const int> from, int size, Rng& rng, Window& window);
  void DrawNear(int size, Rng& rng, Window& window);
  void DrawIdle(int size, const ScheduleView& view, Rng& rng, Window& window);

  const Problem& problem_;
  std::vector<int> movable_;  // groups with a choice, in group_order
  std::vector<char> in_;      // [num_groups] 1 if in the current window
};

}  // namespace emplace
