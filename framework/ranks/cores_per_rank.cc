#include <algorithm>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include <sched.h>

#include "framework/base/parallel.h"
#include "framework/ranks/communicator.h"

namespace emplace {
namespace {

struct RankCores {
  char machine[40] = {};  // boot id of the running system, shared by containers of a machine
  cpu_set_t cores = {};
};

RankCores MyCores() {
  RankCores mine;
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::ranges::copy(boot.substr(0, sizeof(mine.machine) - 1), mine.machine);
  if (sched_getaffinity(0, sizeof(mine.cores), &mine.cores) != 0) CPU_ZERO(&mine.cores);
  return mine;
}

}  // namespace

int CoresPerRank(Communicator& ranks) {
  const RankCores mine = MyCores();
  const Gathered all = ranks.AllGather(std::as_bytes(std::span(&mine, 1)));
  cpu_set_t cores;
  CPU_ZERO(&cores);
  int here = 0;
  for (int r = 0; r < ranks.size(); ++r) {
    RankCores theirs;
    std::memcpy(&theirs, all.of(r).data(), sizeof(theirs));
    if (std::string_view(theirs.machine) != mine.machine) continue;
    ++here;
    CPU_OR(&cores, &cores, &theirs.cores);
  }
  return std::clamp(CPU_COUNT(&cores) / here, 1, NumCores());
}

}  // namespace emplace
