#include "profilers/measure/interference_phase.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/cluster/interference.h"
#include "framework/cluster/op_class.h"
#include "profilers/measure/cost_table_entries.h"
#include "profilers/statistics/sampling.h"

namespace emplace {
namespace {

constexpr std::int64_t kLoadBytes = std::int64_t{64} << 20, kTransferBytes = std::int64_t{1} << 20;
// Brief, because there are many pairs and a few percent do not matter.
constexpr StoppingRule kBesideRule{.precision = 0.02,
                                   .min_samples = 5,
                                   .max_samples = 50,
                                   .max_seconds = 0.03,
                                   .slow_samples = 5};
// Longer, because these timings decide which devices are neighbours.
constexpr StoppingRule kLoadRule{.precision = 0.01,
                                 .min_samples = 20,
                                 .max_samples = 60,
                                 .max_seconds = 0.5,
                                 .slow_samples = 20};
// Isolated times are measured again after this time, because clocks and other programs change [s].
constexpr double kKeepsFor = 2;
constexpr const char* kLoad = "load";
// The panel (see KindInterference) has the heaviest op of this number of classes.
constexpr size_t kMostClasses = 4;

LoneOp CopyOf(int device, std::int64_t bytes) {
  const TensorView view = ContiguousView(DType::kF32, {bytes / 4});
  return {device,
          {.calls = {{.kind = KernelKind::kCopy,
                      .inputs = {{false, 0, view}},
                      .outputs = {{true, 0, view}}}}},
          {bytes},
          {bytes}};
}

// The time while another op runs, relative to the time alone.
struct Measured {
  double factor = 1, low = 1, high = 1;
};

// A prepared op that runs concurrently with others, with its recent time alone.
struct BenchOp {
  std::shared_ptr<PreparedOp> op;
  Timing alone;
  double measured_at = -kKeepsFor;  // [s] of the session
};

class InterferenceBench {
 public:
  explicit InterferenceBench(ProfilingSession& session, const StoppingRule& rule = kBesideRule)
      : session_(session), rule_(rule) {}

  BenchOp Prepare(const LoneOp& op) { return {.op = session_.backend().Prepare(op)}; }

  // Returns nullopt if the devices share nothing.
  std::optional<Measured> Beside(BenchOp& victim, const BenchOp& aggressor) {
    const auto sampler = session_.backend().BesideSampler(victim.op, aggressor.op);
    if (!sampler) return std::nullopt;
    const Timing beside = MeasureUntilStable(*sampler, rule_);
    const Timing& alone = Alone(victim);
    if (!(alone.low > 0)) return Measured{};
    return Measured{beside.median / alone.median, beside.low / alone.high, beside.high / alone.low};
  }

 private:
  const Timing& Alone(BenchOp& op) {
    if (session_.Elapsed() - op.measured_at >= kKeepsFor) {
      op.alone = MeasureUntilStable(session_.backend().AloneSampler(op.op), rule_);
      op.measured_at = session_.Elapsed();
    }
    return op.alone;
  }

