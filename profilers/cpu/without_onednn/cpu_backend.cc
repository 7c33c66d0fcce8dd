#include "profilers/cpu/cpu_backend.h"

#include "framework/base/error.h"

namespace emplace {

std::shared_ptr<Backend> MakeCpuBackend(std::vector<CpuGroup>) {
  throw RunError(
      "this emplace was built without oneDNN, so it cannot measure or execute on the CPU; "
      "./scripts/quickstart builds one with oneDNN");
}

}  // namespace emplace
