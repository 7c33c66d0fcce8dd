#pragma once

// The examples of framework/cluster/FORMAT.md.

#include <map>
#include <string>
#include <vector>

#include "framework/base/file.h"
#include "framework/cluster/cluster_io.h"
#include "tests/framework/format_pages.h"
#include "tests/support/pages.h"
#include "tests/support/paths.h"

namespace emplace::testing {

inline std::map<std::string, DeviceKind> KindsOf(const std::string& yaml) {
  const TempDir folder;
  WriteFileAtomically(folder / "kinds.yaml", yaml);
  return ReadDeviceKinds(folder.path());
}

inline const std::string& KindsExample() {
  static const std::string text =
      FencedBlocks(SectionOf(ReadPage(kClusterPage), "Example: device kinds"), "yaml").at(0);
  return text;
}

inline std::vector<std::string> ClusterExamples() {
  return FencedBlocks(SectionOf(ReadPage(kClusterPage), "Example: a cluster"), "yaml");
}

inline Cluster ReadClusterExample(const std::string& yaml) {
  return ParseCluster(ConfigNode::FromString(yaml, "page"), KindsOf(KindsExample()));
}

}  // namespace emplace::testing
