#include "profilers/executor/command_queue.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/executor/spin_wait.h"

namespace emplace {
namespace {

std::int64_t SteadyNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void StepState::Reset(bool traced, int parties) {
  traced_ = traced;
  missing_ = parties;
  start_ = 0;
  failed_ = false;
}

void StepState::Meet() {
  if (missing_.fetch_sub(1) == 1) {
    start_.store(SteadyNanos());
    return;
  }
  SpinWait spin;
  while (start_.load() == 0 && !has_failed()) spin.Turn();
}

Nanos StepState::Now() const {
  return SteadyNanos() - start_.load(std::memory_order_relaxed);
}

QueueProgram::QueueProgram(std::shared_ptr<const ExecutionPlan> plan,
                           ProgramMemory memory,
                           std::vector<std::unique_ptr<QueueRunner>> runners)
    : plan_(std::move(plan)), memory_(std::move(memory)), runners_(std::move(runners)) {
}

StepRecord QueueProgram::Step(bool traced) {
  int parties = 0;
  for (const auto& runner : runners_) parties += runner->num_parties();
  step_.Reset(traced, parties);
  for (int q = 0; q < plan_->num_streams(); ++q) Raise(memory_.progress[q], 0);

  StepRecord record;
  std::exception_ptr error;  // the first one
  const auto attempt = [&](const auto& part) {
    try {
      part();
    } catch (...) {
      if (!error) error = std::current_exception();
      step_.Fail();
    }
  };
  size_t begun = 0;
  while (begun < runners_.size() && !error) {
    QueueRunner& runner = *runners_[begun++];
    attempt([&] { runner.Begin(step_); });
  }
  while (begun > 0) {
    QueueRunner& runner = *runners_[--begun];
    attempt([&] { record.step_time = std::max(record.step_time, runner.End(step_)); });
  }
  if (traced && !error) {
    record.start.assign(plan_->commands.size(), 0);
    record.finish.assign(plan_->commands.size(), 0);
    for (const auto& runner : runners_) attempt([&] { runner->Collect(record); });
  }
  if (error) std::rethrow_exception(error);
  return record;
}

std::vector<std::byte> QueueProgram::ReadTensor(Address address, std::int64_t bytes) {
  const auto holds = [&](const std::vector<Address>& addresses) {
    return std::ranges::find(addresses, address) != addresses.end();
  };
  const bool known =
      std::ranges::any_of(
          plan_->ops,
          [&](const CompiledOp& op) { return holds(op.inputs) || holds(op.outputs); }) ||
      std::ranges::any_of(plan_->commands,
                          [&](const PlanCommand& c) { return holds(c.destinations); });
  const bool on_device = address.device >= 0 && address.device < plan_->num_devices;
  if (!known || !on_device || bytes < 0 ||
      address.offset + bytes > plan_->arena_bytes[address.device]) {
    throw InputError(fmt::format("the plan has no tensor of {} B at byte {} of device {}",
                                 bytes,
                                 address.offset,
                                 address.device));
  }
  std::vector<std::byte> result(static_cast<size_t>(bytes));
  const bool read =
      std::ranges::any_of(runners_, [&](const auto& r) { return r->Read(address, result); });
  EMPLACE_CHECK(read);
  return result;
}

}  // namespace emplace
