"""Tests of `emplace import --from pipedream`: hand-made profiles in the format of PipeDream's profiler."""

import os
import pathlib
import unittest

from support import Folder, by_name, graph_file

from emplace import importers
from emplace.importers.pipedream import import_pipedream


def line(name: str, text: str, forward: float, backward: float, activation: str, parameters: float) -> str:
    return (f"{name} -- {text} -- forward_compute_time={forward:.3f}, backward_compute_time={backward:.3f}, "
            f"activation_size={activation}, parameter_size={parameters:.3f}\n")


# Two layers with a residual connection; the profiler lists nodes in no particular order.
RESIDUAL = (line("node3", "ReLU(inplace)", 0.1, 0.2, "640.000", 0)
            + line("node2", "Linear(in_features=4, out_features=16, bias=True)", 1.5, 2.25, "640.000", 320)
            + line("node1", "Input0", 5.0, 0, "160.0", 0)
            + line("node4", "Linear(in_features=16, out_features=16, bias=True)", 2.0, 3.0, "640.000", 1088)
            + line("node5", "Add", 0, 0, "640.0", 0)
            + line("node6", "Linear(in_features=16, out_features=2, bias=True)", 0.5, 0.75, "80.000", 136)
            + "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node4\n\tnode4 -- node5\n\tnode3 -- node5\n"
              "\tnode5 -- node6\n")

# An LSTM with three results, of which one goes on; a hidden state that nothing makes.
RECURRENT = (line("node1", "Input0", 0, 0, "0.0", 0) + line("node2", "hidden", 0, 0, "0.0", 0)
             + line("node3", "Embedding(100, 8, padding_idx=0)", 0.1, 0.3, "320.0", 3200)
             + line("node4", "LSTM(8, 8)", 1.0, 2.0, "[320.0; 32.0; 32.0]", 2304)
             + line("node5", "__getitem__(0)", 0, 0, "320.0", 0)
             + line("node6", "__getitem__(1)", 0, 0, "32.0", 0)
             + line("node7", "Classifier(  (classifier): Linear(in_features=8, out_features=100, bias=True))", 0.4, 0.2,
                    "4000.0", 3600).rstrip("\n") + " -- stage_id=1\n"
             + "\tnode1 -- node3\n\tnode2 -- node4\n\tnode3 -- node4\n\tnode4 -- node5\n\tnode4 -- node6\n"
               "\tnode5 -- node7\n")


