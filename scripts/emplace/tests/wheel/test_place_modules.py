"""Tests of the units of a device_map, of the maps written of them and of how maps are read."""

import unittest

import emplace
from place_support import transformer, wide

from emplace.importers import graph_file
from emplace.place import device_map, grain, modules
from emplace.place.grain import Grain, PlaceFailure


def unit_of(units: Grain, name: str) -> str:
    """The unit of the op of this name."""
    return units.names[units.unit_of_op[[op["name"] for op in units.document["ops"]].index(name)]]


class Units(unittest.TestCase):
    def test_what_an_op_of_the_root_joins_is_one_unit(self) -> None:
        """left.b and right.b end in one sum; left.a and right.a stay alone, and so does the head."""
        units = modules.find(wide())
        self.assertEqual(sorted(units.names), ["head", "left.a", "left.b, right.b", "right.a"])
        self.assertEqual(unit_of(units, "add"), "left.b, right.b")

    def test_no_split_keeps_a_module_whole(self) -> None:
        units = modules.find(wide(), ["left"])
        self.assertEqual(sorted(units.names), ["head", "left, right.b", "right.a"])

    def test_labels_join_units(self) -> None:
        document = transformer(2)
        for op in document["ops"]:
            if op["name"] in ("layers.0.up/mm", "norm/mm"):
                op["colocate"] = "same"
        self.assertIn("layers.0, norm", modules.find(document).names)

    def test_a_graph_without_modules_is_refused(self) -> None:
        document = transformer(1)
        for op in document["ops"]:
            op.pop("attributes", None)
        with self.assertRaisesRegex(emplace.InputError, "no op names its module"):
            modules.find(document)


class Maps(unittest.TestCase):
    def test_written_and_read_back(self) -> None:
        """All placements of four units on two devices, and what the reader makes of their maps."""
        for document in (wide(), transformer(2), transformer(3, tied=True)):
            units = modules.find(document)
            for code in range(2 ** len(units.names)):
                devices = [code >> unit & 1 for unit in range(len(units.names))]
                entries = device_map.write(units, devices)
                self.assertEqual(device_map.read(document, entries), units.expand(devices), entries)

    def test_the_shortest_map(self) -> None:
        units = modules.find(transformer(3))
        self.assertEqual(device_map.write(units, [0] * 5 + [0]), {"": 0})
        self.assertEqual(device_map.write(units, [0, 1, 1, 1, 1, 1]),
                         {"embed": 0, "layers": 1, "norm": 1, "head": 1})
        self.assertEqual(device_map.write(units, [0, 0, 1, 1, 1, 1]),
                         {"embed": 0, "layers.0": 0, "layers.1": 1, "layers.2": 1, "norm": 1, "head": 1})

    def test_the_longest_path_decides(self) -> None:
        entries = {"": 0, "layers": 1, "layers.1": 2}
        self.assertEqual([device_map.lookup(name, entries) for name in
                          ("embed.weight", "layers.0.up.weight", "layers.1", "layers.10.up")], [0, 1, 2, 1])

    def test_a_parameter_without_entry_is_refused(self) -> None:
        with self.assertRaisesRegex(PlaceFailure, "no entry covers 'norm.weight'"):
            device_map.read(transformer(1), {"embed": 0, "layers": 0, "head": 0})

    def test_cpu_beside_gpus_means_offloaded(self) -> None:
        """Weights are on the CPU, their ops on the lowest GPU of the map, here 1; without offloading they run there."""
        document = transformer(2)
        entries = {"embed": 2, "layers.0": "cpu", "layers.1": 1, "norm": 1, "head": 2}
        by_name = dict(zip([op["name"] for op in document["ops"]], device_map.read(document, entries)))
        self.assertEqual((by_name["layers.0.up.weight"], by_name["layers.0.up/mm"], by_name["layers.0/add"]),
                         ("cpu", 1, 1))
        plain = dict(zip(by_name, device_map.read(document, entries, offloads=False)))
        self.assertEqual((plain["layers.0.up.weight"], plain["layers.0.up/mm"]), ("cpu", "cpu"))
        self.assertEqual(set(device_map.read(document, {"": "cpu"})), {"cpu"})


class OneAfterAnother(unittest.TestCase):
    def test_units_wait_for_the_unit_before(self) -> None:
        """The right tower reads the input alone, yet starts when the left one is done."""
        document = wide()
        units = modules.find(document)
        serial = grain.one_after_another(document, units.unit_of_op)
        names = [op["name"] for op in serial["ops"]]
        waits = {op["name"]: [names[i] for i in op.get("control_inputs", ())] for op in serial["ops"]}
        self.assertEqual(waits["right.a/mm"], ["left.b/mm"])
        self.assertEqual(waits["add"], [])  # the unit of right.b, which is before it
        self.assertEqual(graph_file.check(serial), [])


if __name__ == "__main__":
    unittest.main()
