#include "profilers/measure/interference_phase.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/cluster/op_class.h"
#include "profilers/kernels/op_work.h"
#include "profilers/measure/cost_table_entries.h"
#include "profilers/statistics/sampling.h"

namespace emplace {
namespace {

constexpr std::int64_t kLoadBytes = std::int64_t{64} << 20, kTransferBytes = std::int64_t{1} << 20;
// Brief: there are many pairs, and a few percent do not matter.
constexpr StoppingRule kBesideRule{.precision = 0.02,
                                   .min_samples = 5,
                                   .max_samples = 50,
                                   .max_seconds = 0.03,
                                   .slow_samples = 5};
// A time alone is measured again after so long, as clocks and other programs change [s].
constexpr double kKeepsFor = 2;
constexpr const char* kLoad = "load";
// Classes of which the heaviest ops are run beside one another.
constexpr size_t kMostClasses = 6;

LoneOp CopyOf(int device, std::int64_t bytes) {
  const TensorView view = ContiguousView(DType::kF32, {bytes / 4});
  KernelCall call;
  call.kind = KernelKind::kCopy;
  call.inputs = {{false, 0, view}};
  call.outputs = {{true, 0, view}};
  return {device, {.calls = {std::move(call)}}, {bytes}, {bytes}};
}

// How much longer something takes than alone.
struct Measured {
  double factor = 1, low = 1, high = 1;
  bool is_slower() const { return low > 1; }
  double excess() const { return is_slower() ? factor - 1 : 0; }
};

int Figure(double number) {
  return ParseInterference(std::min(number, InterferenceNumber(kMostInterference))).value_or(0);
}

// An op that is run beside others: ready, and with the time that it took alone of late.
struct BenchOp {
  int device = 0;
  std::shared_ptr<PreparedOp> op;
  Timing alone;
  double measured_at = -kKeepsFor;  // [s] of the session
};

class InterferenceBench {
 public:
  explicit InterferenceBench(ProfilingSession& session) : session_(session) {}

  BenchOp Prepare(const LoneOp& op) {
    return {.device = op.device, .op = session_.backend().Prepare(op)};
  }

  // nullopt where the devices share nothing.
  std::optional<Measured> Beside(BenchOp& victim, const BenchOp& aggressor) {
    const auto sampler = session_.backend().BesideSampler(victim.op, aggressor.op);
    if (!sampler) return std::nullopt;
    const Timing beside = MeasureUntilStable(*sampler, kBesideRule);
    const Timing& alone = Alone(victim);
    if (!(alone.low > 0)) return Measured{};
    return Measured{beside.median / alone.median, beside.low / alone.high, beside.high / alone.low};
  }

 private:
  const Timing& Alone(BenchOp& op) {
    if (session_.Elapsed() - op.measured_at >= kKeepsFor) {
      op.alone = MeasureUntilStable(session_.backend().AloneSampler(op.op), kBesideRule);
      op.measured_at = session_.Elapsed();
    }
    return op.alone;
  }

