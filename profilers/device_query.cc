#include "profilers/device_query.h"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "profilers/gpu_module.h"

namespace emplace {

namespace {

std::mutex known_mutex;
std::optional<GpuList> known_gpus;

/// Returns the names of the entries of a folder, ascending; none if it cannot be read.
std::vector<std::string> NamesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// "Model:  NVIDIA H200" -> "NVIDIA H200".
std::string ModelIn(const std::filesystem::path& information) {
  constexpr std::string_view kKey = "Model:";
  std::ifstream file(information);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    const size_t begin = line.find_first_not_of(" \t", kKey.size());
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "unnamed";
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

/// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat ..." -> "535.104.05".
std::string VersionIn(const std::filesystem::path& path) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (IsDigit(word[0]) && word.find('.') != std::string::npos) return word;
  }
  return "";
}

}  // namespace

bool HasCuda() {
#ifdef EMPLACE_CUDA_MODULE
  return true;
#else
  return false;
#endif
}

GpuList QueryGpus() {
  const GpuModuleResult& loaded = ThisGpuModule();
  GpuList list;
  if (loaded.module == nullptr) {
    list.none = fmt::format("no GPU that this program can use ({})", loaded.error);
  } else {
    list = loaded.module->query();
  }
  const std::lock_guard<std::mutex> lock(known_mutex);
  known_gpus = list;
  return list;
}

std::optional<GpuList> KnownGpus() {
  const std::lock_guard<std::mutex> lock(known_mutex);
  return known_gpus;
}

DriverFiles ReadDriverFiles(const std::filesystem::path& driver_folder,
                            const std::filesystem::path& device_folder) {
  DriverFiles files;
  for (const std::string& gpu : NamesIn(driver_folder / "gpus")) {
    files.gpus.push_back(ModelIn(driver_folder / "gpus" / gpu / "information"));
  }
  constexpr std::string_view kDevice = "nvidia";  // nvidia0, nvidia1; not nvidiactl
  if (files.gpus.empty()) {
    for (const std::string& name : NamesIn(device_folder)) {
      if (name.starts_with(kDevice) && name.size() > kDevice.size() &&
          std::all_of(name.begin() + kDevice.size(), name.end(), IsDigit)) {
        files.gpus.emplace_back("unnamed");
      }
    }
  }
  files.driver = VersionIn(driver_folder / "version");
  return files;
}

}  // namespace emplace
