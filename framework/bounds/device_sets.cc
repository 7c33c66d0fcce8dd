#include "framework/bounds/device_sets.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/bounds/set_cover.h"

namespace emplace {
namespace {

constexpr Nanos kFirstSteps = 8;  // of a bisection
// Bisections end at this share of the bound: that over all placements, searches, and proofs by
// parts.
constexpr Nanos kWholePrecision = 100, kSearchPrecision = 1000, kPartPrecision = 2000;
constexpr int kFirstEffort = 16, kMoreEffort = 4, kMostEffort = 16384;

class SetsSearch {
 public:
  SetsSearch(const CompiledPeriod& problem, Nanos least, Nanos known, const SetsProof& proof)
      : proof_(proof),
        cover_(problem, known, proof.stop),
        least_(least),
        known_(known),
        open_(known) {}

  void Run() {
    if (!cover_.usable()) return;
    Bisect(kWholePrecision, 0);
    limited_ = true;
    for (int effort = kFirstEffort; effort <= kMostEffort && limited_; effort *= kMoreEffort) {
      if (ended()) return;
      limited_ = false;
      Search(effort + cover_.num_devices());
      Bisect(kPartPrecision, effort);
    }
  }

 private:
  enum class Result { kRefuted, kFound, kOpen };

  bool ended() {
    stopped_ = stopped_ || proof_.stop();
    return stopped_ || least_ >= known_;
  }

  void Raise(Nanos bound) {
    if (bound <= least_) return;
    least_ = bound;
    proof_.told(bound);
  }

  // Returns whether the answer ends the attempt to refute a period or to find a placement with it.
  bool Decides(const SetCover::Answer& answer, Nanos period) {
    stopped_ = stopped_ || answer.result == SetCover::Answer::kStopped;
    if (proof_.found && !answer.device.empty()) {
      known_ = std::min(known_, proof_.found(answer.device));
    }
    return stopped_ || known_ <= period;
  }

  // Raises the bound, in steps that double and then halve, up to a period that is not refuted.
  void Bisect(Nanos precision, int splits) {
    open_ = known_;
    Nanos step = std::max<Nanos>(1, (open_ - least_) / kFirstSteps);
    while (!ended() && least_ < open_) {
      const bool fine = open_ - least_ <= least_ / precision;
      if (fine && open_ < known_) return;
      const Nanos period = fine ? known_ - 1 : std::min(least_ + step, open_ - 1);
      if (Refute(period, splits) == Result::kRefuted) {
        Raise(period + 1);
        step *= 2;
      } else {
        open_ = std::min(known_, period);
      }
      step = std::min(step, std::max<Nanos>(1, (open_ - least_) / 2));
    }
  }

  // Tries to prove that no placement has a period of at most `period`.
  // @param splits  limit of the parts that are split
  Result Refute(Nanos period, int splits) {
    std::vector<PlacementPart> open = parts_, refuted;
    while (!open.empty()) {
      PlacementPart part = std::move(open.back());
      open.pop_back();
      const SetCover::Answer answer = cover_.Solve(part, period, false);
      if (answer.result == SetCover::Answer::kRefuted) {
        refuted.push_back(std::move(part));
        continue;
      }
      if (Decides(answer, period) || !answer.pair) return Result::kOpen;
      if (splits-- == 0) {
        limited_ = true;
        return Result::kOpen;
      }
      // The more likely part comes first.
      for (const bool together : {!answer.pair->together, answer.pair->together}) {
        open.push_back(part);
        open.back().pairs.push_back(*answer.pair);
        open.back().pairs.back().together = together;
      }
    }
    parts_ = std::move(refuted);
    return Result::kRefuted;
  }

  // Searches for placements, by bisection between the periods that are not refuted and the known
  // one.
  // @param tries  limit of the sets that are taken for a period
  void Search(int tries) {
    Nanos low = open_;
    while (!ended() && known_ - low > std::max<Nanos>(1, low / kSearchPrecision)) {
      const Nanos period = low + (known_ - low) / 2;
      int left = tries;
      const Result result = Complete({}, period, left);
      if (result == Result::kFound) continue;
      low = period;
      if (result == Result::kRefuted) Raise(low = period + 1);
    }
  }

  // Takes likely sets one after another, each beside those of the part.
  Result Complete(PlacementPart part, Nanos period, int& tries) {
    const SetCover::Answer answer = cover_.Solve(part, period, true);
    if (answer.result == SetCover::Answer::kRefuted) return Result::kRefuted;
    if (Decides(answer, period)) return Result::kFound;
    for (const ClassSet& set : answer.likely) {
      if (tries-- <= 0) {
        limited_ = true;
        break;
      }
      PlacementPart next = part;
      next.taken.push_back(set);
      if (Complete(std::move(next), period, tries) == Result::kFound) return Result::kFound;
    }
    return Result::kOpen;
  }

  const SetsProof& proof_;
  SetCover cover_;
  Nanos least_, known_;
  Nanos open_;                           // the least period that the last bisection did not refute
  std::vector<PlacementPart> parts_{1};  // contain every placement
  bool stopped_ = false;
  bool limited_ = false;  // the effort was too little for some period
};

}  // namespace

void ProveByDeviceSets(const CompiledPeriod& problem,
                       Nanos least,
                       Nanos known,
                       const SetsProof& proof) {
  if (least < known) SetsSearch(problem, least, known, proof).Run();
}

}  // namespace emplace
