// The AVX-512 kernel: 16 placements a pass. Only the code below the pragma is compiled for AVX-512,
// so headers of other libraries stay above it.

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <immintrin.h>

#include "simulator/lanes/lane_kernel.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")

#include "simulator/lanes/lane_avx512.h"
#include "simulator/lanes/lane_load.h"
#include "simulator/lanes/lane_memory_plan.h"
#include "simulator/lanes/lane_pass.h"

namespace emplace {

const LaneKernel kAvx512Kernel{
    .name = "AVX-512",
    .lanes = Avx512Lanes::kLanes,
    .word_bytes = sizeof(Avx512Lanes::Word),
    .load = &LoadPlacements<Avx512Lanes::kLanes, Avx512Lanes::Word>,
    .add_residents = &AddLaneResidents<Avx512Lanes>,
    .find_last_uses = &FindLaneLastUses<Avx512Lanes>,
    .pass = &RunLanePass<Avx512Lanes>,
};

}  // namespace emplace
