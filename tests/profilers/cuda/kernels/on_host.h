#pragma once

// CUDA kernels on the CPU, to test what they compute where no GPU is. A test includes this first
// and then the sources under test, .cu files included; they become the namespace
// emplace::cuda_on_host.
//
// Blocks run one after the other; the threads of a block are fibers that run until a barrier or a
// shuffle and go on when all others have come there. A barrier that some threads never reach, or
// that meets a shuffle, ends the test. Speed, races between barriers and the GPU's own arithmetic
// are not tested this way.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <setjmp.h>
#include <ucontext.h>

#include "framework/base/error.h"

#undef __global__
#undef __device__
#undef __shared__
#undef __grid_constant__
#define __global__
#define __device__
#define __shared__ static  // blocks run one after the other
#define __grid_constant__

namespace emplace::on_host {

constexpr unsigned kWarp = 32;
constexpr std::size_t kMaxThreads = 1024;  // of a block
constexpr std::size_t kStack = std::size_t{64} << 10;

enum class State { kRunning, kAtBarrier, kAtShuffle, kDone };

// A fiber for each place in a block, kept from block to block. Only its first start goes through
// ucontext; later switches are jumps, which, unlike swapcontext, call no kernel.
struct Thread {
  ucontext_t start;
  jmp_buf resume;
  std::unique_ptr<char[]> stack;
  uint3 index{};
  State state = State::kDone;
};

// The block that is running.
struct Block {
  std::vector<Thread> threads{kMaxThreads};  // never moves: their contexts point into it
  jmp_buf scheduler;
  Thread* current = nullptr;
  dim3 grid_dim, block_dim;
  uint3 index{};
  std::function<void()> body;
  std::uint64_t exchanged[kMaxThreads];  // by shuffles, a place per thread
};

inline Block& TheBlock() {
  static Block block;
  return block;
}

inline void Pause(State state) {
  Thread* self = TheBlock().current;
  self->state = state;
  if (_setjmp(self->resume) == 0) _longjmp(TheBlock().scheduler, 1);
}

inline void RunThread() {
  for (;;) {
    TheBlock().body();
    Pause(State::kDone);
  }
}

// Lets a thread run until it pauses.
[[gnu::noinline]] inline void Resume(Thread& thread) {
  TheBlock().current = &thread;
  if (_setjmp(TheBlock().scheduler) != 0) return;
  if (thread.stack != nullptr) _longjmp(thread.resume, 1);
  thread.stack = std::make_unique<char[]>(kStack);
  getcontext(&thread.start);
  thread.start.uc_stack.ss_sp = thread.stack.get();
  thread.start.uc_stack.ss_size = kStack;
  thread.start.uc_link = nullptr;
  makecontext(&thread.start, RunThread, 0);
  setcontext(&thread.start);
}

// Lets go all threads of [begin, end) if all wait for the same. A barrier does not wait for threads
// that have ended; a shuffle of all lanes may not miss one.
inline bool Release(std::size_t begin, std::size_t end, State state) {
  Block& block = TheBlock();
  bool any = false;
  for (std::size_t i = begin; i < end; ++i) {
    if (state == State::kAtBarrier && block.threads[i].state == State::kDone) continue;
    if (block.threads[i].state != state) return false;
    any = true;
  }
  for (std::size_t i = begin; i < end; ++i) {
    if (block.threads[i].state == state) block.threads[i].state = State::kRunning;
  }
  return any;
}

inline void RunBlock(const std::string& name, std::size_t count) {
  Block& block = TheBlock();
  for (std::size_t i = 0; i < count; ++i) {
    Thread& thread = block.threads[i];
    thread.index.x = static_cast<unsigned>(i % block.block_dim.x);
    thread.index.y = static_cast<unsigned>(i / block.block_dim.x % block.block_dim.y);
    thread.index.z = static_cast<unsigned>(i / block.block_dim.x / block.block_dim.y);
    thread.state = State::kRunning;
  }
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (std::size_t i = 0; i < count; ++i) {
      Thread& thread = block.threads[i];
      if (thread.state == State::kRunning) Resume(thread);
      is_done &= thread.state == State::kDone;
    }
    if (is_done) break;
    bool goes_on = Release(0, count, State::kAtBarrier);
    for (std::size_t warp = 0; warp < count; warp += kWarp) {
      goes_on |= Release(warp, std::min<std::size_t>(warp + kWarp, count), State::kAtShuffle);
    }
    EMPLACE_CHECK(goes_on, name + ": threads of a block wait for different things");
  }
}

template <class T>
T Shuffle(T value, unsigned lane_mask) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  Block& block = TheBlock();
  const std::size_t self = block.current - block.threads.data();
  std::memcpy(&block.exchanged[self], &value, sizeof value);
  Pause(State::kAtShuffle);
  T result;
  std::memcpy(&result, &block.exchanged[self ^ lane_mask], sizeof result);
  Pause(State::kAtShuffle);  // before somebody writes again
  return result;
}

}  // namespace emplace::on_host

namespace emplace {

template <class... Parameters, class... Arguments>
void RunOnHost(const char* name,
               void (*kernel)(Parameters...),
               dim3 grid,
               dim3 threads,
               cudaStream_t,
               const Arguments&... arguments) {
  const std::size_t count = std::size_t{threads.x} * threads.y * threads.z;
  EMPLACE_CHECK(count > 0 && count <= on_host::kMaxThreads, name);
  EMPLACE_CHECK(grid.x > 0 && grid.y > 0 && grid.y <= 65535 && grid.z == 1, name);
  on_host::Block& block = on_host::TheBlock();
  block.grid_dim = grid;
  block.block_dim = threads;
  block.body = [&] { kernel(arguments...); };
  for (unsigned y = 0; y < grid.y; ++y) {
    for (unsigned x = 0; x < grid.x; ++x) {
      block.index = {x, y, 0};
      on_host::RunBlock(name, count);
    }
  }
}

}  // namespace emplace

inline void SyncThreadsOnHost() {
  emplace::on_host::Pause(emplace::on_host::State::kAtBarrier);
}
template <class T>
T ShuffleXorOnHost(unsigned, T value, unsigned lane_mask) {
  return emplace::on_host::Shuffle(value, lane_mask);
}
template <class T>
T AtomicAddOnHost(T* to, T value) {
  const T before = *to;
  *to += value;
  return before;
}

#define threadIdx (::emplace::on_host::TheBlock().current->index)
#define blockIdx (::emplace::on_host::TheBlock().index)
#define blockDim (::emplace::on_host::TheBlock().block_dim)
#define gridDim (::emplace::on_host::TheBlock().grid_dim)
#define __syncthreads SyncThreadsOnHost
#define __shfl_xor_sync ShuffleXorOnHost
#define atomicAdd AtomicAddOnHost
#define cuda cuda_on_host
