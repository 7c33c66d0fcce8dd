// emplace_attack: changed inputs without a fuzzer, in any build; --help tells. What guides it is
// what the reader answers: an input with an answer that was not heard before is kept and changed
// further.

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "tests/fuzz/kept_inputs.h"
#include "tests/fuzz/mutators.h"

namespace emplace::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> targets;
  std::optional<double> seconds;  // neither: 10 s; both: what ends first
  std::optional<std::int64_t> inputs;
  std::uint64_t seed = 1;
  std::string kept, crashes = "crashes";
};

// What worker and overseer share; the input of a worker that dies is here.
struct Shared {
  static constexpr std::size_t kMost = std::size_t{1} << 20;
  volatile std::int64_t tried = 0;                         // all that the worker has done
  volatile std::int64_t inputs = 0, read = 0, passed = 0;  // changed ones
  volatile std::size_t size = 0;
  char input[kMost];
};

// Flips, inserts, removes and copies bytes.
std::string ChangeSomeBytes(std::string_view input, std::size_t most, Rng& rng) {
  std::string text(input);
  const auto place = [&] {
    return static_cast<std::size_t>(UniformInt(rng, static_cast<int>(text.size()) + 1));
  };
  const int changes = 1 + UniformInt(rng, 4);
  for (int i = 0; i < changes; ++i) {
    const std::size_t at = place(), other = place();
    switch (UniformInt(rng, 5)) {
      case 0:
        if (at < text.size()) text[at] ^= static_cast<char>(1 << UniformInt(rng, 8));
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(UniformInt(rng, 256)));
        break;
      case 2:
        text.erase(std::min(at, text.size()), static_cast<std::size_t>(UniformInt(rng, 9)));
        break;
      case 3:
        text.insert(at, text.substr(other, static_cast<std::size_t>(UniformInt(rng, 33))));
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(UniformInt(rng, 256));
    }
  }
  if (text.size() > most) text.resize(most);
  return text;
}

// The answer without what it quotes, counts or got: what kind of answer it is.
std::string KindOf(std::string_view answer) {
  std::string kind;
  bool quoted = false;
  for (std::size_t i = 0; i < answer.size() && kind.size() <= 300; ++i) {
    const char c = answer[i];
    if (c == '"') quoted = !quoted;
    if (!quoted && answer.substr(i).starts_with("got ")) {
      i = std::min(answer.find(';', i), answer.size() - 1);
    } else if (!quoted && std::isdigit(static_cast<unsigned char>(c)) == 0) {
      kind += c;
    }
  }
  return kind;
}

class Worker {
 public:
  Worker(const FuzzTarget& target, const Options& options, std::uint64_t seed, Shared& shared)
      : target_(target), options_(options), rng_(seed), shared_(shared) {}

  void Run(std::int64_t most_inputs, Clock::time_point end) {
    begun_ = KeptInputs(target_, "corpus");
    if (target_.seeds != nullptr) {
      for (const std::string& input : target_.seeds()) begun_.push_back(input);
    }
    for (const std::string& input : begun_) Try(input, false);
    for (const std::string& input : KeptInputs(target_, "crashes")) Try(input, false);
    if (!options_.kept.empty()) {
      for (const std::string& input : FilesOf(fs::path(options_.kept) / target_.name)) {
        Try(input, false);
      }
    }
    EMPLACE_CHECK(!population_.empty(), std::string("no input to begin with: ") + target_.name);
    const ChangeBytes bytes = [this](std::string_view text, std::size_t most) {
      return ChangeSomeBytes(text, most, rng_);
    };
    while (shared_.inputs < most_inputs && Clock::now() < end) {
      std::string input = Pick();
      // Each mutates in a place or more; what is read is written and read in between.
      const int rounds = OneIn(4, rng_) ? 1 + UniformInt(rng_, 3) : 1;
      for (int i = 0; i < rounds; ++i) {
        input = target_.mutate(input, {rng_, bytes, target_.most_bytes});
        if (input.size() > target_.most_bytes) input.resize(target_.most_bytes);
      }
      Try(input, true);
    }
  }

 private:
  // An input to be changed. What is wrong stays wrong: right ones and those to begin with as often
  // as others. A change of a short one says as much as that of a long one and is sooner read: the
  // shortest of a few, and any now and then.
  const std::string& Pick() {
    const std::vector<std::string>* const kinds[] = {&begun_, &read_, &population_};
    const auto* from = OneOf(kinds, rng_);
    if (from->empty()) from = &population_;
    constexpr int kShown = 3;
    const std::string* shortest = &OneOf(*from, rng_);
    for (int i = OneIn(8, rng_) ? kShown : 1; i < kShown; ++i) {
      const std::string& other = OneOf(*from, rng_);
      if (other.size() < shortest->size()) shortest = &other;
    }
    return *shortest;
  }

  void Try(const std::string& input, bool is_new) {
    const std::size_t size = std::min(input.size(), Shared::kMost);
    std::memcpy(shared_.input, input.data(), size);
    shared_.size = size;
    if (is_new && target_.passes != nullptr && target_.passes(input)) {
      shared_.passed = shared_.passed + 1;
    }
    std::string answer;
    try {
      target_.read(input);
      if (is_new) shared_.read = shared_.read + 1;
      constexpr std::size_t kMostRead = 500;
      if (read_.size() < kMostRead) {
        read_.push_back(input);
      } else {
        read_[static_cast<std::size_t>(UniformInt(rng_, kMostRead))] = input;
      }
      answer = fmt::format("read, {} bytes", input.size() / 64);
    } catch (const InputError& error) {
      answer = error.what();
    }
    shared_.tried = shared_.tried + 1;
    if (is_new) shared_.inputs = shared_.inputs + 1;
    if (!answers_.insert(KindOf(answer)).second && is_new) return;
    constexpr std::size_t kMostPopulation = 4000;
    if (population_.size() < kMostPopulation) {
      population_.push_back(input);
    } else {
      population_[static_cast<std::size_t>(UniformInt(rng_, kMostPopulation))] = input;
    }
    if (is_new && !options_.kept.empty()) {
      const fs::path folder = fs::path(options_.kept) / target_.name;
      fs::create_directories(folder);
      std::ofstream(folder / fmt::format("{:016x}", std::hash<std::string>()(input)),
                    std::ios::binary)
          << input;
    }
  }

