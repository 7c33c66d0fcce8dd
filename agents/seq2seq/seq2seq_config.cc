#include "agents/seq2seq/seq2seq_config.h"

namespace emplace {

Seq2SeqConfig::Seq2SeqConfig() {
  network.logit_bound = 5;
  learning.samples = 4;
  learning.reward.transform = "sqrt";
  learning.baseline.method = "leave_one_out";
  learning.normalize_advantages = true;
  learning.entropy_weight = 0.01;
  learning.entropy_control = {.begin = 3, .share = 0.3, .rate = 0.05};
  learning.imitation_weight = 0.3;
  learning.patience = 40;
  learning.start.fresh_share = 0.7;
  learning.optimizer.method = "adam";
  learning.optimizer.schedule.learning_rate = 4e-3;
}

void Seq2SeqConfig::Visit(FieldVisitor& v) {
  network.Visit(v);
  learning.Visit(v);
  learning.start.Visit(v);
  learning.VisitEntropyControl(v);
  v.Group("ppo",
          "more steps on one batch; 1 epoch: plain policy gradient",
          [this](FieldVisitor& g) { learning.ppo.Visit(g); });
  v.Field("controllers",
          learning.controllers,
          Between(1, 1000),
          "learners that take turns with parameters that are older by as many updates, less one");
  v.Field("policy",
          policy,
          "file of a trained policy to start from, whose settings are those that are not given; "
          "empty: random weights");
  v.Field("updates",
          updates,
          AtLeast(-1),
          "updates before one greedy placement ends the search; -1: until the budget ends");
}

}  // namespace emplace
