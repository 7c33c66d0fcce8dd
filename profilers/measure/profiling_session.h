#pragma once

// State shared by the phases of a profile (phases.h): the table that
// they fill, progress and checkpoints for the caller, and the handling of failed measurements.

#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "profilers/executor/backend.h"
#include "profilers/measure/drift_watch.h"
#include "profilers/measure/profile.h"

namespace emplace {

/// One run of ProfileMachine().
class ProfilingSession {
 public:
  /// @param options, events  outlive this
  /// @throws InputError for contradictory options or a `resume` of another machine
  ProfilingSession(std::shared_ptr<Backend> backend,
                   const ProfileOptions& options,
                   const ProfileEvents& events,
                   const CostTable& resume);

  Backend& backend() const { return *backend_; }
  const std::shared_ptr<Backend>& shared_backend() const { return backend_; }
  const ProfileOptions& options() const { return options_; }
  CostTable& table() { return table_; }
  DriftWatch& drift() { return drift_; }
  const DeviceKind& kind_of(int device) const { return backend_->devices()[device].kind; }
  const std::string& name_of(int device) const { return backend_->devices()[device].name; }
  /// The first device of each kind, ascending. Isolated ops and dispatch are measured on these.
  const std::vector<int>& representatives() const { return representatives_; }

  /// Returns the seconds since the session began.
  double Elapsed() const;
  /// Sets the expected remaining time of a phase [s]. For the running phase it decreases with time.
  void Expect(const std::string& phase, double seconds) {
    remaining_[phase] = {seconds, Elapsed()};
  }
  /// Calls ProfileEvents::progress. @param note  the current measurement
  void Report(const std::string& note) const;
  /// Calls Report() and extrapolates the rest of the phase from its `done` of `total` items. If the
  /// last checkpoint is more than 5 s ago, also makes one and times the reference product.
  void Advance(const std::string& phase, size_t done, size_t total, const std::string& note);
  /// Times the reference product. A phase during which it has drifted is repeated.
  void LookForDrift() { Watch(drift_.Look("during the " + phase_)); }
  /// Calls ProfileEvents::checkpoint with the current table.
  void Checkpoint();
  /// Returns whether the caller has asked to stop, now or before.
  bool IsStopped();
  /// Adds a warning to the table, unless it has the same one already.
  void Warn(const std::string& warning);

  /// Checks for drift at the start, and against the start of the resumed profile.
  /// @throws DriftError if the resumed profile was measured on a faster or slower machine
  void Begin();
  /// Runs a phase: its body, a checkpoint and a check for drift. If the drift exceeds
  /// ProfileOptions::most_drift, restores the table and repeats. Does nothing after a stop.
  /// @throws DriftError after the last repeat
  void RunPhase(const std::string& name, const std::function<void()>& body);

  /// Runs one measurement. If it fails, the reference product (DriftWatch::WhyBroken) decides
  /// whether a kernel has failed, which adds a warning, or a device, which ends the profile.
  /// @param devices  that take part    @param what  names the measurement: "op matmul(...)"
  /// @return whether `body` ran to its end
  /// @throws RunError naming device and `what` if one of the devices no longer computes; InputError
  /// of `body`
  template <class Body>
  bool Try(const std::vector<int>& devices, const std::string& what, const Body& body) {
    try {
      body();
      return true;
    } catch (const InputError&) {
      throw;
    } catch (const std::runtime_error& error) {
      HandleFailure(devices, what, error);
      return false;
    }
  }
  /// Handles an error of the body in Try(). @throws RunError likewise
  void HandleFailure(const std::vector<int>& devices,
                     const std::string& what,
                     const std::runtime_error& error);

 private:
  struct Remaining {
    double seconds = 0, set_at = 0;  // [s], [s] since start_
  };

  void Watch(const Drift& drift);
  void Settle();
  void KeepOrThrow(const std::string& when, const Drift& drift);
  bool IsDrifted() const { return std::abs(worst_.change) > options_.most_drift; }

  std::shared_ptr<Backend> backend_;
  const ProfileOptions& options_;
  const ProfileEvents& events_;
  CostTable table_;
  std::vector<int> representatives_;
  DriftWatch drift_;
  bool is_stopped_ = false;

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double phase_start_ = 0, last_checkpoint_ = 0;  // [s] since start_
  std::map<std::string, Remaining> remaining_;    // by phase
  std::string phase_;                             // the running phase
  Drift worst_;                                   // of the running phase
  bool keeps_any_ = false;                        // whether any result depends on the start
};

}  // namespace emplace