  const FuzzTarget& target_;
  const Options& options_;
  Rng rng_;
  Shared& shared_;
  std::vector<std::string> begun_;       // those to begin with
  std::vector<std::string> population_;  // with answers not heard before
  std::vector<std::string> read_;        // right ones
  std::unordered_set<std::string> answers_;
};

// How long a process has computed [s].
double ComputedBy(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Waits for a worker to end, and ends it if one input takes too long: by its own time, since others
// may have the machine, or if it waits for something that does not come.
// @return how it died; "" if it did not
std::string Oversee(pid_t worker, const Shared& shared) {
  constexpr double kLongest = 10, kLongestWait = 60;  // [s]
  constexpr int kPause = 20'000;                      // [us]
  std::int64_t tried = -1;
  double begin = 0, waited = 0;  // of the worker's time; since the input began
  while (true) {
    int status = 0;
    if (waitpid(worker, &status, WNOHANG) == worker) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
      return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                 : fmt::format("exit {}", WEXITSTATUS(status));
    }
    if (tried != shared.tried) {
      tried = shared.tried;
      begin = ComputedBy(worker);
      waited = 0;
    } else if (ComputedBy(worker) - begin > kLongest || waited > kLongestWait) {
      kill(worker, SIGKILL);
      waitpid(worker, &status, 0);
      return fmt::format("more than {} s", kLongest);
    }
    usleep(kPause);
    waited += 1e-6 * kPause;
  }
}

// @return crashes
int Attack(const FuzzTarget& target, const Options& options) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EMPLACE_CHECK(memory != MAP_FAILED);
  Shared& shared = *new (memory) Shared;
  const auto begin = Clock::now();
  const double seconds = options.seconds.value_or(options.inputs ? 1e7 : 10);
  const auto end = begin + std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
  const std::int64_t most = options.inputs.value_or(INT64_MAX);
  int crashes = 0;
  constexpr int kMostCrashes = 50;
  while (crashes < kMostCrashes && shared.inputs < most && Clock::now() < end) {
    std::fflush(nullptr);
    const pid_t worker = fork();
    EMPLACE_CHECK(worker >= 0);
    if (worker == 0) {
      Worker(target, options, options.seed + static_cast<std::uint64_t>(crashes), shared)
          .Run(most, end);
      std::_Exit(0);
    }
    const std::string death = Oversee(worker, shared);
    if (death.empty()) break;
    ++crashes;
    const std::string input(shared.input, shared.size);
    const fs::path path = fs::path(options.crashes) / target.name /
                          fmt::format("{:016x}", std::hash<std::string>()(input));
    fs::create_directories(path.parent_path());
    WriteFileAtomically(path, input);
    fmt::print("{}: {}: {}\n", target.name, death, path.string());
  }
  const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print("{:<13} {:>9} inputs in {:.0f} s, {} read, {} crashes\n",
             target.name,
             std::int64_t{shared.inputs},
             taken,
             std::int64_t{shared.read},
             crashes);
  if (target.passes != nullptr) {
    fmt::print("{:<13} {:.1f} % passed the first checks\n",
               "",
               100.0 * static_cast<double>(shared.passed) / std::max<double>(1, shared.inputs));
  }
  munmap(memory, sizeof(Shared));
  return crashes;
}

}  // namespace

int AttackMain(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (!word.starts_with("--")) {
      options.targets.push_back(word);
      continue;
    }
    const std::string value = i + 1 < count ? words[++i] : "";
    if (word == "--seconds") {
      options.seconds = std::atof(value.c_str());
    } else if (word == "--inputs") {
      options.inputs = std::atoll(value.c_str());
    } else if (word == "--seed") {
      options.seed = static_cast<std::uint64_t>(std::atoll(value.c_str()));
    } else if (word == "--kept") {
      options.kept = value;
    } else if (word == "--crashes") {
      options.crashes = value;
    } else {
      fmt::print(stderr,
                 "unknown option {}; choices: --seconds, --inputs, --seed, --kept, --crashes\n",
                 word);
      return 2;
    }
  }
  std::vector<const FuzzTarget*> targets;
  for (const FuzzTarget& target : FuzzTargets()) {
    if (options.targets.empty()) targets.push_back(&target);
  }
  for (const std::string& name : options.targets) {
    targets.push_back(FindTarget(name));
    if (targets.back() != nullptr) continue;
    std::vector<std::string> names;
    for (const FuzzTarget& target : FuzzTargets()) names.emplace_back(target.name);
    fmt::print(stderr, "unknown target \"{}\"{}\n", name, ChoicesHint(name, names));
    return 2;
  }
  int crashes = 0;
  for (const FuzzTarget* target : targets) crashes += Attack(*target, options);
  return crashes == 0 ? 0 : 1;
}

}  // namespace emplace::fuzz

int main(int count, char** words) {
  return emplace::fuzz::AttackMain(count, words);
}
