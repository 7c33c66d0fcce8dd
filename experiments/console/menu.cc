#include "experiments/console/menu.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "framework/base/error.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

// Returns the name of a file on the menu; empty if the file is not on it.
std::string NameOf(const Menu& menu, const std::string& file) {
  const std::string prefix = menu.prefix;
  if (!file.starts_with(prefix)) return "";
  for (const std::string extension : menu.extensions) {
    if (file.ends_with(extension) && file.size() > prefix.size() + extension.size()) {
      return file.substr(prefix.size(), file.size() - prefix.size() - extension.size());
    }
  }
  return "";
}

// Returns the file of a name; nothing if the name is not on the menu.
std::optional<fs::path> FindOnMenu(const Menu& menu, const std::string& name) {
  if (name.empty() || name.find('\0') != std::string::npos || LooksLikePath(menu, name)) return {};
  const fs::path folder = ConfigsFolder() / menu.folder;
  for (const char* extension : menu.extensions) {
    const fs::path path = folder / (menu.prefix + name + extension);
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return {};
}

fs::path& PackagedConfigs() {
  static fs::path folder;
  return folder;
}

// Returns the end of the last complete sentence; 0 if there is none.
size_t EndOfSentences(const std::string& text) {
  for (size_t end = text.size(); end > 0; --end) {
    if (std::string_view(".?!").find(text[end - 1]) == std::string_view::npos) continue;
    const bool others_follow = end + 1 < text.size() && text[end] == ' ' &&
                               std::isupper(static_cast<unsigned char>(text[end + 1])) != 0;
    if (end == text.size() || others_follow) return end;
  }
  return 0;
}

}  // namespace

void SetConfigsFolder(const fs::path& folder) {
  PackagedConfigs() = folder;
}

fs::path ConfigsFolder() {
  if (const char* folder = std::getenv("EMPLACE_CONFIGS"); folder != nullptr && *folder != 0) {
    return folder;
  }
  if (!PackagedConfigs().empty()) return PackagedConfigs();
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed = program.parent_path().parent_path() / "share/emplace/configs";
  if (fs::is_directory(installed, ignored)) return installed;
  return fs::is_directory(EMPLACE_CONFIGS_DIR, ignored) ? EMPLACE_CONFIGS_DIR : "configs";
}

const Menu& GraphMenu() {
  static const Menu menu{"graph", "graphs", "", {".json.gz", ".json"}};
  return menu;
}

const Menu& ClusterMenu() {
  static const Menu menu{"cluster", "clusters", "", {".yaml", ".yml"}};
  return menu;
}

const Menu& CostsMenu() {
  static const Menu menu{"cost table", "costs", "", {".json.gz", ".json"}};
  return menu;
}

const Menu& RunMenu() {
  static const Menu menu{"run config", "", "", {".yaml", ".yml"}};
  return menu;
}

const Menu& ProblemMenu() {
  static const Menu menu{"problem", "problems", "", {".yaml", ".yml"}};
  return menu;
}

const Menu& SweepMenu() {
  static const Menu menu{"sweep", "sweeps", "", {".yaml", ".yml"}};
  return menu;
}

const Menu& PaperMenu() {
  static const Menu menu{"paper", "papers", "", {".yaml", ".yml"}};
  return menu;
}

const Menu& LayoutMenu() {
  static const Menu menu{"layout", "layouts", "", {".yaml", ".yml"}};
  return menu;
}

const Menu& FamilyMenu() {
  static const Menu menu{"family", "families", "", {".yaml", ".yml"}};
  return menu;
}

const Menu& ExpertRulesMenu() {
  static const Menu menu{"expert rules", "agents", "expert_", {".yaml", ".yml"}};
  return menu;
}

