#include "experiments/report/plan_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "experiments/report/report_page.h"
#include "experiments/report/timeline_picture.h"

namespace emplace {
namespace {

constexpr double kWidth = 1280, kLeft = 150, kRight = 96;
constexpr double kBar = 24, kCurve = 20, kGap = 7, kHead = 22;
constexpr int kBuckets = 600;  // of memory curves

using Rgb = std::array<int, 3>;
struct PassStyle {
  const char* name;
  Rgb light, dark;  // of the first and the last micro-batch
};
constexpr std::array<PassStyle, 4> kStyles = {{{"forward", {219, 234, 250}, {92, 158, 222}},
                                               {"backward", {253, 230, 201}, {233, 140, 66}},
                                               {"update", {187, 178, 205}, {187, 178, 205}},
                                               {"collective", {128, 203, 170}, {128, 203, 170}}}};

PassKind KindOf(const Graph& graph, const PlannedOp& origin, int op) {
  if (origin.role == PlannedRole::kCollective) return PassKind::kReduce;
  switch (graph.op(op).phase) {
    case Phase::kForward:
      return PassKind::kForward;
    case Phase::kBackward:
      return PassKind::kBackward;
    default:
      return PassKind::kUpdate;
  }
}

std::string ColourOf(const DrawnPass& pass, int num_micro_batches) {
  const PassStyle& style = kStyles[static_cast<int>(pass.kind)];
  const double share =
      num_micro_batches < 2 ? 0.5 : std::max(0, pass.micro_batch) / (num_micro_batches - 1.0);
  const auto mix = [&](int i) {
    return static_cast<int>(std::lround(style.light[i] + share * (style.dark[i] - style.light[i])));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2));
}

std::string LetterOf(int part) {
  return std::string(1, static_cast<char>('a' + std::min(part, 25)));
}

// A row of the picture: a device in use.
struct DrawnRow {
  int place;  // replica, kCpus or kNetworks
  int stage;  // of the replica
  int device;
};
constexpr int kCpus = kMaxDevices, kNetworks = kMaxDevices + 1;

// Sets the part of each pass: a micro-batch that comes back to a device, after passes on another
// device, is in the next virtual stage.
void NumberParts(std::vector<DrawnPass>& passes) {
  std::vector<DrawnPass*> order;
  for (DrawnPass& pass : passes) {
    if (pass.kind == PassKind::kForward || pass.kind == PassKind::kBackward) order.push_back(&pass);
  }
  std::ranges::stable_sort(order, {}, &DrawnPass::start);
  using Key = std::tuple<PassKind, int, int>;              // kind, replica, micro-batch
  std::map<Key, int> last;                                 // device of the pass before
  std::map<std::pair<Key, int>, int> visited;              // by device: part of the pass before
  std::map<std::pair<int, PassKind>, int> last_of_device;  // last part of any micro-batch
  for (DrawnPass* pass : order) {
    const Key key(pass->kind, pass->replica, pass->micro_batch);
    const auto [part, is_first] = visited.try_emplace({key, pass->device}, 0);
    if (!is_first && last.at(key) != pass->device) ++part->second;
    last[key] = pass->device;
    pass->part = part->second;
    int& most = last_of_device[{pass->device, pass->kind}];
    most = std::max(most, pass->part);
  }
  for (DrawnPass* pass : order) {
    if (pass->kind == PassKind::kBackward) {
      pass->part = last_of_device.at({pass->device, pass->kind}) - pass->part;
    }
  }
}

class PlanPicture {
 public:
  PlanPicture(const Problem& problem,
              std::span<const PlannedOp> origin,
              const Timeline& timeline,
              std::string_view title)
      : cluster_(problem.cluster()),
        passes_(MergePasses(problem.graph(), origin, timeline)),
        curves_(DrawMemory(timeline, cluster_.num_devices(), kBuckets)),
        step_(std::max<Nanos>(1, timeline.outcome.step_time)) {
    for (const DrawnPass& pass : passes_) {
      num_micro_batches_ = std::max(num_micro_batches_, pass.micro_batch + 1);
      num_parts_ = std::max(num_parts_, pass.part + 1);
    }
    OrderRows();
    for (const MemoryCurve& curve : curves_) {
      for (const std::int64_t bytes : curve.bytes) most_bytes_ = std::max(most_bytes_, bytes);
    }
    Head(title);
    for (const DrawnRow& row : rows_) AddRow(row);
    AddAxis();
  }