class Profiles(unittest.TestCase):
    def imported(self, text: str) -> importers.Imported:
        imported = import_pipedream(text, "v100")
        self.assertEqual(graph_file.check(imported.document), [])
        return imported

    def tensors(self, document: dict, ids: list[int]) -> list[str]:
        return [document["tensors"][i]["name"] for i in ids]

    def test_times_and_sizes(self) -> None:
        document = self.imported(RESIDUAL).document
        ops = by_name(document)
        self.assertEqual(ops["node2/Linear"]["cost_ns"], {"v100": 1_500_000})  # 1.5 ms
        self.assertEqual(ops["node2/Linear/backward"]["cost_ns"], {"v100": 2_250_000})
        figures = graph_file.statistics(document)
        self.assertEqual(figures["parameters"], (320 + 1088 + 136) // 4)
        # 4 x 16 + 16, 16 x 16 + 16, 16 x 2 + 2
        self.assertEqual(figures["parameters"], 80 + 272 + 34)
        self.assertEqual(figures["input_bytes"], 160)
        total = sum(cost for op in document["ops"] for cost in op.get("cost_ns", {}).values())
        # All but the loading of data: (0.1 + 0.2) + (1.5 + 2.25) + (2 + 3) + (0.5 + 0.75) ms.
        self.assertEqual(total, 10_300_000)

    def test_gradients_go_back_along_the_edges(self) -> None:
        document = self.imported(RESIDUAL).document
        ops = by_name(document)
        first = ops["node2/Linear/backward"]
        self.assertEqual(self.tensors(document, first["outputs"]), ["node2/parameters/gradient"])  # none of inputs
        relu = ops["node3/ReLU/backward"]
        received = [i for i in relu["inputs"] if document["tensors"][i].get("role") == "gradient"]
        self.assertEqual(self.tensors(document, received), ["node5/Add/backward/node3/ReLU",
                                                            "node4/Linear/backward/node3/ReLU"])
        self.assertEqual([document["tensors"][i]["bytes"] for i in received], [640, 640])
        self.assertEqual(relu["attributes"]["forward_op"], "node3/ReLU")
        self.assertEqual(relu["phase"], "backward")

    def test_a_layer_is_on_one_device(self) -> None:
        ops = by_name(self.imported(RESIDUAL).document)
        self.assertEqual({ops[name]["colocate"] for name in ("node2/parameters", "node2/Linear",
                                                             "node2/Linear/backward", "node2/update")}, {"node2"})

    def test_updates_and_layers_in_place_share_memory(self) -> None:
        document = self.imported(RESIDUAL).document
        ops, tensors = by_name(document), document["tensors"]
        self.assertEqual(tensors[ops["node3/ReLU"]["outputs"][0]]["alias_of"], ops["node2/Linear"]["outputs"][0])
        update = ops["node2/update"]
        self.assertEqual(tensors[update["outputs"][0]]["alias_of"], ops["node2/parameters"]["outputs"][0])
        self.assertEqual(update["cost_ns"], {"v100": 0})

    def test_items_of_a_list(self) -> None:
        document = self.imported(RECURRENT).document
        ops, tensors = by_name(document), document["tensors"]
        lstm = ops["node4/LSTM"]
        self.assertEqual([tensors[i]["bytes"] for i in lstm["outputs"]], [320, 32, 32])
        item = ops["node5/__getitem__"]
        self.assertEqual(item["inputs"], lstm["outputs"][:1])
        self.assertEqual(tensors[item["outputs"][0]]["alias_of"], lstm["outputs"][0])
        self.assertNotIn("node6/__getitem__/backward", ops)  # nobody needs it
        self.assertNotIn("node2/hidden/backward", ops)
        received = [i for i in ops["node4/LSTM/backward"]["inputs"] if tensors[i].get("role") == "gradient"]
        self.assertEqual([tensors[i]["bytes"] for i in received], [320])
        self.assertEqual(ops["node7/Classifier"]["attributes"]["stage"], 1)
        self.assertEqual(ops["node7/Classifier"]["kind"], "pipedream.Classifier")

    def test_a_size_has_no_gradient(self) -> None:
        text = (line("node1", "Input", 0, 0, "8.0", 0) + line("node2", "Linear(2, 2)", 1, 1, "16.0", 24)
                + line("node3", "Size(0)", 0, 0, "4.000", 0) + line("node4", "View(4)", 0, 0, "16.0", 0)
                + line("node5", "Linear(2, 2)", 1, 1, "16.0", 24)
                + "\tnode1 -- node2\n\tnode2 -- node3\n\tnode2 -- node4\n\tnode3 -- node4\n\tnode4 -- node5\n")
        document = self.imported(text).document
        ops = by_name(document)
        self.assertNotIn("node3/Size/backward", ops)
        self.assertEqual(len(ops["node4/View/backward"]["outputs"]), 1)
        view = document["tensors"][ops["node4/View"]["outputs"][0]]
        self.assertEqual(view["alias_of"], ops["node2/Linear"]["outputs"][0])

    def test_alexnet_s_parameters(self) -> None:
        """61,100,840 parameters (torchvision), from the sizes that the profiler gives its layers."""
        layers = (("Conv2d", 11 * 11 * 3 * 64 + 64), ("Conv2d", 5 * 5 * 64 * 192 + 192),
                  ("Conv2d", 9 * 192 * 384 + 384),
                  ("Conv2d", 9 * 384 * 256 + 256), ("Conv2d", 9 * 256 * 256 + 256), ("Linear", 9216 * 4096 + 4096),
                  ("Linear", 4096 * 4096 + 4096), ("Linear", 4096 * 1000 + 1000))
        text = line("node0", "Input", 1, 0, "154140672.000", 0)
        for number, (kind, count) in enumerate(layers, 1):
            text += line(f"node{number}", f"{kind}(...)", 1, 2, "1000.000", 4.0 * count)
        text += "".join(f"\tnode{number} -- node{number + 1}\n" for number in range(len(layers)))
        figures = graph_file.statistics(self.imported(text).document)
        self.assertEqual(figures["parameters"], 61_100_840)

    def test_what_is_dropped_is_told(self) -> None:
        told = "\n".join(str(dropped) for dropped in self.imported(RESIDUAL).dropped)
        self.assertIn("time of inputs x 1: 5.000 ms of loading data", told)
        self.assertIn("time of updates x 3", told)
        self.assertIn("FLOPs and element types x 5", told)


class Command(Folder):
    def profile(self, text: str | bytes) -> str:
        os.makedirs(self.path("tiny"), exist_ok=True)
        return self.write("tiny/graph.txt", text)

    def test_the_format_is_known_by_its_name(self) -> None:
        arguments = [self.profile(RESIDUAL), "--device-kind", "v100"]
        document = self.imported(*arguments, output="out.json")
        self.assertEqual((document["name"], document["source"]["model"]), ("out", "tiny"))
        first = pathlib.Path(self.path("out.json")).read_bytes()
        self.imported(*arguments, output="out.json")
        self.assertEqual(pathlib.Path(self.path("out.json")).read_bytes(), first)

    def test_what_is_refused(self) -> None:
        good = line("node1", "Input", 0, 0, "8.0", 0)
        for text, expected in (
                (good + "\tnode1 -- node9\n", "graph.txt:2: the edge names 'node9', but there is no such node"),
                (good + "\tnode1\n", "graph.txt:2: got 'node1', expected an edge"),
                (good + "node2\n", "graph.txt:2: got 'node2', expected NODE -- TEXT"),
                (good + good, "graph.txt:2: the node 'node1' is listed twice"),
                (good.replace("=8.0", "=many"), "graph.txt:1: activation_size is 'many', expected a number >= 0"),
                (good.replace("=0.000,", "=-1,", 1), "forward_compute_time is '-1'"),
                (good.replace("activation_size=8.0, ", ""), "graph.txt:1: activation_size is missing"),
                (good.replace("activation_size", "size"), "graph.txt:1: got 'size=8.0'; expected each of"),
                (good.rstrip("\n") + " -- stage=1\n", "graph.txt:1: got 'stage=1', expected stage_id=N"),
                (line("a", "Add", 0, 0, "1", 0) + line("b", "Add", 0, 0, "1", 0) + "\ta -- b\n\tb -- a\n",
                 "the edges form a cycle through"),
                ("\n", "graph.txt: holds no node")):
            with self.subTest(expected):
                self.refused(expected, self.profile(text), "--device-kind", "v100")
        self.refused("give --device-kind NAME", self.profile(good))
        self.refused("cannot be read", self.path("no/graph.txt"), "--device-kind", "k")
        self.refused("cannot be read", self.profile(b"\xff\xfe\x00"), "--device-kind", "v100")


if __name__ == "__main__":
    unittest.main()
