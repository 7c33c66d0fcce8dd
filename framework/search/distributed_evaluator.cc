#include "framework/search/distributed_evaluator.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/interrupt.h"
#include "framework/base/raw_stream.h"
#include "framework/search/outcome_table.h"

namespace emplace {
namespace {

// Engines evaluate at most this many placements together, so pieces begin at multiples of it.
constexpr std::size_t kBlock = 16;
constexpr std::uint64_t kPeriodShare = 16;

// How a search or a piece ended, as exchanged by the ranks.
enum class Ending : std::uint8_t { kDone, kInputError, kInterrupted, kOther };

struct Failure {
  Ending ending = Ending::kDone;
  std::string text;
};

Failure CatchFailure(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const InputError& error) {
    return {Ending::kInputError, error.what()};
  } catch (const Interrupted& interrupted) {
    return {Ending::kInterrupted, interrupted.what()};
  } catch (const std::exception& error) {
    return {Ending::kOther, error.what()};
  }
}

void ThrowFailure(const Failure& failure) {
  if (failure.ending == Ending::kDone) return;
  if (failure.ending == Ending::kInputError) throw InputError(failure.text);
  if (failure.ending == Ending::kInterrupted) throw Interrupted();
  throw RunError(failure.text);
}

std::string TextOfPart(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Calls `copy` for the piece of each column in turn.
template <class Copy>
void ForColumns(const OutcomeColumns& columns,
                std::size_t num_devices,
                std::size_t first,
                std::size_t count,
                const Copy& copy) {
  const auto piece = [&](auto column, std::size_t width) {
    if (!column.empty()) copy(std::as_writable_bytes(column.subspan(first * width, count * width)));
  };
  piece(columns.step_time, 1);
  piece(columns.deficit, 1);
  piece(columns.peak, num_devices);
  piece(columns.busy, num_devices);
}

}  // namespace

DistributedEvaluator::DistributedEvaluator(Evaluator& local,
                                           ReplicatedSearch& replicated,
                                           std::uint64_t least_work)
    : ForwardingEvaluator(local), replicated_(replicated), least_work_(least_work) {
}

std::size_t DistributedEvaluator::PieceBegin(std::size_t size, int rank) const {
  const std::size_t blocks = (size + kBlock - 1) / kBlock;
  const auto num_ranks = static_cast<std::size_t>(replicated_.size());
  if (blocks < num_ranks) return size * static_cast<std::size_t>(rank) / num_ranks;
  return std::min(size, blocks * static_cast<std::size_t>(rank) / num_ranks * kBlock);
}

bool DistributedEvaluator::IsShared(std::size_t size, bool alone) {
  const Problem& problem = inner().problem();
  const bool is_period = problem.objective() == Objective::kPeriod;
  const std::uint64_t work =
      is_period ? size * static_cast<std::uint64_t>(problem.num_groups()) / kPeriodShare
                : size * static_cast<std::uint64_t>(problem.num_ops());
  evaluated_ = true;
  if (!alone && replicated_.size() > 1 && size > 1 && work >= least_work_) return true;
  history_ = Checksum(std::as_bytes(std::span(&size, 1)), history_);
  work_ += work;
  if (work_ >= kWorkBetweenMeetings) {
    replicated_.Meet({"evaluates", 0, history_});
    work_ = 0;
  }
  return false;
}

void DistributedEvaluator::BetweenSteps() {
  if (!std::exchange(evaluated_, false)) {
    replicated_.Meet({"begins a step", 0, history_});
    work_ = 0;
  }
}

template <class EvaluatePiece>
void DistributedEvaluator::Share(const Place& place,
                                 const OutcomeColumns& outcomes,
                                 const EvaluatePiece& evaluate) {
  const std::size_t size = place.count, num_devices = problem().num_devices();
  const auto begin = [&](int rank) { return PieceBegin(size, rank); };
  const std::size_t first = begin(replicated_.rank()), end = begin(replicated_.rank() + 1);
  const Failure failure = CatchFailure([&] {
    if (end > first) evaluate(first, end - first);
  });
  std::vector<std::byte> mine{static_cast<std::byte>(failure.ending)};
  if (failure.ending != Ending::kDone) {
    const auto text = std::as_bytes(std::span(failure.text));
    mine.insert(mine.end(), text.begin(), text.end());
  } else {
    ForColumns(outcomes, num_devices, first, end - first, [&](std::span<std::byte> piece) {
      mine.insert(mine.end(), piece.begin(), piece.end());
    });
  }
  history_ = place.checksum;
  work_ = 0;
  const Gathered all = replicated_.Meet(place, mine);
  for (int r = 0; r < replicated_.size(); ++r) {
    std::span<const std::byte> theirs = all.of(r);
    const auto ending = static_cast<Ending>(theirs.front());
    theirs = theirs.subspan(1);
    ThrowFailure({ending, TextOfPart(theirs)});
    if (r == replicated_.rank()) continue;
    ForColumns(
        outcomes, num_devices, begin(r), begin(r + 1) - begin(r), [&](std::span<std::byte> piece) {
          EMPLACE_CHECK(theirs.size() >= piece.size());
          std::ranges::copy(theirs.first(piece.size()), piece.begin());
          theirs = theirs.subspan(piece.size());
        });
  }
}

void DistributedEvaluator::Evaluate(std::span<const Placement> placements,
                                    std::span<Outcome> outcomes,
                                    const OutcomeDetail& detail) {
  const std::size_t size = placements.size(), num_devices = problem().num_devices();
  if (!IsShared(size, detail.channels || detail.op_times)) {
    inner().Evaluate(placements, outcomes, detail);
    return;
  }
  step_time_.resize(size);
  deficit_.resize(size);
  peak_.resize(size * num_devices);
  busy_.resize(size * num_devices);
  const OutcomeColumns columns{step_time_, deficit_, peak_, busy_};
  std::uint64_t checksum = history_;
  for (const Placement& placement : placements) {
    checksum = Checksum(std::as_bytes(std::span(placement.device)), checksum);
  }
  Share({"evaluates", size, checksum}, columns, [&](std::size_t first, std::size_t count) {
    inner().Evaluate(placements.subspan(first, count), outcomes.subspan(first, count));
    WriteColumns(outcomes.subspan(first, count), columns, first);
  });
  for (std::size_t i = 0; i < size; ++i) ReadOutcome(columns, i, problem(), outcomes[i]);
}

void DistributedEvaluator::EvaluateRows(const PlacementRows& placements,
                                        const OutcomeColumns& outcomes) {
  const std::size_t size = placements.num_placements, width = placements.num_groups;
  if (!IsShared(size)) {
    inner().EvaluateRows(placements, outcomes);
    return;
  }
  const std::uint64_t checksum =
      Checksum(std::as_bytes(std::span(placements.device, size * width)), history_);
  Share({"evaluates rows", size, checksum}, outcomes, [&](std::size_t first, std::size_t count) {
    const std::size_t num_devices = problem().num_devices();
    inner().EvaluateRows({placements.row(first), count, width},
                         PartOfColumns(outcomes, first, count, num_devices));
  });
}

void DistributedEvaluator::EvaluateNeighbors(const Neighbors& neighbors,
                                             const OutcomeColumns& outcomes) {
  const std::size_t size = neighbors.size();
  if (!IsShared(size)) {
    inner().EvaluateNeighbors(neighbors, outcomes);
    return;
  }
  const auto moves = neighbors.moves.subspan(neighbors.begin.front(),
                                             neighbors.begin.back() - neighbors.begin.front());
  std::uint64_t checksum = Checksum(std::as_bytes(std::span(neighbors.base.device)), history_);
  checksum = Checksum(std::as_bytes(neighbors.begin), checksum);
  for (const Move& move : moves)
    checksum = checksum * 0x100000001b3u + move.group * 256 + move.device;
  Share({"evaluates moves", size, checksum}, outcomes, [&](std::size_t first, std::size_t count) {
    const std::size_t num_devices = problem().num_devices();
    inner().EvaluateNeighbors(
        {neighbors.base, neighbors.begin.subspan(first, count + 1), neighbors.moves},
        PartOfColumns(outcomes, first, count, num_devices));
  });
}

void DistributedEvaluator::RunConcurrently(std::span<const ConcurrentSearch> searches) {
  const auto rank = static_cast<std::size_t>(replicated_.rank()),
             num_ranks = static_cast<std::size_t>(replicated_.size());
  std::vector<Failure> failures(searches.size());
  std::vector<ConcurrentSearch> mine;
  for (std::size_t i = rank; i < searches.size(); i += num_ranks) {
    EMPLACE_CHECK(searches[i].save && searches[i].load);
    mine.push_back({.run = [&search = searches[i], &failure = failures[i]](Evaluator& evaluator) {
      failure = CatchFailure([&] { search.run(evaluator); });
    }});
  }
  inner().RunConcurrently(mine);
  std::ostringstream out;
  for (std::size_t i = rank; i < searches.size(); i += num_ranks) {
    WriteRaw(out, failures[i].ending);
    WriteRawText(out, failures[i].text);
    if (failures[i].ending == Ending::kDone) searches[i].save(out);
  }
  evaluated_ = true;
  work_ = 0;
  const std::string saved = out.str();
  const Gathered all = replicated_.Meet({"runs searches", searches.size(), history_},
                                        std::as_bytes(std::span(saved)));
  history_ = Checksum(all.bytes, history_);
  for (std::size_t r = 0; r < num_ranks; ++r) {
    if (r == rank) continue;
    std::istringstream in(TextOfPart(all.of(static_cast<int>(r))));
    for (std::size_t i = r; i < searches.size(); i += num_ranks) {
      failures[i].ending = ReadRaw<Ending>(in);
      failures[i].text = ReadRawText(in);
      if (failures[i].ending == Ending::kDone) searches[i].load(in);
    }
  }
  for (const Failure& failure : failures) ThrowFailure(failure);
}

}  // namespace emplace
