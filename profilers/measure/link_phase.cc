#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "profilers/measure/calibrated_cluster.h"
#include "profilers/measure/cost_table_entries.h"
#include "profilers/measure/phases.h"
#include "profilers/statistics/link_fit.h"

namespace emplace {
namespace {

constexpr std::int64_t kContentionBytes = std::int64_t{16} << 20;
// Two busy links are timed briefly: there are many pairs, and a few percent do not matter.
const StoppingRule kContentionRule{.precision = 0.02,
                                   .min_samples = 5,
                                   .max_samples = 50,
                                   .max_seconds = 0.05};
// For progress: timing a link alone takes about as long as timing this number of pairs.
constexpr size_t kPairsPerLink = 30;

std::vector<std::int64_t> LinkSizes(const ProfilingSession& session, const BackendLink& link) {
  const auto devices = session.backend().devices();
  const std::int64_t memory = std::min(devices[link.from].memory, devices[link.to].memory);
  const std::int64_t most =
      std::max<std::int64_t>(2, std::min(session.options().max_link_bytes, memory / 4));
  if (!session.options().links) {
    return {1, std::min<std::int64_t>(most, 1 << 16), std::min<std::int64_t>(most, 1 << 22)};
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 1; bytes <= most; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

// Returns "cpu:0->gpu:0", with the memory if a pair of devices has several links.
std::string LinkName(const Backend& backend, const BackendLink& link) {
  const auto links = backend.links();
  const auto siblings = std::count_if(links.begin(), links.end(), [&](const BackendLink& other) {
    return other.from == link.from && other.to == link.to;
  });
  const std::string name = ChannelName(backend, link);
  return siblings > 1 ? fmt::format("{} ({})", name, link.memory) : name;
}

void MeasureLink(ProfilingSession& session, int index) {
  const BackendLink& link = session.backend().links()[index];
  const std::string &from = session.name_of(link.from), &to = session.name_of(link.to);
  CostTable& table = session.table();
  if (FindLink(table, from, to, link.memory) == nullptr) {
    table.links.push_back({.from = from, .to = to, .memory = link.memory});
  }
  LinkMeasurement& measured = *FindLink(table, from, to, link.memory);
  for (const std::int64_t bytes : LinkSizes(session, link)) {
    if (session.IsStopped()) break;
    const auto place =
        std::lower_bound(measured.points.begin(),
                         measured.points.end(),
                         bytes,
                         [](const auto& point, std::int64_t size) { return point.first < size; });
    if (place != measured.points.end() && place->first == bytes) continue;
    const std::string what =
        fmt::format("copies of at least {} B over {}", bytes, LinkName(session.backend(), link));
    const bool is_done = session.Try({link.from, link.to}, what, [&] {
      const Sampler sampler = session.backend().CopySampler(index, bytes);
      measured.points.insert(place, {bytes, MeasureUntilStable(sampler, session.options().rule)});
    });
    if (!is_done) break;
  }
  if (measured.points.size() < 2) return;
  std::vector<LinkPoint> points;
  for (const auto& [bytes, timing] : measured.points) {
    points.push_back({static_cast<double>(bytes), std::max(1.0, timing.median)});
  }
  measured.ranges = FitLink(points);
  measured.max_relative_error = MaxRelativeError(measured.ranges, points);
}

void MeasureContention(ProfilingSession& session, int victim) {
  Backend& backend = session.backend();
  const auto links = backend.links();
  const std::string name = LinkName(backend, links[victim]);
  const std::int64_t bytes = std::min(kContentionBytes, LinkSizes(session, links[victim]).back());
  std::vector<Slowdown>& known = session.table().link_contention;
  const auto time = [&](std::optional<int> beside) {
    return MeasureUntilStable(backend.CopySampler(victim, bytes, beside), kContentionRule).median;
  };
  double alone = 0;
  for (int aggressor = 0; aggressor < static_cast<int>(links.size()); ++aggressor) {
    if (aggressor == victim || session.IsStopped()) continue;
    const std::string other = LinkName(backend, links[aggressor]);
    if (FindSlowdown(known, name, other) != nullptr) continue;
    const std::string what = fmt::format("copies over {} beside {}", name, other);
    session.Try({links[victim].from, links[victim].to}, what, [&] {
      if (alone == 0) alone = std::max(1.0, time({}));
      known.push_back({name, other, time(aggressor) / alone});
    });
  }
}

}  // namespace

void MeasureLinks(ProfilingSession& session) {
  const Backend& backend = session.backend();
  const size_t num_links = backend.links().size();
  const size_t pairs = session.options().links && num_links > 0 ? num_links * (num_links - 1) : 0;
  const size_t total = num_links * kPairsPerLink + pairs;
  size_t done = 0;
  const auto advance = [&](const std::string& note) {
    session.Advance("links", done, total, note);
  };
  for (size_t link = 0; link < num_links && !session.IsStopped(); ++link, done += kPairsPerLink) {
    advance(LinkName(backend, backend.links()[link]));
    MeasureLink(session, static_cast<int>(link));
  }
  if (pairs == 0) return;
  for (size_t victim = 0; victim < num_links && !session.IsStopped(); ++victim) {
    advance("contention on " + LinkName(backend, backend.links()[victim]));
    MeasureContention(session, static_cast<int>(victim));
    done += num_links - 1;
  }
}

}  // namespace emplace