std::vector<std::string> MenuNames(const Menu& menu) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(ConfigsFolder() / menu.folder, ignored)) {
    const std::string name = NameOf(menu, entry.path().filename().string());
    if (!name.empty() && entry.is_regular_file(ignored)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool LooksLikePath(const Menu& menu, const std::string& text) {
  return text.find('/') != std::string::npos ||
         std::any_of(menu.extensions.begin(), menu.extensions.end(), [&](const char* extension) {
           return text.ends_with(extension);
         });
}

fs::path LookBeside(const fs::path& path, const fs::path& beside) {
  std::error_code ignored;  // a name may be too long for the system
  if (path.empty() || path.is_absolute() || fs::exists(path, ignored)) return path;
  return fs::exists(beside / path, ignored) ? beside / path : path;
}

fs::path ResolveMenu(const Menu& menu,
                     const std::string& text,
                     const std::string& where,
                     const fs::path& beside) {
  if (LooksLikePath(menu, text)) return LookBeside(text, beside);
  if (const std::optional<fs::path> path = FindOnMenu(menu, text)) return *path;
  ThrowUnknown(where, menu.what, text, MenuNames(menu));
}

std::vector<std::string> ProblemNames() {
  std::vector<std::string> names = MenuNames(ProblemMenu());
  std::erase_if(names, [](const std::string& name) {
    const ConfigNode root = ConfigNode::FromFile(*FindOnMenu(ProblemMenu(), name));
    return !root.IsMap() || !root.Has("graph") || !root.Has("agents");
  });
  return names;
}

fs::path ResolveRun(const std::string& text, const std::string& where) {
  if (LooksLikePath(RunMenu(), text)) return ResolveMenu(RunMenu(), text, where);
  if (const std::optional<fs::path> path = FindOnMenu(RunMenu(), text)) return *path;
  std::vector<std::string> names = ProblemNames();
  if (std::ranges::find(names, text) != names.end()) return *FindOnMenu(ProblemMenu(), text);
  std::ranges::copy(MenuNames(RunMenu()), std::back_inserter(names));
  std::ranges::sort(names);
  ThrowUnknown(where, RunMenu().what, text, names);
}

bool IsSweepConfig(const ConfigNode& root) {
  return root.IsMap() && (root.Has("base") || root.Has("grid") || root.Has("overrides"));
}

std::vector<std::string> SweepNames() {
  std::vector<std::string> names = MenuNames(SweepMenu());
  for (const std::string& name : MenuNames(PaperMenu())) {
    const fs::path path = ResolveMenu(PaperMenu(), name, "sweeps");
    if (IsSweepConfig(ConfigNode::FromFile(path))) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<fs::path> FindSweep(const std::string& name) {
  if (const auto path = FindOnMenu(SweepMenu(), name)) return path;
  const auto paper = FindOnMenu(PaperMenu(), name);
  return paper && IsSweepConfig(ConfigNode::FromFile(*paper)) ? paper : std::nullopt;
}

fs::path ResolveSweep(const std::string& text, const std::string& where) {
  if (LooksLikePath(SweepMenu(), text)) return ResolveMenu(SweepMenu(), text, where);
  if (const std::optional<fs::path> path = FindSweep(text)) return *path;
  ThrowUnknown(where, "sweep", text, SweepNames());
}

std::string FirstComment(const fs::path& path) {
  std::ifstream file(path);
  std::string line, sentence;
  while (std::getline(file, line)) {
    if (line.empty() && sentence.empty()) continue;
    const size_t text = line.find_first_not_of("# ");
    if (!line.starts_with('#') || (text == std::string::npos && !sentence.empty())) break;
    if (text == std::string::npos) continue;
    line.erase(0, text);
    if (!sentence.empty()) {
      // A part that begins with a capital or a bracket is a separate remark.
      if (std::islower(static_cast<unsigned char>(line[0])) == 0) break;
      sentence += " ";
    }
    sentence += line;
    if (const size_t end = EndOfSentences(sentence); end > 0) return sentence.substr(0, end);
  }
  return sentence;
}

}  // namespace emplace