  ProfilingSession& session_;
};

std::string NameOf(const ProfilingSession& session, int device, std::string_view what) {
  return fmt::format("{} {}", session.name_of(device), what);
}

const Slowdown* Find(const CostTable& table, const std::string& victim, const std::string& other) {
  for (const Slowdown& slowdown : table.interference) {
    if (slowdown.victim == victim && slowdown.aggressor == other) return &slowdown;
  }
  return nullptr;
}

// The load of each device beside that of each other.
void MeasureLoads(ProfilingSession& session) {
  InterferenceBench bench(session);
  CostTable& table = session.table();
  const auto num_devices = static_cast<int>(session.backend().devices().size());
  std::map<int, BenchOp> loads;
  const auto load_of = [&](int device) -> BenchOp& {
    if (!loads.contains(device)) loads[device] = bench.Prepare(CopyOf(device, kLoadBytes));
    return loads[device];
  };
  for (int d = 0; d < num_devices; ++d) {
    for (int e = 0; e < num_devices && !session.IsStopped(); ++e) {
      const std::string victim = NameOf(session, d, kLoad), other = NameOf(session, e, kLoad);
      if (d == e || Find(table, victim, other) != nullptr) continue;
      session.Report(fmt::format("{} beside {}", session.name_of(d), session.name_of(e)));
      session.Try({d, e}, fmt::format("load of {} beside {}", victim, other), [&] {
        const auto measured = bench.Beside(load_of(d), load_of(e));
        if (!measured) return;
        table.interference.push_back(
            {victim, other, measured->factor, measured->low, measured->high});
      });
    }
  }
}

// The device beside which the load of `device` is slowest; nullopt without neighbours.
std::optional<int> WorstNeighbor(const ProfilingSession& session,
                                 const CostTable& table,
                                 int device) {
  std::optional<int> worst;
  double largest = 0;
  for (int e = 0; e < static_cast<int>(session.backend().devices().size()); ++e) {
    if (e == device || !AreNeighbors(table, session.name_of(device), session.name_of(e))) continue;
    const Slowdown* slowdown =
        Find(table, NameOf(session, e, kLoad), NameOf(session, device, kLoad));
    if (slowdown == nullptr || slowdown->factor <= largest) continue;
    largest = slowdown->factor;
    worst = e;
  }
  return worst;
}

// Everything about one device kind, on the first device of it and the worst neighbour of that.
class KindInterference {
 public:
  KindInterference(ProfilingSession& session, int device, int neighbor)
      : session_(session),
        bench_(session),
        device_(device),
        load_(bench_.Prepare(CopyOf(neighbor, kLoadBytes))),
        // What the load of this device does to that of the neighbour.
        load_on_load_(std::max(kLeastSlowdown,
                               Find(session.table(),
                                    NameOf(session, neighbor, kLoad),
                                    NameOf(session, device, kLoad))
                                   ->factor) -
                      1) {}

  void Measure(const OpItems& ops) {
    std::vector<const OpItems::Item*> items;
    for (const OpItems::Item& item : ops.items) {
      if (item.device == device_ && Alone(item) > 0) items.push_back(&item);
    }
    std::ranges::stable_sort(items, std::greater<>(), [&](const auto* i) { return Alone(*i); });
    const double begin = session_.Elapsed();
    for (const OpItems::Item* item : items) {
      if (session_.IsStopped() ||
          session_.Elapsed() - begin > session_.options().interference_seconds) {
        break;
      }
      const OpMeasurement& op = *Costs().Find(item->signature);
      if (!op.interference) {
        session_.Report(fmt::format("{} on {} beside {}",
                                    op.kind,
                                    session_.name_of(device_),
                                    session_.name_of(load_.device)));
        MeasureOp(*item);
      }
    }
    SetClasses();
    MeasureClasses(items);
  }

 private:
  KindCosts& Costs() { return KindIn(session_.table(), session_.kind_of(device_)); }

  double Alone(const OpItems::Item& item) {
    const OpMeasurement* op = Costs().Find(item.signature);
    return op != nullptr && op->isolated ? op->isolated->median : 0;
  }

  LoneOp OpOf(const OpItems::Item& item, int device) const {
    const auto bytes_of = [&](const std::vector<int>& tensors) {
      return StorageBytes(*item.graph, tensors);
    };
    const Op& op = item.graph->op(item.op);
    return {device, WorkOf(*item.graph, item.op), bytes_of(op.inputs), bytes_of(op.outputs)};
  }

  std::optional<Interference> Figures(const LoneOp& lone) {
    BenchOp op = bench_.Prepare(lone);
    const auto suffers = bench_.Beside(op, load_), makes_suffer = bench_.Beside(load_, op);
    if (!suffers || !makes_suffer) return std::nullopt;
    return Interference{Figure(suffers->excess()), Figure(makes_suffer->excess() / load_on_load_)};
  }

  void MeasureOp(const OpItems::Item& item) {
    session_.Try({device_, load_.device}, "interference of " + item.signature, [&] {
      const auto figures = Figures(OpOf(item, device_));
      if (figures) OpIn(Costs(), *Costs().Find(item.signature)).interference = figures;
    });
  }

