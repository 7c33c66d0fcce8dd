#include "framework/cost/costs.h"

namespace emplace {

std::string_view ToString(Rung rung) {
  switch (rung) {
    case Rung::kMeasured:
      return "measured";
    case Rung::kNeighbour:
      return "neighbour";
    case Rung::kRoofline:
      return "roofline";
    case Rung::kDefault:
      return "default";
    case Rung::kFree:
      return "free";
  }
  return "";
}

}  // namespace emplace
