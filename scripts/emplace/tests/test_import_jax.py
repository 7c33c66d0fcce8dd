"""Tests of the importer of JAX steps that need JAX alone: phases, state, calls and loops, refusals, the command."""

import importlib.util
import os
import unittest

from support import Folder, by_name, graph_file, needs, run

from emplace.importers import ImportFailure
from emplace.importers.jax import import_jax

HAS_JAX = importlib.util.find_spec("jax") is not None
needs_jax = needs("jax")
if HAS_JAX:
    import jax
    import jax.numpy as jnp
    from jax import ShapeDtypeStruct as Array

SGD = """
    import jax, jax.numpy as jnp
    from jax import ShapeDtypeStruct as Array

    def loss(w, x, y):
        return jnp.mean((jnp.tanh(x @ w) - y) ** 2)

    def step(w, x, y):
        value, gradient = jax.value_and_grad(loss)(w, x, y)
        return w - 0.1 * gradient, value

    def training(batch=4):
        return {"step": jax.jit(step), "parameters": "w",
                "arguments": (Array((3, 2), jnp.float32), Array((batch, 3), jnp.float32),
                              Array((batch, 2), jnp.float32))}
"""


@unittest.skipIf(HAS_JAX, "the package jax is installed")
class WithoutJax(unittest.TestCase):
    def test_the_missing_package_is_named(self) -> None:
        with self.assertRaisesRegex(ImportFailure, r"package 'jax' is missing.*emplace-placement\[jax\]"):
            import_jax(len, [])


class Imports(unittest.TestCase):
    def document(self, step, *arguments, **options) -> dict:
        self.imported = import_jax(step, *arguments, **options)
        self.document_ = self.imported.document
        self.assertEqual(graph_file.check(self.document_), [])
        self.ops = by_name(self.document_)
        self.tensors = {tensor["name"]: tensor for tensor in self.document_["tensors"]}
        return self.document_

    def kinds(self) -> list[str]:
        return [op["kind"] for op in self.document_["ops"] if op["kind"] not in ("parameter", "constant")]

    def flops(self) -> float:
        return sum(op.get("flops", 0) for op in self.document_["ops"])

    def writer(self, state: str) -> dict:
        """The op that overwrites a state."""
        tensor, = [t for t in self.document_["tensors"] if t.get("alias_of") == self.tensors[state]["id"]]
        self.assertEqual(tensor["role"], "output")
        return next(op for op in self.document_["ops"] if tensor["id"] in op["outputs"])


@needs_jax
class TrainingSteps(Imports):
    def setUp(self) -> None:
        def step(w, m, x, y):
            def loss(w):
                return jnp.mean((jnp.tanh(x @ w) - y) ** 2)
            value, gradient = jax.value_and_grad(loss)(w)
            m = 0.9 * m + gradient
            return w - 0.1 * m, m, value
        arrays = [Array(shape, jnp.float32) for shape in ((3, 2), (3, 2), (4, 3), (4, 2))]
        self.document(jax.jit(step), *arrays, parameters="w", optimizer_state="m")

    def test_state_and_inputs(self) -> None:
        self.assertEqual({name: self.tensors[name]["role"] for name in "wmxy"},
                         {"w": "parameter", "m": "optimizer_state", "x": "input", "y": "input"})
        self.assertEqual(graph_file.statistics(self.document_)["parameters"], 6)

    def test_phases(self) -> None:
        phases = [(op["kind"], op.get("phase", "forward")) for op in self.document_["ops"]]
        self.assertEqual([kind for kind, phase in phases if phase == "update"],
                         ["jax.mul", "jax.add", "jax.mul", "jax.sub"])
        # The gradient by w alone: x is no parameter. 2 m n k of x' (4 x 3) and the error (4 x 2).
        backward = [op for op in self.document_["ops"] if op.get("phase") == "backward"]
        self.assertEqual([op["flops"] for op in backward if op["kind"] == "jax.dot_general"], [2 * 3 * 2 * 4])
        self.assertEqual(self.ops["dot_general"]["flops"], 2 * 4 * 2 * 3)
        self.assertEqual(self.ops["backward/dot_general"]["attributes"]["forward_op"], "dot_general")

    def test_state_is_updated_in_place(self) -> None:
        self.assertEqual(self.writer("w")["kind"], "jax.sub")
        momentum = self.writer("m")
        self.assertEqual(momentum["kind"], "jax.add")
        self.assertIn(self.tensors["m"]["id"], momentum["inputs"])  # though it adds 0.9 m, not m
        self.assertEqual(momentum["bytes_accessed"], 3 * 24)        # and does not read it
        labels = {name: self.ops[name].get("colocate") for name in ("w", "m")}
        self.assertEqual(labels, {"w": "w", "m": "w"})
        self.assertEqual({op.get("colocate") for op in self.document_["ops"] if op.get("phase") == "update"}, {"w"})

    def test_the_source_is_told(self) -> None:
        self.assertEqual(self.document_["source"], {
            "framework": f"jax {jax.__version__}", "model": "step", "exporter": "emplace import --from jax",
            "declared": {"parameters": ["w"], "optimizer_state": ["m"]}})

    def test_equal_steps_give_equal_bytes(self) -> None:
        first = graph_file.serialize(self.document_)
        self.setUp()
        self.assertEqual(graph_file.serialize(self.document_), first)


