#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "experiments/console/menu.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/cluster/cluster_io.h"
#include "framework/plan/collective_time.h"
#include "scripts/emplace/bindings/bindings.h"

namespace emplace::python {
namespace {

PythonCluster ReadNamedCluster(const std::string& source) {
  const std::filesystem::path path = ResolveMenu(ClusterMenu(), source, "cluster");
  return {LoadCluster(path), std::filesystem::absolute(path).lexically_normal().string()};
}

std::vector<std::string> KindNames(const PythonCluster& self) {
  std::vector<std::string> names;
  for (int d = 0; d < self.cluster->num_devices(); ++d) {
    names.push_back(self.cluster->kind_of(d).name);
  }
  return names;
}

std::vector<std::string> Classes(const PythonCluster& self) {
  std::vector<std::string> names;
  for (int d = 0; d < self.cluster->num_devices(); ++d) {
    names.emplace_back(ToString(self.cluster->kind_of(d).device_class));
  }
  return names;
}

// Returns the times of a transfer, [num_devices, num_devices], as an array that owns its memory.
nb::ndarray<nb::numpy, Nanos, nb::ndim<2>> TransferTimes(const PythonCluster& self,
                                                         std::int64_t bytes) {
  const auto n = static_cast<std::size_t>(self.cluster->num_devices());
  auto* times = new std::vector<Nanos>(n * n);
  nb::capsule owner(times,
                    [](void* data) noexcept { delete static_cast<std::vector<Nanos>*>(data); });
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      const Nanos time =
          self.cluster->TransferTime(static_cast<int>(from), static_cast<int>(to), bytes);
      (*times)[from * n + to] = time < kMaxNanos ? time : -1;
    }
  }
  return {times->data(), {n, n}, owner};
}

// Returns the time by each algorithm. devices: names; none: all GPUs.
std::map<std::string, Nanos> CollectiveTimesOf(const PythonCluster& self,
                                               const std::string& name,
                                               std::int64_t bytes,
                                               const std::vector<std::string>& devices) {
  const Cluster& cluster = *self.cluster;
  const std::vector<std::string>& names = CollectiveNames();
  if (std::ranges::find(names, name) == names.end()) {
    ThrowUnknown("collective_times", "collective", name, names);
  }
  if (bytes < 0) throw InputError(fmt::format("bytes: got {}, expected at least 0", bytes));
  std::vector<int> members;
  for (const std::string& device : devices) {
    const int index = cluster.FindDevice(device);
    if (index < 0) ThrowUnknown("collective_times", "device", device, cluster.DeviceNames());
    if (std::ranges::find(members, index) != members.end()) {
      throw InputError(fmt::format("devices: \"{}\" is there twice", device));
    }
    members.push_back(index);
  }
  for (int d = 0; devices.empty() && d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == DeviceClass::kGpu) members.push_back(d);
  }
  std::map<std::string, Nanos> times;
  for (const AlgorithmTime& each : CollectiveTimes(cluster, members).Of(name, bytes)) {
    times.emplace(each.algorithm, each.time);
  }
  return times;
}

}  // namespace

PythonCluster::PythonCluster(std::shared_ptr<const Cluster> given, std::string from)
    : cluster(std::move(given)), path(std::move(from)) {
  for (const Device& device : cluster->devices()) memory.push_back(device.memory);
}

nb::object ClusterOf(nb::object cluster) {
  if (nb::isinstance<PythonCluster>(cluster)) return cluster;
  return nb::cast(ReadNamedCluster(nb::cast<std::string>(nb::str(cluster))));
}

void AddCluster(nb::module_& module) {
  using C = PythonCluster;
  nb::class_<C>(module,
                "Cluster",
                "The machine: devices, channels that serialise transfers, routes between devices.")
      .def(
          "__init__",
          [](C* self, const std::string& source) { new (self) C(ReadNamedCluster(source)); },
          nb::arg("source"),
          "Reads a cluster: a path (.yaml), or a name of `emplace list clusters`.\n\n"
          "Throws InputError naming file, line and key.")
      .def_static(
          "parse",
          [](const std::string& text, const std::string& name) {
            return C(MakeCluster(ConfigNode::FromString(text, name)), "");
          },
          nb::arg("text"),
          nb::arg("name") = "cluster",
          "Returns a cluster from the text of a cluster file (YAML). name: its name in messages.")
      .def(
          "write",
          [](const C& self, const std::filesystem::path& path) {
            WriteFileAtomically(path, FormatCluster(*self.cluster));
          },
          nb::arg("path"),
          nb::sig("def write(self, path: str | os.PathLike[str]) -> None"),
          "Writes the cluster file, with everything expanded and kinds inline.")
      .def_prop_ro("name", [](const C& self) { return self.cluster->name(); })
      .def_ro("path", &C::path, "path of its file; empty: made in memory")
      .def_prop_ro("num_devices", [](const C& self) { return self.cluster->num_devices(); })
      .def_prop_ro(
          "device_names",
          [](const C& self) { return self.cluster->DeviceNames(); },
          "[num_devices]")
      .def_prop_ro("device_kinds", KindNames, "[num_devices] names of their kinds")
      .def_prop_ro("device_classes", Classes, "[num_devices] \"cpu\", \"gpu\" or \"network\"")
      .def_prop_ro("memory",
                   Array<C>([](const C& c, nb::handle self) {
                     return ViewOf(c.memory.data(), c.memory.size(), self);
                   }),
                   "[num_devices] int64 [B]; 2^63 - 1: no limit")
      .def("transfer_times",
           TransferTimes,
           nb::arg("bytes"),
           "Returns [num_devices, num_devices] int64: time of a transfer of this many bytes that "
           "is alone on its\n"
           "route, from the row's device to the column's [ns]; -1: no route.")
      .def(
          "collective_times",
          CollectiveTimesOf,
          nb::arg("name"),
          nb::arg("bytes"),
          nb::arg("devices") = std::vector<std::string>(),
          nb::sig("def collective_times(self, name: str, bytes: int, devices: list[str] = []) -> "
                  "dict[str, int]"),
          "Returns the time of a collective over the cluster's channels by \"ring\", \"rings\", "
          "\"tree\" and "
          "\"two_levels\" [ns].\nA plan without measured collectives takes the least. Algorithms "
          "that the collective lacks are left out.\n\nname: all_gather, all_reduce, all_to_all "
          "or reduce_scatter; bytes: of the tensor, of a gather its output;\ndevices: names, none: "
          "all GPUs.\nThrows InputError naming an unknown name, a device that the cluster lacks, "
          "two devices without a route.")
      .def("__repr__", [](const C& self) {
        return fmt::format(
            "Cluster({}, {} devices)", self.cluster->name(), self.cluster->num_devices());
      });
}

}  // namespace emplace::python
