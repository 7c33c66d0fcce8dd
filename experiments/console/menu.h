#pragma once

// Menus: the files of the folder configs/ that commands and configs may give by name instead of by
// path. configs/README.md lists them.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// Returns the folder of the menus: $EMPLACE_CONFIGS if that is set, else ../share/emplace/configs
/// relative to the folder of an installed program, else configs/ of the source tree from which this
/// program was built, else ./configs.
std::filesystem::path ConfigsFolder();
/// Sets the folder of a package that contains the menus. Only $EMPLACE_CONFIGS takes precedence.
void SetConfigsFolder(const std::filesystem::path& folder);

/// One kind of file that can be given by name.
struct Menu {
  const char* what;                     ///< in messages: "graph"
  const char* folder;                   ///< below ConfigsFolder()
  const char* prefix;                   ///< of the files; not part of the names
  std::vector<const char*> extensions;  ///< of the files, with the dot; not part of the names
};
const Menu& GraphMenu();        ///< graphs/NAME.json.gz or .json
const Menu& ClusterMenu();      ///< clusters/NAME.yaml
const Menu& CostsMenu();        ///< costs/NAME.json.gz or .json
const Menu& RunMenu();          ///< NAME.yaml
const Menu& ProblemMenu();      ///< problems/NAME.yaml; some are not run configs
const Menu& SweepMenu();        ///< sweeps/NAME.yaml
const Menu& PaperMenu();        ///< papers/NAME.yaml
const Menu& LayoutMenu();       ///< layouts/NAME.yaml
const Menu& FamilyMenu();       ///< families/NAME.yaml
const Menu& ExpertRulesMenu();  ///< agents/expert_NAME.yaml

/// Returns the names on the menu, sorted. Empty if the folder does not exist.
std::vector<std::string> MenuNames(const Menu& menu);

/// Returns whether `text` is a path: it contains '/' or ends with an extension of the menu.
bool LooksLikePath(const Menu& menu, const std::string& text);

/// Searches a relative path in the current folder, then in `beside`. @return the path found; the
/// path itself if there is none
std::filesystem::path LookBeside(const std::filesystem::path& path,
                                 const std::filesystem::path& beside);

/// Returns the file of `text`: a path if it looks like one (LookBeside()), else a name on the menu.
/// @param where  place of `text` in messages
/// @throws InputError "`where`: unknown graph "x"; did you mean ..." for a name not on the menu
std::filesystem::path ResolveMenu(const Menu& menu,
                                  const std::string& text,
                                  const std::string& where,
                                  const std::filesystem::path& beside = {});

/// Returns the names of the run configs in problems/, sorted.
/// @throws InputError for a file there that is not YAML
std::vector<std::string> ProblemNames();

/// Returns the file of the run config `text`, as ResolveMenu(): a path, a name, or one of
/// ProblemNames().
std::filesystem::path ResolveRun(const std::string& text, const std::string& where);

/// Returns whether this is a config of `emplace sweep` (with one of the keys base, grid,
/// overrides), not of one run.
bool IsSweepConfig(const ConfigNode& root);

/// Returns the names of all sweeps, those in sweeps/ and those in papers/, sorted.
/// @throws InputError for a file in papers/ that is not YAML
std::vector<std::string> SweepNames();

/// Returns the file of the sweep of this name, in sweeps/ or papers/; nothing if there is none.
/// @throws InputError for a file in papers/ that is not YAML
std::optional<std::filesystem::path> FindSweep(const std::string& name);

/// Returns the file of the sweep `text`, as ResolveMenu(): a path, or a name as FindSweep().
std::filesystem::path ResolveSweep(const std::string& text, const std::string& where);

/// Returns the sentence that `emplace list` shows of a YAML file: its first line without the '#' if
/// that is a comment, else nothing. A sentence that does not end in the first line is left out if
/// another one ends before it; otherwise it is completed from the lines below.
std::string FirstComment(const std::filesystem::path& path);

}  // namespace emplace
