#include "tests/support/gpu_on_host.h"

#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "simulator/gpu/gpu_pass.h"

namespace emplace::testing {
namespace {

void RunOnHost(const GpuLaunch& launch) {
  WithGpuPass(launch.program, [&]<class Pass>() {
    std::vector<std::uint32_t> shared;
    for (int thread = 0; thread < launch.count; ++thread) {
      const int in_block = thread % launch.threads;
      if (in_block == 0) shared.assign(SharedWords(launch), 0xdeadbeef);
      GpuColumn state{launch.state + thread, launch.stride};
      GpuColumn arrivals{launch.arrivals + thread, launch.stride};
      if (launch.state_in_shared) state = {shared.data() + in_block, launch.threads};
      if (launch.arrivals_in_shared) {
        arrivals = {shared.data() + launch.layout.words * launch.threads + in_block,
                    launch.threads};
      }
      Pass(launch, thread, state, arrivals).Run();
    }
  });
}

class GpuOnHost final : public GpuDevice {
 public:
  GpuOnHost(const GpuLimits& limits, std::shared_ptr<LaunchLog> log)
      : limits_(limits),
        log_(std::move(log)),
        left_(std::make_shared<std::int64_t>(limits.free_memory)) {}

  GpuLimits limits() override { return limits_; }
  GpuMemory Allocate(std::int64_t bytes) override {
    if (bytes > *left_) {
      throw RunError("allocating " + std::to_string(bytes) + " bytes: out of memory");
    }
    *left_ -= bytes;
    return Rubbish(bytes, left_);
  }
  GpuMemory AllocateOnHost(std::int64_t bytes) override { return Rubbish(bytes, nullptr); }
  void CopyIn(int stream, std::byte* to, const std::byte* from, std::int64_t bytes) override {
    Copy(stream, to, from, bytes);
  }
  void CopyOut(int stream, std::byte* to, const std::byte* from, std::int64_t bytes) override {
    Copy(stream, to, from, bytes);
  }
  void Launch(int stream, const GpuLaunch& launch) override {
    EMPLACE_CHECK(launch.count >= 1 && launch.count <= launch.stride);
    if (log_ != nullptr) log_->push_back(launch);
    waiting_[stream].push_back([launch] { RunOnHost(launch); });
  }
  void Wait(int stream) override {
    for (const auto& work : std::exchange(waiting_[stream], {})) work();
  }

 private:
  static GpuMemory Rubbish(std::int64_t bytes, std::shared_ptr<std::int64_t> left) {
    auto* const memory = static_cast<std::byte*>(::operator new(bytes));
    std::memset(memory, 0xa5, bytes);
    return {memory, [=](std::byte* p) {
              if (left != nullptr) *left += bytes;
              ::operator delete(p);
            }};
  }
  void Copy(int stream, std::byte* to, const std::byte* from, std::int64_t bytes) {
    waiting_[stream].push_back([=] { std::memcpy(to, from, bytes); });
  }

  const GpuLimits limits_;
  const std::shared_ptr<LaunchLog> log_;
  const std::shared_ptr<std::int64_t> left_;  // of the GPU's memory [B]
  std::vector<std::function<void()>> waiting_[kStreams];
};

}  // namespace

std::unique_ptr<GpuDevice> MakeGpuOnHost(const GpuLimits& limits, std::shared_ptr<LaunchLog> log) {
  return std::make_unique<GpuOnHost>(limits, std::move(log));
}

}  // namespace emplace::testing
