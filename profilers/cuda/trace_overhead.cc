#include "profilers/cuda/trace_overhead.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "framework/base/quantile.h"
#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/handles.h"
#include "profilers/cuda/probes.h"
#include "profilers/cuda/samplers.h"

namespace emplace::cuda {

namespace {

constexpr int kCommands = 64, kChains = 15;

}  // namespace

TraceOverhead MeasureTraceOverhead(cudaStream_t stream, bool as_graph) {
  const Event start = MakeEvent(true), end = MakeEvent(true);
  std::vector<Event> events;
  for (int i = 0; i < 2 * kCommands; ++i) events.push_back(MakeEvent(true));
  const unsigned flags = as_graph ? cudaEventRecordExternal : cudaEventRecordDefault;

  // Returns the median time of the chain that `enqueue` makes. Calls `after` after each run.
  const auto time_chain = [&](const std::function<void()>& enqueue,
                              const std::function<void()>& after) {
    GraphExec chain;
    if (as_graph) {
      cudaGraph_t captured = nullptr;
      cudaGraphExec_t executable = nullptr;
      EMPLACE_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
      enqueue();
      EMPLACE_CUDA_CHECK(cudaStreamEndCapture(stream, &captured));
      const Graph graph(captured);
      EMPLACE_CUDA_CHECK(cudaGraphInstantiate(&executable, captured, 0));
      chain.reset(executable);
    }
    std::vector<double> times;
    for (int i = 0; i < kChains; ++i) {
      Latch latch;
      latch.Close(stream);
      EMPLACE_CUDA_CHECK(cudaEventRecord(start.get(), stream));
      if (as_graph) {
        EMPLACE_CUDA_CHECK(cudaGraphLaunch(chain.get(), stream));
      } else {
        enqueue();
      }
      EMPLACE_CUDA_CHECK(cudaEventRecord(end.get(), stream));
      latch.Open();
      EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream));
      times.push_back(NanosBetween(start.get(), end.get()));
      after();
    }
    return Median(times);
  };
  const auto enqueue = [&](bool with_kernels, bool with_events) {
    for (int i = 0; i < kCommands; ++i) {
      if (with_events) {
        EMPLACE_CUDA_CHECK(cudaEventRecordWithFlags(events[2 * i].get(), stream, flags));
      }
      if (with_kernels) LaunchNull(stream);
      if (with_events) {
        EMPLACE_CUDA_CHECK(cudaEventRecordWithFlags(events[2 * i + 1].get(), stream, flags));
      }
    }
  };

  LaunchNull(stream);  // loads its code before a latch is closed
  EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream));
  const double plain = time_chain([&] { enqueue(true, false); }, [] {});
  const double traced = time_chain([&] { enqueue(true, true); }, [] {});
  std::vector<double> pairs;
  time_chain([&] { enqueue(false, true); },
             [&] {
               for (int i = 0; i < kCommands; ++i) {
                 pairs.push_back(NanosBetween(events[2 * i].get(), events[2 * i + 1].get()));
               }
             });
  const double both = std::max(0.0, (traced - plain) / kCommands);
  TraceOverhead overhead;
  overhead.pair = std::llround(std::min(both, Median(pairs)));
  overhead.between = std::llround(both) - overhead.pair;
  return overhead;
}

}  // namespace emplace::cuda