@needs_jax
class StateThatIsReadLater(Imports):
    def test_a_reader_is_waited_for(self) -> None:
        """w is read by a norm that the new w does not need: it must come first."""
        self.document(lambda w, g: (jnp.sum(w * w), w - g), Array((3,), jnp.float32), Array((3,), jnp.float32),
                      parameters="w")
        self.assertEqual(self.writer("w")["control_inputs"], [self.ops["mul"]["id"]])

    def test_results_like_state_without_a_backward_pass_are_told(self) -> None:
        arguments = [Array((3,), jnp.float32), Array((3,), jnp.float32)]
        self.document(lambda w, x: w * x, *arguments, parameters="w")
        self.assertEqual([line.what for line in self.imported.dropped], ["new value of state"])
        self.document(lambda w, x: w * x, *arguments, parameters="w", updates=False)
        self.assertEqual(self.imported.dropped, [])
        self.assertNotIn("alias_of", self.tensors["mul"])

    def test_what_is_needed_afterwards_is_overwritten_by_a_copy(self) -> None:
        self.document(lambda w, g: (w - g, jnp.sum(w * (w - g))), Array((3,), jnp.float32), Array((3,), jnp.float32),
                      parameters="w")
        copy = self.writer("w")
        self.assertEqual((copy["kind"], copy["bytes_accessed"]), ("jax.copy", 24))
        readers = [op["id"] for op in self.document_["ops"]
                   if self.tensors["w"]["id"] in op["inputs"] and op is not copy]
        self.assertEqual(copy["control_inputs"], readers)

    def test_two_states_change_places(self) -> None:
        self.document(lambda a, b: (b, a), Array((3,), jnp.float32), Array((3,), jnp.float32), parameters=["a", "b"])
        self.assertEqual(self.kinds(), ["jax.copy"] * 4)  # each is saved, then written
        saved = {self.ops[name]["id"] for name in ("update/saved", "update/saved_1")}
        for name in "ab":
            self.assertEqual(set(self.writer(name)["control_inputs"]), saved)

    def test_what_does_not_change_is_not_written(self) -> None:
        self.document(lambda w, x: (w, x * 2), Array((3,), jnp.float32), Array((3,), jnp.float32), parameters="w")
        self.assertEqual(self.kinds(), ["jax.mul"])

    def test_state_without_new_value_is_told(self) -> None:
        def step(w, frozen, x):
            return w - jax.grad(lambda w: jnp.sum(w * frozen["a"] * x))(w)
        self.document(step, Array((3,), jnp.float32), {"a": Array((3,), jnp.float32)}, Array((3,), jnp.float32),
                      parameters=["w", "frozen"])
        self.assertEqual([str(line) for line in self.imported.dropped],
                         ["state like frozen/a x 1: the step returns no value with the structure of its argument, so "
                          "it is not updated"])

    def test_a_part_of_an_argument(self) -> None:
        def step(state, x):
            return {"params": state["params"] - x, "count": state["count"] + 1}
        state = {"params": Array((3,), jnp.float32), "count": Array((), jnp.int32)}
        self.document(step, state, Array((3,), jnp.float32), parameters=["state"], optimizer_state=["0.count"])
        self.assertEqual(self.tensors["state/count"]["role"], "optimizer_state")
        self.assertEqual(self.tensors["state/params"]["role"], "parameter")
        self.assertEqual(self.writer("state/count")["kind"], "jax.add")


