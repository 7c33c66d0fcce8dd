#pragma once

// Menus: the files of the folder configs/ that a command or a config may call by name instead of by
// path. configs/README.md tells what is there.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// The folder of the menus: $EMPLACE_CONFIGS if that is set, else ../share/emplace/configs from the
/// folder of an installed program, else configs/ of the source tree that this program was built
/// from, else ./configs.
std::filesystem::path ConfigsFolder();
/// From now on this folder takes the place of all but $EMPLACE_CONFIGS: for a package that brings
/// the menus along.
void SetConfigsFolder(const std::filesystem::path& folder);

/// One kind of thing that can be called by name.
struct Menu {
  const char* what;                     ///< in messages: "graph"
  const char* folder;                   ///< below ConfigsFolder()
  const char* prefix;                   ///< of the files; it is no part of the names
  std::vector<const char*> extensions;  ///< of the files, with the dot; no part of the names
};
const Menu& GraphMenu();        ///< graphs/NAME.json.gz or .json
const Menu& ClusterMenu();      ///< clusters/NAME.yaml
const Menu& CostsMenu();        ///< costs/NAME.json.gz or .json
const Menu& RunMenu();          ///< NAME.yaml
const Menu& ProblemMenu();      ///< problems/NAME.yaml, of which some are no run configs
const Menu& SweepMenu();        ///< sweeps/NAME.yaml
const Menu& PaperMenu();        ///< papers/NAME.yaml
const Menu& LayoutMenu();       ///< layouts/NAME.yaml
const Menu& FamilyMenu();       ///< families/NAME.yaml
const Menu& ExpertRulesMenu();  ///< agents/expert_NAME.yaml

/// Names on the menu, sorted. Empty if the folder does not exist.
std::vector<std::string> MenuNames(const Menu& menu);

/// Is `text` a path rather than a name: does it contain '/' or end with an extension of the menu?
bool LooksLikePath(const Menu& menu, const std::string& text);

/// A relative path is looked for in the current folder, then in `beside`. @return where it is; the
/// path itself if it is nowhere
std::filesystem::path LookBeside(const std::filesystem::path& path,
                                 const std::filesystem::path& beside);

/// The file that `text` stands for: a path if it looks like one (LookBeside()), else a name on the
/// menu.
/// @param where  place of `text` in messages
/// @throws InputError "`where`: unknown graph "x"; did you mean ..." for a name not on the menu
std::filesystem::path ResolveMenu(const Menu& menu,
                                  const std::string& text,
                                  const std::string& where,
                                  const std::filesystem::path& beside = {});

/// Names of the run configs in problems/, sorted.
/// @throws InputError for a file there that is no YAML
std::vector<std::string> ProblemNames();

/// The file of the run config that `text` stands for, as ResolveMenu(): a path, a name in the
/// configs folder, or one of ProblemNames().
std::filesystem::path ResolveRun(const std::string& text, const std::string& where);

/// Is it a config of `emplace sweep` (with one of the keys base, grid, overrides) rather than of
/// one run?
bool IsSweepConfig(const ConfigNode& root);

/// Names of all sweeps, those in sweeps/ and those in papers/, sorted.
/// @throws InputError for a file in papers/ that is no YAML
std::vector<std::string> SweepNames();

/// The file of the sweep of this name, in sweeps/, else in papers/; nothing if there is none.
/// @throws InputError for a file in papers/ that is no YAML
std::optional<std::filesystem::path> FindSweep(const std::string& name);

/// The file of the sweep that `text` stands for, as ResolveMenu(): a path, or a name in sweeps/,
/// else in papers/.
std::filesystem::path ResolveSweep(const std::string& text, const std::string& where);

/// The sentence that `emplace list` shows of a YAML file: its first line without the '#' if it is a
/// comment, else nothing. Where a sentence has begun in the line and not ended there, it is left
/// out if another one has ended before, else completed from the lines below.
std::string FirstComment(const std::filesystem::path& path);

}  // namespace emplace