  std::string Text() const {
    return fmt::format(
        R"svg(<svg xmlns="http://www.w3.org/2000/svg" class="plan-picture" width="{0}" height="{1}" viewBox="0 0 {0} {1}">
<style>
.plan-picture {{ font-family: system-ui, DejaVu Sans, sans-serif; }}
.plan-picture text {{ fill: var(--ink, #1d2330); font-size: 12px; dominant-baseline: central; }}
.plan-picture .soft {{ fill: var(--soft, #5c6675); }}
.plan-picture .bold {{ font-weight: 600; }}
.plan-picture .over {{ fill: #b3261e; }}
.plan-picture .number {{ fill: #10131a; text-anchor: middle; pointer-events: none; }}
.plan-picture .pass {{ stroke: var(--card, #fff); stroke-width: 0.6; }}
.plan-picture .thin {{ stroke: none; }}
.plan-picture .curve {{ fill: var(--soft, #5c6675); fill-opacity: 0.35; }}
.plan-picture .line {{ fill: none; stroke: var(--line, #d9dee6); }}
</style>
<rect width="{0}" height="{1}" style="fill: var(--card, #fff)"/>
{2}</svg>
)svg",
        kWidth,
        y_,
        body_);
  }

 private:
  double X(Nanos time) const {
    return kLeft +
           (kWidth - kLeft - kRight) * static_cast<double>(time) / static_cast<double>(step_);
  }

  void Label(double x, double y, std::string_view text, const char* classes, const char* anchor) {
    body_ += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" class="{}" text-anchor="{}">{}</text>)",
                         x,
                         y,
                         classes,
                         anchor,
                         EscapeHtml(text));
  }

  DeviceClass ClassOf(int device) const { return cluster_.kind_of(device).device_class; }

  // Stages are on GPUs, if there are any. CPUs beside them, which replicas share, come after them,
  // and then the network.
  void OrderRows() {
    const bool has_gpus = std::ranges::any_of(
        passes_, [&](const DrawnPass& pass) { return ClassOf(pass.device) == DeviceClass::kGpu; });
    std::map<int, std::pair<int, Nanos>> uses;  // device -> replica, begin of its forward passes
    for (const DrawnPass& pass : passes_) {
      auto& [replica, first] = uses.try_emplace(pass.device, -1, kMaxNanos).first->second;
      replica = std::max(replica, pass.replica);
      if (pass.kind == PassKind::kForward) first = std::min(first, pass.start);
    }
    std::vector<std::tuple<int, Nanos, int>> order;  // replica, first, device
    for (const auto& [device, use] : uses) {
      int place = use.first;
      if (has_gpus && ClassOf(device) == DeviceClass::kCpu) place = kCpus;
      if (ClassOf(device) == DeviceClass::kNetwork) place = kNetworks;
      if (place < kCpus) num_replicas_ = std::max(num_replicas_, place + 1);
      order.emplace_back(place, use.second, device);
    }
    std::ranges::sort(order);
    for (const auto& [place, first, device] : order) {
      const int before = rows_.empty() || rows_.back().place != place ? -1 : rows_.back().stage;
      rows_.push_back({place, before + 1, device});
    }
  }

  void Head(std::string_view title) {
    if (!title.empty()) {
      Label(kLeft, y_ + 12, title, "bold", "start");
      y_ += kHead;
    }
    double x = kLeft;
    for (std::size_t kind = 0; kind < kStyles.size(); ++kind) {
      const bool used = std::ranges::any_of(passes_, [&](const DrawnPass& pass) {
        return static_cast<std::size_t>(pass.kind) == kind;
      });
      if (!used) continue;
      DrawnPass sample{.kind = static_cast<PassKind>(kind), .micro_batch = num_micro_batches_ / 2};
      body_ += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="12" height="12" fill="{}"/>)",
                           x,
                           y_ + 5,
                           ColourOf(sample, num_micro_batches_));
      const std::string name = kStyles[kind].name;
      Label(x + 17, y_ + 11, name, "", "start");
      x += 32 + 7.0 * static_cast<double>(name.size());
    }
    const std::string letters = num_parts_ > 1 ? "; letters: virtual stages" : "";
    Label(
        x, y_ + 11, "numbers: micro-batches" + letters + "; grey: memory in use", "soft", "start");
    y_ += kHead;
  }

  void AddRow(const DrawnRow& row) {
    if (row.place < kCpus && row.stage == 0 && num_replicas_ > 1) {
      Label(8, y_ + 10, fmt::format("replica {}", row.place), "bold", "start");
      y_ += kHead;
    }
    if (row.place < kCpus) Label(8, y_ + kBar / 2, fmt::format("stage {}", row.stage), "", "start");
    Label(kLeft - 8, y_ + kBar / 2, cluster_.device(row.device).name, "soft", "end");
    for (const DrawnPass& pass : passes_) {
      if (pass.device == row.device) AddPass(pass);
    }
    y_ += kBar;
    if (row.place != kNetworks && !curves_[row.device].bytes.empty()) AddCurve(row.device);
    y_ += kGap;
  }

  void AddPass(const DrawnPass& pass) {
    const double left = X(pass.start), width = X(pass.finish) - left;
    const std::string what = kStyles[static_cast<int>(pass.kind)].name;
    std::string told = what;
    if (pass.micro_batch >= 0) told += fmt::format(" of micro-batch {}", pass.micro_batch);
    if (num_parts_ > 1) told += fmt::format(", virtual stage {}", LetterOf(pass.part));
    if (pass.replica >= 0 && num_replicas_ > 1) told += fmt::format(", replica {}", pass.replica);
    told += fmt::format(": {} to {}, busy {}",
                        FormatTime(pass.start),
                        FormatTime(pass.finish),
                        FormatTime(pass.busy));
    if (pass.recompute > 0) told += ", recomputation " + FormatTime(pass.recompute);
    body_ += fmt::format(
        R"(<rect class="pass{}" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{}" fill="{}"><title>{}</title></rect>)",
        width < 3 ? " thin" : "",
        left,
        y_,
        std::max(width, 1.0),
        kBar,
        ColourOf(pass, num_micro_batches_),
        told);
    if (pass.kind == PassKind::kReduce) return;  // communicators overlap
    std::string text = pass.micro_batch >= 0 ? std::to_string(pass.micro_batch) : what;
    if (num_parts_ > 1 && pass.micro_batch >= 0) text += LetterOf(pass.part);
    if (width < 7.0 * static_cast<double>(text.size()) + 3) return;
    body_ += fmt::format(R"(<text class="number" x="{:.1f}" y="{:.1f}">{}</text>)",
                         left + width / 2,
                         y_ + kBar / 2 + 0.5,
                         text);
  }

  void AddCurve(int device) {
    const MemoryCurve& curve = curves_[device];
    const double bottom = y_ + kCurve;
    const auto height = [&](std::int64_t bytes) {
      return (kCurve - 2) * static_cast<double>(bytes) /
             static_cast<double>(std::max<std::int64_t>(1, most_bytes_));
    };
    std::string path = fmt::format("M{:.1f} {:.1f}", X(curve.time[0]), bottom);
    for (std::size_t i = 0; i < curve.time.size(); ++i) {
      path += fmt::format("V{:.1f}H{:.1f}",
                          bottom - height(curve.bytes[i]),
                          X(i + 1 < curve.time.size() ? curve.time[i + 1] : step_));
    }
    body_ += fmt::format(R"(<path class="curve" d="{}V{:.1f}Z"/>)", path, bottom);
    const std::int64_t peak = *std::ranges::max_element(curve.bytes);
    Label(kWidth - kRight + 8,
          y_ + kCurve / 2,
          FormatBytes(peak),
          peak > cluster_.device(device).memory ? "over" : "soft",
          "start");
    y_ += kCurve;
  }

  void AddAxis() {
    const double tenth = std::pow(10, std::floor(std::log10(static_cast<double>(step_) / 4)));
    double tick = tenth;
    for (const double factor : {2.0, 5.0}) {
      if (static_cast<double>(step_) / (factor * tenth) >= 4) tick = factor * tenth;
    }
    body_ += fmt::format(R"(<path class="line" d="M{:.1f} {:.1f}H{:.1f}"/>)", X(0), y_, X(step_));
    for (double at = 0; at <= static_cast<double>(step_); at += tick) {
      const auto time = static_cast<Nanos>(at);
      body_ += fmt::format(R"(<path class="line" d="M{:.1f} {:.1f}v5"/>)", X(time), y_);
      Label(X(time), y_ + 14, FormatTime(time), "soft", "middle");
    }
    y_ += 26;
  }

  const Cluster& cluster_;
  std::vector<DrawnPass> passes_;
  std::vector<MemoryCurve> curves_;
  Nanos step_;
  int num_micro_batches_ = 0, num_replicas_ = 0, num_parts_ = 1;
  std::int64_t most_bytes_ = 0;
  std::vector<DrawnRow> rows_;
  double y_ = 6;
  std::string body_;
};

}  // namespace

std::vector<DrawnPass> MergePasses(const Graph& graph,
                                   std::span<const PlannedOp> origin,
                                   const Timeline& timeline) {
  std::map<std::pair<int, int>, std::vector<const OpEvent*>> slots;
  for (const OpEvent& event : timeline.ops) {
    if (event.finish > event.start) slots[{event.device, event.slot}].push_back(&event);
  }
  int num_micro_batches = 1;
  for (const PlannedOp& op : origin) {
    num_micro_batches = std::max(num_micro_batches, op.micro_batch + 1);
  }
  const Nanos pause = timeline.outcome.step_time / 100 / num_micro_batches;
  std::vector<DrawnPass> passes;
  for (auto& [slot, events] : slots) {
    std::ranges::sort(events, {}, &OpEvent::start);
    for (const OpEvent* event : events) {
      const PlannedOp& from = origin[event->op];
      DrawnPass pass{.device = slot.first,
                     .slot = slot.second,
                     .kind = KindOf(graph, from, event->op),
                     .replica = from.replica,
                     .micro_batch = from.micro_batch,
                     .start = event->start};
      const bool goes_on = !passes.empty() && passes.back().device == pass.device &&
                           passes.back().slot == pass.slot && passes.back().kind == pass.kind &&
                           passes.back().replica == pass.replica &&
                           passes.back().micro_batch == pass.micro_batch &&
                           event->start - passes.back().finish <= pause;
      DrawnPass& drawn = goes_on ? passes.back() : passes.emplace_back(pass);
      drawn.finish = event->finish;
      drawn.busy += event->finish - event->start;
      if (from.role == PlannedRole::kRecompute) drawn.recompute += event->finish - event->start;
    }
  }
  NumberParts(passes);
  return passes;
}

std::string FormatPlanPicture(const Problem& problem,
                              std::span<const PlannedOp> origin,
                              const Timeline& timeline,
                              std::string_view title) {
  return PlanPicture(problem, origin, timeline, title).Text();
}

}  // namespace emplace
