#include "profilers/measure/profile.h"

#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "profilers/measure/interference_phase.h"
#include "profilers/measure/phases.h"
#include "profilers/measure/profiling_session.h"

namespace emplace {
namespace {

// Sets the expected times of the phases before the first measurement: the limit of the stopping
// rule, and an estimate for the steps.
void ExpectPhases(ProfilingSession& session, const OpItems& ops, size_t num_graphs) {
  const ProfileOptions& options = session.options();
  constexpr double kSizes = 31, kSecondsPerGraph = 20;
  session.Expect("ops",
                 static_cast<double>(MissingOps(session, ops).size()) * options.rule.max_seconds);
  session.Expect("links",
                 static_cast<double>(session.backend().links().size()) * kSizes *
                     options.rule.max_seconds / 2);
  if (options.interference && session.backend().devices().size() > 1) {
    session.Expect(
        "interference",
        options.interference_seconds * static_cast<double>(session.representatives().size()));
  }
  if (options.in_situ_placements > 0) {
    session.Expect("steps", kSecondsPerGraph * static_cast<double>(num_graphs));
  }
}

}  // namespace

std::string DescribeMachine(const Backend& backend) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) throw RunError("the host's name cannot be read");
  std::vector<std::string> devices;
  for (const BackendDevice& device : backend.devices()) {
    devices.push_back(fmt::format("{} ({})", device.name, device.description));
  }
  return fmt::format("{}: {}", host, fmt::join(devices, ", "));
}

CostTable ProfileMachine(std::shared_ptr<Backend> backend,
                         std::span<const std::shared_ptr<const Graph>> graphs,
                         const ProfileOptions& options,
                         const CostTable& resume,
                         const ProfileEvents& events) {
  ProfilingSession session(std::move(backend), options, events, resume);
  const OpItems ops = FindOps(session, graphs);
  ExpectPhases(session, ops, graphs.size());
  CostTable& table = session.table();
  session.Begin();

  std::set<SignatureOnDevice> failed;
  session.RunPhase("ops", [&] { failed = MeasureOps(session, ops); });
  if (options.in_situ_placements > 0) {
    const std::vector<double> expected = ExpectedSteps(session, graphs);
    session.Expect("steps", std::accumulate(expected.begin(), expected.end(), 0.0));
  }
  if (options.dispatch) session.RunPhase("dispatch", [&] { MeasureDispatch(session); });
  session.RunPhase("links", [&] { MeasureLinks(session); });
  if (options.interference) {
    session.RunPhase("interference", [&] { MeasureInterference(session, ops); });
  }
  if (options.in_situ_placements > 0) {
    session.RunPhase("steps", [&] { MeasureSteps(session, graphs, ops, failed); });
  }

  session.drift().Describe(table.properties);
  FitLadder(table);
  table.complete = !session.IsStopped();
  session.Report(table.complete ? "done" : "stopped");
  return std::move(table);
}

}  // namespace emplace
