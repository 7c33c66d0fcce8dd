#include "experiments/console/command_line.h"

#include <cstdlib>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/words.h"

namespace emplace {
namespace {

using testing::MessageOf;
using testing::Occurrences;
using testing::Words;

// A program with a command of every kind of argument and a command with two others below it.
class Kitchen {
 public:
  Kitchen() {
    Command program = line_.program();
    program.Footer("Wash your hands.");
    Command cook = program.AddCommand("cook", "Cooks a dish");
    cook.Add("dish", dish, "what to cook").Type("DISH").Required();
    cook.Add("extras", extras, "what goes with it");
    cook.Add("--guests", guests, "how many").Range(1, 8).ShowDefault();
    cook.Add("-m,--minutes", minutes, "how long").Positive();
    cook.Add("--spoons", spoons, "of salt").NotNegative();
    cook.Add("--seed", seed, "of the poppy");
    cook.Add("--photo", photo, "a picture of it").ValueOptional("dish.png");
    cook.Add("--with", with, "a spice; may be repeated").OneAtATime();
    cook.Add("--pans", pans, "which").SplitAt(',');
    cook.AddFlag("--hot", hot, "with chili");
    cook.Does([this, cook] {
      if (hot && with.empty()) cook.ThrowMissing("--with");
      return 7;
    });
    Command wash = program.AddCommand("wash", "Cleans up");
    wash.Footer("Dry it, too.");
    wash.AddCommand("plates", "Plates only").Does([] { return 11; });
    wash.AddCommand("pots", "Pots only").Does([] { return 12; });
  }

  Request Parse(const std::vector<std::string>& words) {
    std::vector<const char*> arguments = {"/somewhere/kitchen"};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return line_.Parse(static_cast<int>(arguments.size()), arguments.data());
  }
  std::string Refusal(const std::vector<std::string>& words) {
    return MessageOf<InputError>([&] { Parse(words); });
  }

  std::string dish, photo;
  std::vector<std::string> extras, with, pans;
  int guests = 2, spoons = 1;
  std::uint64_t seed = 3;
  double minutes = 30;
  bool hot = false;

