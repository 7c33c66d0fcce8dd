#include "profilers/cpu/cpu_system.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "framework/base/error.h"
#include "profilers/cpu/cpu_backend.h"

namespace emplace {
namespace {

// Returns the value after "key : " in the `core`-th paragraph of /proc/cpuinfo, or "".
std::string CpuInfo(std::string_view key, int core) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  int paragraph = -1;
  while (std::getline(file, line)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view name(line.data(),
                                std::min(colon, line.find_last_not_of(" \t", colon - 1) + 1));
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (name == "processor") paragraph = std::atoi(value.c_str());
    if (paragraph == core && name == key) return value;
  }
  return "";
}

}  // namespace

void PinThisThread(std::span<const int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  }
  const int error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  if (error != 0) {
    throw RunError(fmt::format("cannot pin a thread to core {}: {}; this process may use cores {}",
                               fmt::join(cores, ", "),
                               std::strerror(error),
                               fmt::join(AllowedCores(), ", ")));
  }
}

void FlushDenormalsInThisThread() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
#elif defined(__aarch64__)
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | (std::uint64_t{1} << 24)));
#endif
}

std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    throw RunError(fmt::format("cannot read this process' cores: {}", std::strerror(errno)));
  }
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

std::string CpuModel() {
  const auto cores = AllowedCores();
  const std::string model = CpuInfo("model name", cores.empty() ? 0 : cores[0]);
  return model.empty() ? "unknown CPU" : model;
}

std::string CpuKindName(std::string_view model, int cores) {
  std::string name, word;
  const auto finish_word = [&] {
    const bool counts_cores = word.size() > 5 && word.ends_with("-core");
    const bool is_noise = word == "cpu" || word == "processor" || word == "r" || word == "tm";
    if (!word.empty() && !counts_cores && !is_noise) name += name.empty() ? word : '_' + word;
    word.clear();
  };
  for (char c : model) {
    if (c == '@') break;  // followed by the nominal clock
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      finish_word();
    }
  }
  finish_word();
  std::ranges::replace(name, '-', '_');
  return fmt::format("{}_{}c", name, cores);
}

std::string KernelRelease() {
  utsname names;
  if (uname(&names) != 0) return "unknown";
  return fmt::format("{} {}", names.sysname, names.release);
}

double ClockMhz(int core) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", core));
  double khz = 0;
  if (file >> khz) return khz / 1000;
  return std::atof(CpuInfo("cpu MHz", core).c_str());
}

std::int64_t PhysicalMemory() {
  const std::int64_t physical =
      static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  // The memory limit of a container; the file contains "max" if there is none.
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::int64_t limit = 0;
  return file >> limit && limit > 0 ? std::min(physical, limit) : physical;
}

std::int64_t LastLevelCacheBytes() {
  const std::int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : std::int64_t{32} << 20;
}

ReservedMemory::ReservedMemory(std::int64_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* const data = mmap(nullptr,
                          static_cast<size_t>(bytes),
                          PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1,
                          0);
  if (data == MAP_FAILED) {
    throw RunError(
        fmt::format("cannot reserve {} B of address space: {}", bytes, std::strerror(errno)));
  }
  madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // for fewer TLB misses
  data_ = static_cast<std::byte*>(data);
}

ReservedMemory::~ReservedMemory() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(size_));
}

void ReservedMemory::Touch(std::int64_t bytes) {
  EMPLACE_CHECK(bytes <= size_);
  if (bytes <= touched_) return;
  std::memset(data_ + touched_, 0, static_cast<size_t>(bytes - touched_));
  touched_ = bytes;
}

}  // namespace emplace
