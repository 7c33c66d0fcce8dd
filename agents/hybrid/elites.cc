#include "agents/hybrid/elites.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "agents/genetic/crossover.h"

namespace emplace {

int DistanceBetween(const Problem& problem, const Placement& a, const Placement& b) {
  const Placement matched = MatchDevices(problem, a, b);
  int distance = 0;
  for (int g = 0; g < problem.num_groups(); ++g) distance += a.device[g] != matched.device[g];
  return distance;
}

void Elites::Insert(Elite elite) {
  auto nearest = members_.end();
  int least = INT_MAX;
  for (auto member = members_.begin(); member != members_.end(); ++member) {
    const bool equal = member->at.score == elite.at.score;
    const int distance =
        equal ? 0 : DistanceBetween(problem_, member->at.placement, elite.at.placement);
    if ((equal || distance < niche_) && distance < least) {
      nearest = member;
      least = distance;
    }
  }
  if (nearest == members_.end() && static_cast<int>(members_.size()) == most_) {
    nearest = members_.end() - 1;
  }
  if (nearest != members_.end()) {
    if (elite.at.score >= nearest->at.score) return;
    members_.erase(nearest);
  }
  const auto place = std::ranges::upper_bound(
      members_, elite.at.score, {}, [](const Elite& e) { return e.at.score; });
  members_.insert(place, std::move(elite));
}

bool Elites::TakeUnrefined(Elite& elite) {
  const auto found = std::ranges::find(members_, false, &Elite::refined);
  if (found == members_.end()) return false;
  elite = std::move(*found);
  members_.erase(found);
  return true;
}

bool Elites::Has(const Score& score) const {
  return std::ranges::any_of(members_, [&](const Elite& e) { return e.at.score == score; });
}

std::vector<const Placement*> Elites::placements() const {
  std::vector<const Placement*> all;
  for (const Elite& member : members_) all.push_back(&member.at.placement);
  return all;
}

void Elites::Save(StateWriter& writer) const {
  writer.Int(std::ssize(members_));
  for (const Elite& member : members_) {
    SaveScored(writer, member.at);
    writer.Int(member.refined);
  }
}

void Elites::Load(StateReader& reader) {
  members_.resize(reader.Int("a number of elites", 0, most_));
  for (Elite& member : members_) {
    member.at = LoadScored(reader);
    member.refined = reader.Flag();
  }
}

}  // namespace emplace