@needs_jax
class CallsAndLoops(Imports):
    def test_calls_are_put_in_place(self) -> None:
        @jax.custom_vjp
        def twice(x):
            return x + x
        twice.defvjp(lambda x: (x + x, None), lambda _, g: (g + g,))
        self.document(jax.jit(lambda x: jax.jit(jax.nn.relu)(twice(x))), Array((3,), jnp.float32))
        self.assertEqual(self.kinds(), ["jax.add", "jax.max"])

    def test_a_recomputed_layer_is_backward(self) -> None:
        def step(w, x):
            layer = jax.checkpoint(lambda w, x: jnp.sin(jnp.tanh(x @ w)))
            return w - jax.grad(lambda w: jnp.sum(layer(w, x) ** 2))(w)
        self.document(step, Array((3, 3), jnp.float32), Array((4, 3), jnp.float32), parameters="w")
        products = [op.get("phase", "forward") for op in self.document_["ops"] if op["kind"] == "jax.dot_general"]
        self.assertEqual(products, ["forward", "backward", "backward"])  # forward, again, gradient

    def test_scans(self) -> None:
        def step(w, x):
            return jax.lax.scan(lambda h, row: (jnp.tanh(h @ w + row), jnp.sum(h)), jnp.zeros((2, 3)), x)
        arguments = (Array((3, 3), jnp.float32), Array((5, 2, 3), jnp.float32))
        once = 2 * 2 * 3 * 3 + 6 + 6 + 5  # product, sum, tanh; the sum of 6 numbers
        self.document(step, *arguments, parameters="w")
        self.assertEqual(self.kinds(), ["jax.broadcast_in_dim", "jax.scan"])
        self.assertEqual(self.flops(), 5 * once)
        self.assertEqual(str(self.imported.dropped[0]), "jax.scan x 1: one op, with the work of all its steps")
        self.document(step, *arguments, parameters="w", unroll=5)
        self.assertEqual(self.flops(), 5 * once)
        self.assertEqual(self.kinds().count("jax.dot_general"), 5)
        self.assertEqual(self.tensors["concatenate"]["shape"], [5])
        self.document(step, *arguments, parameters="w", unroll=4)
        self.assertIn("jax.scan", self.kinds())

    def test_a_scan_from_behind(self) -> None:
        """The results stand in the order of the inputs, whatever the order of the steps."""
        def step(x):
            return jax.lax.scan(lambda h, row: (h + row, h * row), jnp.zeros(2), x, reverse=True)[1]
        self.document(step, Array((3, 2), jnp.float32), unroll=8)
        concatenate = self.ops["concatenate"]
        names = {t["id"]: t["name"] for t in self.document_["tensors"]}
        self.assertEqual([names[t].split("/")[0] for t in concatenate["inputs"] if "mul" in names[t]],
                         ["step_0", "step_1", "step_2"])

    def test_loops_and_branches(self) -> None:
        def step(x, w):
            x = jax.lax.while_loop(lambda x: jnp.sum(x) < 10, lambda x: x @ w, x)
            return jax.lax.cond(x[0, 0] > 0, lambda x: x @ w, lambda x: x + 1, x)
        self.document(step, Array((3, 3), jnp.float32), Array((3, 3), jnp.float32), parameters="w",
                      updates=False)
        self.assertEqual(self.ops["while"]["flops"], 2 * 27 + 8 + 1)  # a product; 8 additions, one comparison
        self.assertEqual(self.ops["cond"]["flops"], 2 * 27)
        self.assertEqual([str(line) for line in self.imported.dropped],
                         ["jax.cond x 1: one op, with the work of its largest branch",
                          "jax.while x 1: one op, with the work of one round; the number of rounds is known at run time only"])

    def test_what_nobody_needs_is_left_out(self) -> None:
        def step(x):
            jax.debug.print("{}", x)
            jnp.cos(x)
            return jnp.sin(x), x + 1
        self.document(step, Array((3,), jnp.float32))
        self.assertEqual(self.kinds(), ["jax.sin", "jax.add"])
        self.assertTrue(any("has no result" in line.why for line in self.imported.dropped))

    def test_what_places_ops_itself_is_refused(self) -> None:
        mesh = jax.make_mesh((1,), ("devices",), axis_types=(jax.sharding.AxisType.Auto,))
        spec = jax.sharding.PartitionSpec("devices")
        step = jax.shard_map(lambda x: x * 2, mesh=mesh, in_specs=spec, out_specs=spec)
        with self.assertRaisesRegex(ImportFailure, "calls shard_map, which spreads it over devices"):
            import_jax(step, Array((4,), jnp.float32))

    def test_random_numbers(self) -> None:
        """A key is two words of 4 B; random bits are integer work."""
        self.document(lambda key: jax.random.bits(key, (3, 4)), jax.eval_shape(lambda: jax.random.key(0)))
        self.assertEqual((self.tensors["key"]["dtype"], self.tensors["key"]["bytes"]), ("key", 8))
        self.assertEqual(self.flops(), 0)

    def test_captured_arrays_are_constants(self) -> None:
        table = jnp.ones((10, 3))
        self.document(lambda i: table[i], Array((4,), jnp.int32))
        self.assertEqual((self.ops["constant"]["kind"], self.tensors["constant"]["role"]), ("constant", "buffer"))
        self.assertIn("array that the step captures", [line.what for line in self.imported.dropped])