  void SetClasses() {
    struct Sums {
      double weight = 0, sensitivity = 0, pressure = 0;
    };
    std::map<std::string, Sums> sums;
    for (const OpMeasurement& op : Costs().ops) {
      if (!op.interference || !op.isolated) continue;
      Sums& sum = sums[std::string(ToString(op.op_class))];
      const double weight = op.isolated->median;
      sum.weight += weight;
      sum.sensitivity += weight * InterferenceNumber(op.interference->sensitivity);
      sum.pressure += weight * InterferenceNumber(op.interference->pressure);
    }
    std::map<std::string, Interference>& classes = Costs().kind.interference;
    for (const auto& [name, sum] : sums) {
      if (!(sum.weight > 0) || name == ToString(OpClass::kView)) continue;
      classes[name] = {Figure(sum.sensitivity / sum.weight), Figure(sum.pressure / sum.weight)};
    }
    if (classes.contains(kTransferClass) || session_.IsStopped()) return;
    session_.Try({device_, load_.device}, "interference of copies", [&] {
      if (const auto figures = Figures(CopyOf(device_, kTransferBytes))) {
        Costs().kind.interference[kTransferClass] = *figures;
      }
    });
  }

  // The heaviest op of each class beside that of each other, as a check of the model.
  void MeasureClasses(const std::vector<const OpItems::Item*>& items) {
    std::vector<const OpItems::Item*> heaviest;
    std::vector<OpClass> classes;
    for (const OpItems::Item* item : items) {
      const OpMeasurement& op = *Costs().Find(item->signature);
      if (!op.interference || heaviest.size() == kMostClasses) continue;
      if (std::ranges::find(classes, op.op_class) != classes.end()) continue;
      heaviest.push_back(item);
      classes.push_back(op.op_class);
    }
    for (size_t a = 0; a < heaviest.size(); ++a) {
      for (size_t b = 0; b < heaviest.size() && !session_.IsStopped(); ++b) {
        MeasurePair(*heaviest[a], *heaviest[b]);
      }
    }
  }

  void MeasurePair(const OpItems::Item& victim, const OpItems::Item& aggressor) {
    const OpMeasurement &a = *Costs().Find(victim.signature),
                        &b = *Costs().Find(aggressor.signature);
    const std::string first = NameOf(session_, device_, ToString(a.op_class)),
                      second = NameOf(session_, load_.device, ToString(b.op_class));
    if (Find(session_.table(), first, second) != nullptr) return;
    session_.Report(first + " beside " + second);
    const double modelled = 1 + InterferenceNumber(a.interference->sensitivity) *
                                    InterferenceNumber(b.interference->pressure);
    session_.Try({device_, load_.device}, first + " beside " + second, [&] {
      BenchOp on_device = bench_.Prepare(OpOf(victim, device_));
      const BenchOp beside = bench_.Prepare(OpOf(aggressor, load_.device));
      const auto measured = bench_.Beside(on_device, beside);
      if (!measured) return;
      session_.table().interference.push_back(
          {first, second, measured->factor, measured->low, measured->high, modelled});
    });
  }

  ProfilingSession& session_;
  InterferenceBench bench_;
  const int device_;
  BenchOp load_;  // of the neighbour
  const double load_on_load_;
};

}  // namespace

bool AreNeighbors(const CostTable& table, const std::string& a, const std::string& b) {
  const auto slows = [&](const std::string& victim, const std::string& aggressor) {
    const Slowdown* slowdown =
        Find(table, fmt::format("{} {}", victim, kLoad), fmt::format("{} {}", aggressor, kLoad));
    return slowdown != nullptr && slowdown->factor >= kLeastSlowdown && slowdown->low > 1;
  };
  return slows(a, b) || slows(b, a);
}

void MeasureInterference(ProfilingSession& session, const OpItems& ops) {
  MeasureLoads(session);
  for (const int device : session.representatives()) {
    if (session.IsStopped()) return;
    const std::optional<int> neighbor = WorstNeighbor(session, session.table(), device);
    if (neighbor) KindInterference(session, device, *neighbor).Measure(ops);
  }
}

}  // namespace emplace
