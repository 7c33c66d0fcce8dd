// The AVX2 kernel: 8 placements a pass. Only the code below the pragma is compiled for AVX2, so
// headers of other libraries stay above it.

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <immintrin.h>

#include "simulator/lanes/lane_kernel.h"

#pragma GCC target("avx2")

#include "simulator/lanes/lane_avx2.h"
#include "simulator/lanes/lane_load.h"
#include "simulator/lanes/lane_memory_plan.h"
#include "simulator/lanes/lane_pass.h"

namespace emplace {

const LaneKernel kAvx2Kernel{
    .name = "AVX2",
    .lanes = Avx2Lanes::kLanes,
    .word_bytes = sizeof(Avx2Lanes::Word),
    .load = &LoadPlacements<Avx2Lanes::kLanes, Avx2Lanes::Word>,
    .add_residents = &AddLaneResidents<Avx2Lanes>,
    .find_last_uses = &FindLaneLastUses<Avx2Lanes>,
    .pass = &RunLanePass<Avx2Lanes>,
};

}  // namespace emplace
