#include "experiments/console/config_help.h"

#include <cstdlib>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

struct Recipe {
  std::string dish = "soup";
  double liters = 1.5;
  ConfigNode spices = ConfigNode::FromString("[salt]", "default");
  ConfigNode guests = ConfigNode::FromString("{ann: 2}", "default");
  ConfigNode pans = ConfigNode::FromString("[]", "default");
  int minutes = 30;
  std::string note;

  void Visit(FieldVisitor& v) {
    v.Field("dish", dish, "what to cook, and for how many of those who are hungry today");
    v.Field("liters", liters, "of water");
    v.Field("spices", spices, "a list");
    v.Field("guests", guests, "a map of them");
    v.Field("pans", pans, "which");
    v.Group("stove", "how hot", [this](FieldVisitor& s) {
      s.Field("minutes", minutes, "on it");
      s.AddedField("note", note, "", "on the door");
    });
  }
};

TEST_CASE("a config with every key reads back as it is") {
  const std::string text = WriteFields(Recipe(), /*whole=*/true);
  CHECK(text ==
        "dish: soup\n"
        "liters: 1.5\n"
        "spices:\n"
        "  - salt\n"
        "guests:\n"
        "  ann: 2\n"
        "pans: []\n"
        "stove:\n"
        "  minutes: 30\n"
        "  note: \"\"\n");
  const auto read = ReadFields<Recipe>(ConfigNode::FromString(text, "text"));
  CHECK(read.guests.At("ann").AsInt() == 2);
  CHECK(WriteFields(read, /*whole=*/true) == text);
}

TEST_CASE("the sentences of a config's keys are as wide as $COLUMNS") {
  CHECK(
      FormatConfigHelp("a recipe", DescribeFields<Recipe>())
          .find("\n# what to cook, and for how many of those who are hungry today\ndish: soup\n") !=
      std::string::npos);
  setenv("COLUMNS", "40", 1);
  const std::string help = FormatConfigHelp("a recipe", DescribeFields<Recipe>());
  unsetenv("COLUMNS");
  CHECK(help.find("\n# what to cook, and for how many of\n# those who are hungry today\n"
                  "dish: soup\n") != std::string::npos);
}

}  // namespace
