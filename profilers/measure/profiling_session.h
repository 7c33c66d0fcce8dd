#pragma once

// What the phases of a profile share: the table that they fill, what the caller wants to hear, and
// what to do when something fails.

#include <chrono>
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

class ProfilingSession {
 public:
  /// @param options, events  outlive this
  /// @throws InputError for options that make no sense or a `resume` of another machine
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
  /// The first device of each kind, ascending.
  const std::vector<int>& representatives() const { return representatives_; }

  /// Seconds since the session began.
  double Elapsed() const;
  /// How long a phase will still take [s]
  void Expect(const std::string& phase, double seconds) { remaining_[phase] = seconds; }
  void Report(const std::string& note) const;
  /// Reports, expecting the rest of a phase to go on as it has so far; a checkpoint if the last one
  /// was a while ago.
  void Advance(const std::string& phase, size_t done, size_t total, const std::string& note);
  void Checkpoint();
  bool IsStopped();
  /// Once, however often it is said.
  void Warn(const std::string& warning);

  /// Body, a checkpoint, a look at the drift; nothing after a stop.
  template <class Body>
  void RunPhase(const std::string& name, const Body& body) {
    if (IsStopped()) return;
    phase_start_ = Elapsed();
    body();
    EndPhase(name);
  }

  /// What fails may be one kernel, which is left out with a warning, or a device, which ends
  /// everything: the reference product tells.
  /// @param devices  that take part
  /// @return whether `body` ran to its end; InputError passes through
  /// @throws RunError naming device and `what` if one of the devices does not compute any more
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
  void HandleFailure(const std::vector<int>& devices,
                     const std::string& what,
                     const std::runtime_error& error);

 private:
  void EndPhase(const std::string& name);

  std::shared_ptr<Backend> backend_;
  const ProfileOptions& options_;
  const ProfileEvents& events_;
  CostTable table_;
  std::vector<int> representatives_;
  DriftWatch drift_;
  bool is_stopped_ = false;

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double phase_start_ = 0, last_checkpoint_ = 0;  // [s] since start_
  std::map<std::string, double> remaining_;       // by phase [s]
};

}  // namespace emplace