  ProfilingSession& session_;
  const StoppingRule& rule_;
};

std::string NameOf(const ProfilingSession& session, int device, std::string_view what) {
  return fmt::format("{} {}", session.name_of(device), what);
}

// Measures the load of each device concurrently with that of each other device.
void MeasureLoads(ProfilingSession& session) {
  InterferenceBench bench(session, kLoadRule);
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
      if (d == e || FindSlowdown(table.interference, victim, other) != nullptr) continue;
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

// Returns the device whose load is slowed most by that of `device`; nullopt without neighbours.
std::optional<int> WorstNeighbor(const ProfilingSession& session,
                                 const CostTable& table,
                                 int device) {
  std::optional<int> worst;
  double largest = 0;
  for (int e = 0; e < static_cast<int>(session.backend().devices().size()); ++e) {
    if (e == device || !AreNeighbors(table, session.name_of(device), session.name_of(e))) continue;
    const Slowdown* slowdown =
        FindSlowdown(table.interference, NameOf(session, e, kLoad), NameOf(session, device, kLoad));
    if (slowdown == nullptr || slowdown->factor <= largest) continue;
    largest = slowdown->factor;
    worst = e;
  }
  return worst;
}

// Measures the interference of a device kind, on its first device and the worst neighbour of that.
//
// A set of ops, the panel, represents the activity of neighbours: the load, and the heaviest op of
// each of the classes that take most time. Every op runs concurrently with each op of the panel,
// and the slowdown of both is measured. Sensitivities and pressures are the least-squares fit of
// their products to the measured excesses.
class KindInterference {
 public:
  KindInterference(ProfilingSession& session, int device, int neighbor)
      : session_(session), bench_(session), device_(device), neighbor_(neighbor) {}

  void Measure(const OpItems& ops) {
    std::vector<const OpItems::Item*> items;
    for (const OpItems::Item& item : ops.items) {
      if (item.device == device_ && Alone(item) > 0) items.push_back(&item);
    }
    std::ranges::stable_sort(items, std::greater<>(), [&](const auto* i) { return Alone(*i); });
    if (!Costs().kind.interference.empty()) return;
    ChoosePanel(items);
    const double begin = session_.Elapsed();
    std::vector<const OpItems::Item*> measured;
    for (const OpItems::Item* item : items) {
      const bool is_late = session_.Elapsed() - begin > session_.options().interference_seconds;
      if (session_.IsStopped() || (is_late && measured.size() >= panel_.size())) break;
      session_.Report(fmt::format("{} on {} beside {}",
                                  Op(*item).kind,
                                  session_.name_of(device_),
                                  session_.name_of(neighbor_)));
      if (Run("interference of " + item->signature, LoneOpOf(*item, device_)))
        measured.push_back(item);
    }
    const bool has_transfers = Run("interference of copies", CopyOf(device_, kTransferBytes));
    const std::vector<Interference> figures = Fit();
    for (size_t i = 0; i < measured.size(); ++i) {
      OpIn(Costs(), Op(*measured[i])).interference = figures[i];
    }
    if (has_transfers) Costs().kind.interference[kTransferClass] = figures[measured.size()];
    SetClasses();
    TellPairs(measured, figures);
  }

 private:
  // An op of the panel, on either device. The load has no item.
  struct Yardstick {
    const OpItems::Item* item = nullptr;
    std::string name;  // its class
    BenchOp on_device, on_neighbor;
  };
  // The measurements of one op, by op of the panel.
  struct Row {
    std::vector<Measured> suffers;  // slowdown of the op by the panel's ops on the neighbour
    std::vector<Measured> presses;  // slowdown of the panel's ops on the neighbour by the op
  };

  KindCosts& Costs() { return KindIn(session_.table(), session_.kind_of(device_)); }
  const OpMeasurement& Op(const OpItems::Item& item) { return *Costs().Find(item.signature); }

  double Alone(const OpItems::Item& item) {
    const OpMeasurement* op = Costs().Find(item.signature);
    return op != nullptr && op->isolated ? op->isolated->median : 0;
  }

  void AddToPanel(const OpItems::Item* item, const std::string& name) {
    const auto lone = [&](int device) {
      return item != nullptr ? LoneOpOf(*item, device) : CopyOf(device, kLoadBytes);
    };
    session_.Try({device_, neighbor_}, "interference of " + name, [&] {
      panel_.push_back(
          {item, name, bench_.Prepare(lone(device_)), bench_.Prepare(lone(neighbor_))});
    });
  }

  // @param items  in descending order of time
  void ChoosePanel(const std::vector<const OpItems::Item*>& items) {
    AddToPanel(nullptr, kLoad);
    std::map<OpClass, double> time;
    for (const auto* item : items) time[Op(*item).op_class] += Alone(*item);
    std::vector<std::pair<double, OpClass>> classes;
    for (const auto& [op_class, nanos] : time) classes.emplace_back(nanos, op_class);
    std::ranges::stable_sort(classes, std::greater<>(), &std::pair<double, OpClass>::first);
    if (classes.size() > kMostClasses) classes.resize(kMostClasses);
    for (const auto& [nanos, op_class] : classes) {
      const auto heaviest = std::ranges::find_if(
          items, [&, c = op_class](const auto* item) { return Op(*item).op_class == c; });
      AddToPanel(*heaviest, std::string(ToString(op_class)));
    }
  }

  // Runs an op concurrently with each op of the panel. @return false if it failed
  bool Run(const std::string& what, const LoneOp& lone) {
    Row row;
    const bool is_done = session_.Try({device_, neighbor_}, what, [&] {
      BenchOp op = bench_.Prepare(lone);
      for (Yardstick& other : panel_) {
        row.suffers.push_back(bench_.Beside(op, other.on_neighbor).value_or(Measured{}));
        row.presses.push_back(bench_.Beside(other.on_neighbor, op).value_or(Measured{}));
      }
    });
    if (is_done) rows_.push_back(std::move(row));
    return is_done;
  }

  // Alternating least squares: fits the pressures of the panel to the sensitivities of all ops,
  // then vice versa, and so on. The first guess is close, so few rounds suffice.
  std::vector<Interference> Fit() {
    const size_t count = panel_.size();
    std::vector<double> pressure(count, 1);
    std::vector<double> sensitivity(rows_.size(), 0);
    for (int round = 0; round < 20; ++round) {
      for (size_t i = 0; i < rows_.size(); ++i) {
        sensitivity[i] = Ratio(rows_[i].suffers, pressure);
      }
      std::vector<double> next(count, 0), weight(count, 0);
      for (size_t i = 0; i < rows_.size(); ++i) {
        for (size_t k = 0; k < count; ++k) {
          next[k] += sensitivity[i] * (rows_[i].suffers[k].factor - 1);
          weight[k] += sensitivity[i] * sensitivity[i];
        }
      }
      for (size_t k = 0; k < count; ++k) {
        pressure[k] = weight[k] > 0 ? std::max(0.0, next[k] / weight[k]) : 0;
      }
      // The load's pressure is 1, by definition.
      const double scale = pressure[0];
      if (!(scale > 0)) return std::vector<Interference>(rows_.size());
      for (double& p : pressure) p /= scale;
    }
    // Sensitivities of the panel's ops as victims of one another.
    std::vector<double> of_panel(count, 0);
    for (size_t k = 0; k < count; ++k) of_panel[k] = PanelSensitivity(k, pressure);
    std::vector<Interference> figures;
    for (size_t i = 0; i < rows_.size(); ++i) {
      figures.push_back({NearestInterference(sensitivity[i]),
                         NearestInterference(Ratio(rows_[i].presses, of_panel))});
    }
    return figures;
  }

  // Returns the factor x >= 0 for which x * known is nearest to the excesses.
  static double Ratio(const std::vector<Measured>& measured, const std::vector<double>& known) {
    double product = 0, square = 0;
    for (size_t k = 0; k < known.size(); ++k) {
      product += known[k] * (measured[k].factor - 1);
      square += known[k] * known[k];
    }
    return square > 0 ? std::max(0.0, product / square) : 0;
  }

  // Returns the sensitivity of op k of the panel on the neighbour to the panel's ops on the device.
  double PanelSensitivity(size_t k, const std::vector<double>& pressure) {
    std::vector<Measured> suffers;
    for (Yardstick& aggressor : panel_) {
      const auto measured = bench_.Beside(panel_[k].on_neighbor, aggressor.on_device);
      suffers.push_back(measured.value_or(Measured{}));
    }
    return Ratio(suffers, pressure);
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
    for (const auto& [name, sum] : sums) {
      if (!(sum.weight > 0) || name == ToString(OpClass::kView)) continue;
      Costs().kind.interference[name] = {NearestInterference(sum.sensitivity / sum.weight),
                                         NearestInterference(sum.pressure / sum.weight)};
    }
  }

  // Writes the measured and the modelled factors for pairs of the panel's ops.
  void TellPairs(const std::vector<const OpItems::Item*>& measured,
                 const std::vector<Interference>& figures) {
    const auto row_of = [&](const OpItems::Item* item) {
      return std::ranges::find(measured, item) - measured.begin();
    };
    for (const Yardstick& victim : panel_) {
      const auto a = row_of(victim.item);
      if (a == std::ssize(measured)) continue;
      for (size_t k = 0; k < panel_.size(); ++k) {
        const auto b = row_of(panel_[k].item);
        if (b == std::ssize(measured)) continue;
        const Measured& seen = rows_[a].suffers[k];
        session_.table().interference.push_back({NameOf(session_, device_, victim.name),
                                                 NameOf(session_, neighbor_, panel_[k].name),
                                                 seen.factor,
                                                 seen.low,
                                                 seen.high,
                                                 1 + InterferenceNumber(figures[a].sensitivity) *
                                                         InterferenceNumber(figures[b].pressure)});
      }
    }
  }

  ProfilingSession& session_;
  InterferenceBench bench_;
  const int device_, neighbor_;
  std::vector<Yardstick> panel_;
  std::vector<Row> rows_;  // of the ops measured, then of the transfer
};

}  // namespace

bool AreNeighbors(const CostTable& table, const std::string& a, const std::string& b) {
  const auto slows = [&](const std::string& victim, const std::string& aggressor) {
    const Slowdown* slowdown = FindSlowdown(table.interference,
                                            fmt::format("{} {}", victim, kLoad),
                                            fmt::format("{} {}", aggressor, kLoad));
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
