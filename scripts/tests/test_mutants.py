"""The mutants that scripts/mutants makes of a source, and how it judges a test program."""

from __future__ import annotations

import contextlib
import io
import pathlib
import subprocess
import tempfile
import time
import unittest

from script import load

mutants = load("mutants")

SOURCE = '''\
#include <a.h>  // 1 < 2
#define LONG(x) \\
  x < 1
template <class T, int n = 1>
int Sum(const std::vector<int>& v, bool all) {
  // a < b, 0
  /* true
     && 1 */
  const char* text = "a < b && 1 + \\" 1";
  const char sign = '0', quote = '"';
  int sum = 1'000'0;
  for (int i = 0; i < 10; ++i) {
    if (!all && v[i] == -2) continue;
    sum = sum + v[i] * 1.5f;
    throw Error(1 + 1);
  }
  return true;
}
'''


class MutantsOfASource(unittest.TestCase):

    def test_kinds_and_places(self) -> None:
        changes = [(m.line, m.old.strip(), m.new.strip()) for m in mutants.mutants_of(SOURCE)]
        self.assertEqual(changes, [
            (12, "0", "1"), (12, "<", "<="), (12, "<", ">="),
            (13, "!", ""), (13, "&&", "||"), (13, "==", "!="), (13, "continue;", "break;"),
            (14, "+", "-"),
            (17, "true", "false"),
        ])

    def test_each_changes_its_own_line_alone(self) -> None:
        lines = SOURCE.split("\n")
        for mutant in mutants.mutants_of(SOURCE):
            changed = mutant.of(SOURCE).split("\n")
            self.assertEqual([i + 1 for i, line in enumerate(lines) if line != changed[i]], [mutant.line])
        negated = next(m for m in mutants.mutants_of(SOURCE) if m.old == "!")
        self.assertIn("if (all && v[i] == -2)", negated.of(SOURCE))

    def test_every_token_has_a_swap(self) -> None:
        for old, news in mutants.SWAPS.items():
            self.assertTrue(mutants.TOKEN.search(f"a{old}a" if old[0] == " " else f"{old}(" if old == "!" else old), old)
            self.assertNotIn(old, news)

    def test_drawing_is_by_seed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("agents/a.cc", "agents/deep/b.cc", "agents/c.h"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(SOURCE)
            drawn = mutants.draw(root, "agents", 6, 1)
            self.assertEqual(drawn, mutants.draw(root, "agents", 6, 1))
            self.assertNotEqual(drawn, mutants.draw(root, "agents", 6, 2))
            self.assertEqual(len({(source, mutant.offset) for source, mutant in drawn}), 6)
            everything = mutants.draw(root, "agents", 1000, 1)
            self.assertEqual(len(everything), 16)  # 8 places in each of the two sources
            self.assertEqual({source for source, _ in everything}, {"agents/a.cc", "agents/deep/b.cc"})
            with self.assertRaisesRegex(mutants.Refused, r"agents/none: no \*.cc with anything to change"):
                mutants.draw(root, "agents/none", 1, 1)


def is_running(stat: pathlib.Path) -> bool:
    """Returns whether the process of /proc/PID/stat exists and is not a zombie."""
    try:
        return stat.read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Judging(unittest.TestCase):

    def test_outcomes(self) -> None:
        self.assertEqual(mutants.outcome_of(0, ""), "survived")
        self.assertEqual(mutants.outcome_of(1, "ERROR: CHECK( a == b ) is NOT correct!"), "killed by assertion")
        self.assertEqual(mutants.outcome_of(1, "FATAL ERROR: test case CRASHED: SIGSEGV"), "crash")
        self.assertEqual(mutants.outcome_of(-11, ""), "crash")
        self.assertEqual(mutants.outcome_of(None, ""), "timeout")

    def test_time_limit_ends_what_was_started(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            command = ["sh", "-c", "sleep 1000 & echo $!; wait"]
            self.assertIsNone(mutants.run(command, pathlib.Path(folder), 2, log))
            child = pathlib.Path("/proc") / log.read_text().strip() / "stat"
            deadline = time.monotonic() + 60  # the kernel delivers SIGKILL after killpg() has returned
            while is_running(child) and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertFalse(is_running(child))
            self.assertEqual(mutants.run(["sh", "-c", "exit 3"], pathlib.Path(folder), 60, log), 3)

    def test_copy_leaves_unchanged_files_and_the_checkout_alone(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder) / "source", pathlib.Path(folder) / "target"
            source.mkdir()
            subprocess.run(["git", "init", "-q"], cwd=source, check=True)
            for name in ("a.cc", "b.cc"):
                (source / name).write_text("1\n")
            mutants.copy_tree(source, target)
            before = (target / "a.cc").stat().st_mtime_ns
            (source / "b.cc").unlink()
            (source / "c.cc").write_text("2\n")
            mutants.copy_tree(source, target)
            self.assertEqual((target / "a.cc").stat().st_mtime_ns, before)
            self.assertEqual(sorted(p.name for p in target.iterdir()), ["a.cc", "c.cc"])
            self.assertEqual(sorted(p.name for p in source.glob("*.cc")), ["a.cc", "c.cc"])


class CommandLine(unittest.TestCase):

    def test_refusals(self) -> None:
        for arguments, message in (
                (["nowhere"], "nowhere: expected a folder below one of framework, simulator, agents"),
                (["framework/grahp"], r"framework/grahp: no such folder; choices: .*framework/graph,"),
                (["agents", "--count", "0"], "--count: expected a number >= 1, got 0")):
            with self.assertRaisesRegex(mutants.Refused, message):
                mutants.main(arguments)
        with contextlib.redirect_stderr(io.StringIO()) as errors, self.assertRaises(SystemExit):
            mutants.main(["agents", "--count", "x"])
        self.assertIn("--count: invalid int value: 'x'", errors.getvalue())

    def test_programs_of_folders(self) -> None:
        self.assertEqual(mutants.program_of("framework/graph"), "framework_test")
        self.assertEqual(mutants.program_of("framework/bounds"), "framework_bounds_test")
        self.assertEqual(mutants.program_of("profilers/cpu/kernels"), "profilers_cpu_test")


if __name__ == "__main__":
    unittest.main()