@needs_jax
class Refusals(Folder):
    def run_command(self, text: str, name: str, *arguments: str) -> tuple[int, str]:
        file, self.output = self.write("train.py", text), self.path("step.json.gz")
        code, _, said = run("--from", "jax", f"{file}:{name}", "-o", self.output, *arguments)
        return code, said

    def refuse(self, expected: str, text: str, name: str = "training", *arguments: str) -> None:
        code, said = self.run_command(text, name, *arguments)
        self.assertEqual(code, 2, said)
        self.assertRegex(said, f"^emplace import: .*{expected}.*\n$")
        self.assertEqual(said.count("\n"), 1, said)
        self.assertFalse(os.path.exists(self.output))

    def test_a_step_becomes_a_graph_file(self) -> None:
        code, said = self.run_command(SGD, "training", "--set", "batch=8")
        self.assertEqual(code, 0, said)
        document = graph_file.read(self.output)
        self.assertEqual(document["source"]["settings"], {"batch": 8})
        self.assertEqual(document["source"]["model"], "train.py:training")
        self.assertIn("6 parameters, 1 co-location groups", said)
        self.assertIn([8, 3], [tensor["shape"] for tensor in document["tensors"]])

    def test_files(self) -> None:
        self.refuse("expected FILE.py:FUNCTION", SGD, "no function")
        self.refuse("has no function 'train'; choices: loss, step, training", SGD, "train")
        self.refuse(r"train.py:1: (invalid syntax|.*never closed)", "def training(:")
        self.refuse(r"train.py:2: running it failed: ZeroDivisionError: division by zero", "\n1 / 0")
        self.refuse(r"training\(\) failed: TypeError: .*unexpected keyword argument 'size'", SGD, "training", "--set",
                    "size=3")

    def test_what_a_function_returns(self) -> None:
        self.refuse("returned int, expected a dict with step, arguments", "def training(): return 3")
        self.refuse("returned the unknown key 'args'; choices: step, arguments, parameters",
                    "def training(): return {'args': 1}")
        self.refuse("returned no 'arguments'", "def training(): return {'step': len}")
        self.refuse("the arguments of the step that are parameters are not known", SGD.replace('"parameters": "w",', ""))

    def test_declarations(self) -> None:
        self.refuse("no argument 'v'; choices: w, x, y", SGD, "training", "--parameters", "v")
        self.refuse("'w' is declared twice, as parameter and as optimizer_state", SGD, "training",
                    "--optimizer-state", "w")

    def test_steps_that_cannot_be_traced(self) -> None:
        self.refuse(r"the step cannot be traced: TypeError: .*\(.*train.py:6\)",
                    SGD.replace("Array((3, 2), jnp.float32), Array((batch, 3)",
                                "Array((5, 2), jnp.float32), Array((batch, 3)"))


if __name__ == "__main__":
    unittest.main()
