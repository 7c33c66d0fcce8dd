#include "agents/shared/policy_file.h"

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/file.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("the settings stand after the policy, without those that say where weights come from") {
  const TempDir folder;
  const std::string path = (folder / "a.policy").string(),
                    words = "emplace-policy 1 placeto\n1 2\n";
  const std::string settings =
      "start: [heft]\npolicy: b.policy\nnetwork: random\nppo: {epochs: 2}\n";
  WriteFileAtomically(path, PolicyFileText(words, settings));
  CHECK(ReadFile(path).starts_with(words + "settings\nstart:"));
  const std::optional<ConfigNode> found = TrainedSettings(path, "placeto");
  REQUIRE(found);
  CHECK(found->Keys() == std::vector<std::string>{"start", "ppo"});
  CHECK(found->At("ppo").At("epochs").AsInt() == 2);
  CHECK(found->At("start").Where().starts_with(path + ", settings:"));

  CHECK_FALSE(TrainedSettings(path, "seq2seq"));
  CHECK_FALSE(TrainedSettings("", "placeto"));
  CHECK_FALSE(TrainedSettings("default", "placeto"));
  CHECK_FALSE(TrainedSettings((folder / "none").string(), "placeto"));
  WriteFileAtomically(path, words);  // of an earlier version
  CHECK_FALSE(TrainedSettings(path, "placeto"));
}

}  // namespace
