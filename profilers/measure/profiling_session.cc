#include "profilers/measure/profiling_session.h"

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "profilers/measure/cost_table_entries.h"
#include "profilers/measure/step_phase.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kCheckpointSeconds = 5;

void RequireOptions(const ProfileOptions& options) {
  const auto require = [](bool is_right, const char* what, std::int64_t value, int least) {
    if (is_right) return;
    throw InputError(fmt::format("profile: {} is {}, expected at least {}", what, value, least));
  };
  require(options.max_link_bytes >= 2, "max_link_bytes", options.max_link_bytes, 2);
  require(options.in_situ_placements >= 0, "in_situ_placements", options.in_situ_placements, 0);
  require(options.in_situ_rounds >= 1, "in_situ_rounds", options.in_situ_rounds, 1);
}

// Another version of the driver or of a library may compute with other kernels, so it counts as
// another machine.
void RequireSameMachine(const CostTable& resume, const Backend& backend) {
  if (resume.machine.empty() && resume.kinds.empty()) return;
  const std::string machine = DescribeMachine(backend);
  if (resume.machine != machine) {
    throw InputError(fmt::format(
        "the profile to go on with is of machine \"{}\", this is \"{}\"", resume.machine, machine));
  }
  for (const auto& [key, value] : backend.Properties()) {
    const auto before = resume.properties.find(key);
    if (before == resume.properties.end() || before->second == value) continue;
    throw InputError(fmt::format(
        "the profile to go on with is of machine \"{}\" with {} \"{}\", which now has \"{}\"",
        resume.machine,
        key,
        before->second,
        value));
  }
}

std::vector<int> FirstOfEachKind(const Backend& backend) {
  std::vector<int> devices;
  std::set<std::string> seen;
  for (size_t d = 0; d < backend.devices().size(); ++d) {
    if (seen.insert(backend.devices()[d].kind.name).second) devices.push_back(static_cast<int>(d));
  }
  return devices;
}

}  // namespace

ProfilingSession::ProfilingSession(std::shared_ptr<Backend> backend,
                                   const ProfileOptions& options,
                                   const ProfileEvents& events,
                                   const CostTable& resume)
    : backend_(std::move(backend)),
      options_(options),
      events_(events),
      table_(resume),
      representatives_(FirstOfEachKind(*backend_)),
      drift_(*backend_, representatives_) {
  RequireOptions(options_);
  RequireSameMachine(resume, *backend_);
  table_.machine = DescribeMachine(*backend_);
  for (const auto& [key, value] : backend_->Properties()) table_.properties[key] = value;
  table_.properties["date"] = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
  table_.complete = false;
  for (const int device : representatives_) KindIn(table_, kind_of(device));
}

double ProfilingSession::Elapsed() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void ProfilingSession::Report(const std::string& note) const {
  if (!events_.progress) return;
  const double done = Elapsed();
  double total = done;
  for (const auto& [phase, seconds] : remaining_) total += seconds;
  events_.progress(done, total, note);
}

void ProfilingSession::Advance(const std::string& phase,
                               size_t done,
                               size_t total,
                               const std::string& note) {
  if (done > 0) {
    const double per_item = (Elapsed() - phase_start_) / static_cast<double>(done);
    Expect(phase, per_item * static_cast<double>(total - done));
  }
  Report(note);
  if (Elapsed() - last_checkpoint_ > kCheckpointSeconds) Checkpoint();
}

void ProfilingSession::Checkpoint() {
  last_checkpoint_ = Elapsed();
  if (events_.checkpoint) events_.checkpoint(table_);
}

bool ProfilingSession::IsStopped() {
  is_stopped_ = is_stopped_ || (events_.stop && events_.stop());
  return is_stopped_;
}

void ProfilingSession::HoldOut(const ExecutedGraph& executed) {
  if (!events_.hold_out) return;
  std::vector<HeldOutStep> steps = events_.hold_out(executed);
  const std::string& graph = executed.problem->graph().name();
  std::erase_if(table_.held_out, [&](const HeldOutStep& step) { return step.graph == graph; });
  table_.held_out.insert(table_.held_out.end(), steps.begin(), steps.end());
}

void ProfilingSession::Warn(const std::string& warning) {
  std::vector<std::string>& warnings = table_.warnings;
  if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) {
    warnings.push_back(warning);
  }
}

void ProfilingSession::EndPhase(const std::string& name) {
  Expect(name, 0);
  Checkpoint();  // first, because the check throws if a device has failed
  if (!is_stopped_) drift_.Check("after the " + name, table_.warnings);
}

void ProfilingSession::HandleFailure(const std::vector<int>& devices,
                                     const std::string& what,
                                     const std::runtime_error& error) {
  std::vector<std::string> names;
  for (const int device : devices) {
    names.push_back(name_of(device));
    const std::string why = drift_.WhyBroken(device);
    if (why.empty()) continue;
    Checkpoint();
    throw RunError(fmt::format("device \"{}\" failed at {}: {}; then at the reference product: {}",
                               names.back(),
                               what,
                               error.what(),
                               why));
  }
  Warn(fmt::format("left out: {} on {}: {}", what, fmt::join(names, ", "), error.what()));
}

}  // namespace emplace
