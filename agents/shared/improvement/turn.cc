#include "agents/shared/improvement/turn.h"

#include <sstream>

#include "agents/shared/improvement/counted_evaluator.h"
#include "framework/base/raw_stream.h"

namespace emplace {

SearchAbreast MakeTurn(ImprovementAgent& agent, std::int64_t enough, Turn& turn) {
  return {.run =
              [&agent, &turn, enough](Evaluator& own) {
                CountedEvaluator counted(own);
                const Score before = agent.best().score;
                do {
                  agent.Step(counted);
                } while (counted.count() < enough);
                turn = {counted.count(), agent.best().score >= before};
              },
          .save =
              [&agent, &turn](std::ostream& out) {
                std::ostringstream state;
                agent.Save(state);
                WriteRaw(out, turn.evaluations);
                WriteRaw(out, turn.stale);
                WriteRawText(out, state.str());
              },
          .load =
              [&agent, &turn](std::istream& in) {
                turn.evaluations = ReadRaw<std::int64_t>(in);
                turn.stale = ReadRaw<bool>(in);
                std::istringstream state(ReadRawText(in));
                agent.Load(state);
              }};
}

}  // namespace emplace
