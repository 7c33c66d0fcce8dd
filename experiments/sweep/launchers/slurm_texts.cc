#include "experiments/sweep/launchers/slurm_texts.h"

#include <charconv>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "experiments/sweep/launchers/engine_command.h"

namespace emplace {
namespace {

constexpr std::string_view kRunsBegin = "\nruns=(\n", kRunsEnd = "\n)\n";

}  // namespace

std::string SlurmScript(const std::vector<std::string>& worker,
                        const std::vector<std::string>& bundles,
                        const std::vector<std::string>& options,
                        const std::string& log,
                        int workers,
                        int cores) {
  std::string text = fmt::format(
      "#!/bin/bash\n"
      "# Written by `emplace sweep`: one task per bundle of runs. May be submitted with sbatch "
      "again:\n"
      "# a worker skips runs that are done or that another worker does.\n"
      "#SBATCH --job-name=emplace-sweep\n"
      "#SBATCH --array=0-{}%{}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task={}\n"
      "#SBATCH --requeue\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --output={}\n",
      bundles.size() - 1,
      workers,
      cores,
      log);
  for (const std::string& option : options) text += "#SBATCH " + option + "\n";
  text.pop_back();
  text += kRunsBegin;
  for (const std::string& bundle : bundles) text += "  " + bundle + "\n";
  text.pop_back();
  text += kRunsEnd;
  text += "exec";
  for (const std::string& word : worker) text += " " + ShellQuote(word);
  return text + " --runs \"${runs[SLURM_ARRAY_TASK_ID]}\"\n";
}

std::vector<std::string> BundlesOfSlurmScript(const std::string& text) {
  std::vector<std::string> bundles;
  const size_t begin = text.find(kRunsBegin), end = text.find(kRunsEnd, begin);
  if (begin == std::string::npos || end == std::string::npos) return bundles;
  const size_t first = begin + kRunsBegin.size();
  std::istringstream words(text.substr(first, end - first));
  for (std::string bundle; words >> bundle;) bundles.push_back(bundle);
  return bundles;
}

std::vector<std::string> SqueueCommand() {
  return {"squeue", "--noheader", "--me", "--array", "--format=%F|%K|%T|%r|%o"};
}

std::optional<SlurmTask> ParseSlurmTask(const std::string& line) {
  std::vector<std::string> words;
  size_t begin = 0;
  for (int i = 0; i < 4; ++i) {
    const size_t end = line.find('|', begin);
    if (end == std::string::npos) return std::nullopt;
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  int index = 0;
  const char* const last = words[1].data() + words[1].size();
  if (std::from_chars(words[1].data(), last, index).ptr != last || words[1].empty()) {
    return std::nullopt;
  }
  return SlurmTask{words[0], index, words[2], words[3], line.substr(begin), 0};
}

}  // namespace emplace