 private:
  CommandLine line_{"kitchen", "Feeds people", [] { return std::string("kitchen 1.2"); }};
};

TEST_CASE("arguments of every kind reach their targets, and the command is what is to be done") {
  Kitchen kitchen;
  const Request request = kitchen.Parse(
      Words("cook soup bread butter --guests 8 -m 2.5 --spoons=0 --seed 18446744073709551615 "
            "--photo soup.png --with salt --with sage --pans small,large --hot"));
  CHECK(kitchen.dish == "soup");
  CHECK(kitchen.extras == std::vector<std::string>{"bread", "butter"});
  CHECK(kitchen.guests == 8);
  CHECK(kitchen.minutes == 2.5);
  CHECK(kitchen.spoons == 0);
  CHECK(kitchen.seed == 18446744073709551615u);
  CHECK(kitchen.photo == "soup.png");
  CHECK(kitchen.with == std::vector<std::string>{"salt", "sage"});
  CHECK(kitchen.pans == std::vector<std::string>{"small", "large"});
  CHECK(kitchen.hot);
  CHECK(request.text == "");
  REQUIRE(request.action);
  CHECK(request.action() == 7);
}

TEST_CASE("without an argument its target stays as it is") {
  Kitchen kitchen;
  kitchen.Parse({"cook", "soup"});
  CHECK(kitchen.guests == 2);
  CHECK(kitchen.minutes == 30);
  CHECK(kitchen.seed == 3);
  CHECK(kitchen.photo == "");
  CHECK(kitchen.extras.empty());
  CHECK_FALSE(kitchen.hot);
}

TEST_CASE("a value that may be left out") {
  Kitchen kitchen;
  kitchen.Parse({"cook", "soup", "--photo"});
  CHECK(kitchen.photo == "dish.png");
}

TEST_CASE("a list that takes one value at a time leaves the next word to others") {
  Kitchen kitchen;
  kitchen.Parse({"cook", "--with", "salt", "soup", "--pans", "small", "large"});
  CHECK(kitchen.with == std::vector<std::string>{"salt"});
  CHECK(kitchen.dish == "soup");
  CHECK(kitchen.pans == std::vector<std::string>{"small", "large"});
}

TEST_CASE("commands below commands") {
  CHECK(Kitchen().Parse({"wash", "plates"}).action() == 11);
  CHECK(Kitchen().Parse({"wash", "pots"}).action() == 12);
}

TEST_CASE("unknown commands are told with their choices") {
  CHECK(Kitchen().Refusal({"cok", "soup"}) ==
        "unknown command \"cok\"; did you mean \"cook\"? choices: help, cook, wash");
  CHECK(Kitchen().Refusal({"wash", "pot"}) ==
        "unknown command \"pot\"; did you mean \"pots\"? choices: plates, pots");
  CHECK(Kitchen().Refusal({"--quick"}).find("see `kitchen --help`") != std::string::npos);
}

TEST_CASE("unknown options and too many arguments") {
  const std::string unknown = Kitchen().Refusal({"cook", "soup", "--gests", "3"});
  CAPTURE(unknown);
  CHECK(unknown.starts_with("unknown option \"--gests\"; did you mean \"--guests\"? choices: "));
  CHECK(unknown.ends_with("; see `kitchen cook --help`"));
  CHECK(Kitchen().Refusal({"wash", "pots", "twice"}) ==
        "unexpected argument \"twice\"; see `kitchen wash pots --help`");
}

TEST_CASE("missing arguments, those that only some uses need among them") {
  CHECK(Kitchen().Refusal({"cook"}) == "dish is required; see `kitchen cook --help`");
  Kitchen kitchen;
  const Request request = kitchen.Parse({"cook", "soup", "--hot"});
  REQUIRE(request.action);
  CHECK(MessageOf<InputError>([&] { request.action(); }) ==
        "--with is required; see `kitchen cook --help`");
}

TEST_CASE("numbers are checked") {
  const auto refuses = [](const char* option, const char* value) {
    const std::string message = Kitchen().Refusal({"cook", "soup", option, value});
    CAPTURE(message);
    CHECK(message.find(option) != message.npos);
    CHECK(message.find(value) != message.npos);
    CHECK(message.ends_with("; see `kitchen cook --help`"));
  };
  refuses("--guests", "0");
  refuses("--guests", "9");
  refuses("--guests", "two");
  refuses("--guests", "1.5");
  refuses("--minutes", "0");
  refuses("--minutes", "-1");
  refuses("--spoons", "-1");
  refuses("--seed", "blue");
  CHECK(Kitchen().Refusal({"cook", "soup", "--seed", "-1"}) ==
        "--seed: expected a whole number from 0 to 18446744073709551615, got \"-1\"; see "
        "`kitchen cook --help`");
  CHECK(Kitchen().Refusal({"cook", "soup", "--spoons=-2"}) ==
        "--spoons: expected a number >= 0, got \"-2\"; see `kitchen cook --help`");
  CHECK(Kitchen().Refusal({"cook", "soup", "--minutes", "0"}) ==
        "--minutes: expected a number > 0, got \"0\"; see `kitchen cook --help`");
}

TEST_CASE("the help and the version are texts to print, not actions") {
  const Request program = Kitchen().Parse({"--help"});
  CHECK_FALSE(program.action);
  for (const char* words : {"Feeds people",
                            "Usage: kitchen [OPTIONS] SUBCOMMAND",
                            "--version",
                            "Cooks a dish",
                            "Cleans up",
                            "Wash your hands."}) {
    CAPTURE(words);
    CHECK(Occurrences(program.text, words) == 1);
  }
  const Request version = Kitchen().Parse({"--version"});
  CHECK_FALSE(version.action);
  CHECK(version.text == "kitchen 1.2\n");
}

TEST_CASE("a program alone, `help` and a command that needs another one print their help") {
  const std::string program = Kitchen().Parse({"--help"}).text;
  CHECK(program.find("Cooks a dish") != std::string::npos);
  CHECK(Kitchen().Parse({}).text == program);
  CHECK(Kitchen().Parse({"help"}).text == program);
  const std::string cook = Kitchen().Parse({"cook", "--help"}).text;
  CHECK(cook.find("dish DISH") != std::string::npos);
  CHECK(Kitchen().Parse({"help", "cook"}).text == cook);
  CHECK(Kitchen().Parse({"help", "cook", "soup"}).text == cook);
  const std::string wash = Kitchen().Parse({"wash", "--help"}).text;
  CHECK(Kitchen().Parse({"wash"}).text == wash);
  CHECK(Kitchen().Parse({"help", "wash"}).text == wash);
  CHECK(Kitchen().Parse({"help", "wash", "pots"}).text ==
        Kitchen().Parse({"wash", "pots", "--help"}).text);
  CHECK(Kitchen().Refusal({"help", "cok"}) ==
        "unknown command \"cok\"; did you mean \"cook\"? choices: help, cook, wash");
  CHECK(Kitchen().Refusal({"help", "wash", "pot"}) ==
        "unknown command \"pot\"; did you mean \"pots\"? choices: plates, pots");
}

TEST_CASE("a help is as wide as $COLUMNS, its sentences in their column") {
  setenv("COLUMNS", "50", 1);
  const std::string help = Kitchen().Parse({"cook", "--help"}).text;
  unsetenv("COLUMNS");
  CHECK(help.find(" a spice; may be\n"
                  "                              repeated\n") != std::string::npos);
}

TEST_CASE("the help of a command shows types, defaults, what is required and the footer") {
  const Request cook = Kitchen().Parse({"cook", "-h"});
  CAPTURE(cook.text);
  CHECK_FALSE(cook.action);
  for (const char* words : {"Cooks a dish",
                            "dish DISH REQUIRED",
                            "extras TEXT ...",
                            "--guests INT:INT in [1 - 8]=2",
                            "-m,--minutes FLOAT:POSITIVE",
                            "--spoons INT:NONNEGATIVE",
                            "--seed UINT",
                            "--photo TEXT=dish.png",
                            "--hot",
                            "Wash your hands."}) {
    CAPTURE(words);
    CHECK(Occurrences(cook.text, words) == 1);
  }
  const std::string wash = Kitchen().Parse({"wash", "--help"}).text;
  CHECK(Occurrences(wash, "Dry it, too.") == 1);
  CHECK(Occurrences(wash, "Wash your hands.") == 0);
}

}  // namespace
}  // namespace emplace
