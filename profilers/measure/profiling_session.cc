#include "profilers/measure/profiling_session.h"

#include <algorithm>
#include <ctime>
#include <set>
#include <thread>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "profilers/measure/cost_table_entries.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kCheckpointSeconds = 5;
constexpr auto kSettlePause = std::chrono::milliseconds(500);

void RequireOptions(const ProfileOptions& options) {
  const auto require = [](bool is_right, const char* what, std::int64_t value, int least) {
    if (is_right) return;
    throw InputError(fmt::format("profile: {} is {}, expected at least {}", what, value, least));
  };
  require(options.max_link_bytes >= 2, "max_link_bytes", options.max_link_bytes, 2);
  require(options.in_situ_placements >= 0, "in_situ_placements", options.in_situ_placements, 0);
  require(options.in_situ_rounds >= 1, "in_situ_rounds", options.in_situ_rounds, 1);
}

// Another version of the driver or of a library may use other kernels. It counts as another
// machine.
void RequireSameMachine(const CostTable& resume, const Backend& backend) {
  if (resume.machine.empty() && resume.kinds.empty()) return;
  const std::string machine = DescribeMachine(backend);
  if (resume.machine != machine) {
    throw InputError(fmt::format(
        "the profile to resume is of machine \"{}\", but this is \"{}\"", resume.machine, machine));
  }
  for (const auto& [key, value] : backend.Properties()) {
    const auto before = resume.properties.find(key);
    if (before == resume.properties.end() || before->second == value) continue;
    throw InputError(fmt::format(
        "the profile to resume is of machine \"{}\" with {} \"{}\", which now has \"{}\"",
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
  drift_.Resume(resume.properties);
  keeps_any_ =
      !resume.links.empty() || !resume.dispatch.empty() ||
      std::ranges::any_of(resume.kinds, [](const auto& kind) { return !kind.ops.empty(); });
}

double ProfilingSession::Elapsed() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void ProfilingSession::Report(const std::string& note) const {
  if (!events_.progress) return;
  const double done = Elapsed();
  double total = done;
  for (const auto& [phase, remaining] : remaining_) {
    const double gone = phase == phase_ ? done - remaining.set_at : 0;
    total += std::max(0.0, remaining.seconds - gone);
  }
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
  if (Elapsed() - last_checkpoint_ <= kCheckpointSeconds) return;
  Checkpoint();
  LookForDrift();
}

void ProfilingSession::Checkpoint() {
  last_checkpoint_ = Elapsed();
  if (events_.checkpoint) events_.checkpoint(table_);
}

bool ProfilingSession::IsStopped() {
  is_stopped_ = is_stopped_ || (events_.stop && events_.stop());
  return is_stopped_;
}

void ProfilingSession::Warn(const std::string& warning) {
  std::vector<std::string>& warnings = table_.warnings;
  if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) {
    warnings.push_back(warning);
  }
}

void ProfilingSession::Watch(const Drift& drift) {
  if (std::abs(drift.change) > std::abs(worst_.change)) worst_ = drift;
}

// Waits until the machine is in its initial state again, at most for the permitted time.
void ProfilingSession::Settle() {
  const double until = Elapsed() + options_.settle_seconds;
  while (!IsStopped()) {
    worst_ = drift_.Look("between two measurements");
    if (!IsDrifted() || Elapsed() >= until) return;
    Report("waiting until the machine returns to its initial state: " + worst_.text);
    std::this_thread::sleep_for(kSettlePause);
  }
}

void ProfilingSession::KeepOrThrow(const std::string& when, const Drift& drift) {
  const std::string text = fmt::format("{}: {}", when, drift.text);
  if (!options_.keep_drifted) {
    throw DriftError(
        fmt::format("the machine changed while it was profiled: {}, expected at most "
                    "{:.0f} %",
                    text,
                    100 * options_.most_drift));
  }
  std::string& property = table_.properties[kDriftProperty];
  property += (property.empty() ? "" : "; ") + text;
}

void ProfilingSession::Begin() {
  Report("clocks");
  drift_.Look("at the start");  // raises the clocks
  worst_ = drift_.Check("at the start", table_.warnings);
  if (IsDrifted()) Settle();
  if (IsDrifted() && !is_stopped_) KeepOrThrow("at the start", worst_);
  drift_.Describe(table_.properties);
}

void ProfilingSession::RunPhase(const std::string& name, const std::function<void()>& body) {
  if (IsStopped()) return;
  const CostTable before = table_;
  phase_ = name;
  for (int repeat = 0;; ++repeat) {
    phase_start_ = Elapsed();
    worst_ = {};
    body();
    Expect(name, 0);
    Checkpoint();  // first, because the check throws if a device has failed
    if (is_stopped_) return;
    Watch(drift_.Check("after the " + name, table_.warnings));
    if (!IsDrifted()) break;
    const std::string when =
        fmt::format("phase \"{}\", attempt {} of {}", name, repeat + 1, options_.repeats + 1);
    if (repeat == options_.repeats) {
      if (options_.keep_drifted) {
        KeepOrThrow(when, worst_);
        break;
      }
      table_ = before;
      Checkpoint();
      KeepOrThrow(when, worst_);
    }
    table_ = before;
    Warn(fmt::format("phase \"{}\" was measured again: {}", name, worst_.text));
    if (keeps_any_) {
      Settle();
    } else {  // no result depends on the earlier state
      drift_.Restart();
      drift_.Check("at the start", table_.warnings);
      drift_.Describe(table_.properties);
    }
    if (IsStopped()) return;
  }
  keeps_any_ = true;
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
    throw RunError(fmt::format(
        "device \"{}\" failed at {}: {}; afterwards it failed at the reference product: {}",
        names.back(),
        what,
        error.what(),
        why));
  }
  Warn(fmt::format("left out: {} on {}: {}", what, fmt::join(names, ", "), error.what()));
}

}  // namespace emplace
