"""Readers of published links and collectives: small tables by hand."""

from __future__ import annotations

import pathlib
import unittest

from published_support import write_collective, write_link, write_sailor
from support import Folder

from emplace.published import sailor
from emplace.published.tables import LeftOut, LinkCase, OpCase, PublishedFailure


class Tables(Folder):
    def read(self) -> tuple[list[OpCase | LinkCase], list[LeftOut]]:
        return sailor.ops(pathlib.Path(self.folder))

    def refused(self, path: pathlib.Path, text: str, expected: str) -> None:
        path.write_text(text, encoding="utf-8")
        with self.assertRaises(PublishedFailure) as refused:
            self.read()
        self.assertIn(expected, str(refused.exception))

    def test_collectives(self) -> None:
        sizes = (32, 1, 2, 4, 20)  # 20 is the fourth in ascending order
        for name in ("all_gather_2gpus", "all_reduce_4gpus", "all_to_all_4gpus", "reduce_scatter_8gpus"):
            write_collective(self.folder, name, [(size, f"{size / 10:.3f}") for size in sizes])
        cases, left_out = self.read()
        self.assertEqual((len(cases), left_out), (20, []))
        gather = cases[0]
        assert isinstance(gather, OpCase)
        self.assertEqual((gather.case, gather.gpu, gather.group, gather.kind, gather.group_size),
                         ("X1/prim_OPT-350_all_gather_2gpus/32MiB", "X1", "all_gather, 2 GPUs",
                          "collective.all_gather", 2))
        self.assertEqual((gather.measured, gather.totals), (3.2e6, ("all collectives", "collectives up to 256 MiB")))
        # 32 MiB are 2^23 elements. The results of a gather on 2 GPUs are twice as large, of a scatter on 8 an eighth.
        results = [case.output for case in cases if isinstance(case, OpCase) and case.inputs == ((2**23,),)]
        self.assertEqual(results, [(2**24,), (2**23,), (2**23,), (2**20,)])
        self.assertEqual([case.fold for case in cases if isinstance(case, OpCase)], [0, 0, 1, 2, 3] * 4)

    def test_collectives_that_are_left_out(self) -> None:
        write_collective(self.folder, "all_reduce_2gpus", [(0, "0.050"), (1, "0.100"), (2, "1000000.000"),
                                                           (4, "1000000000.000")])
        cases, left_out = self.read()
        self.assertEqual([case.case for case in cases], ["X1/prim_OPT-350_all_reduce_2gpus/1MiB"])
        self.assertEqual([(left.case.rpartition("/")[2], left.why) for left in left_out], [
            ("0MiB", "its size is rounded down to 0"), ("2MiB", "its measurement failed"),
            ("4MiB", "too large to be measured")])

    def test_links(self) -> None:
        path = write_link(self.folder, {1: 100, 512: 20_000})
        link = self.read()[0][1]
        assert isinstance(link, LinkCase)
        self.assertEqual((link.case, link.gpu, link.group, link.num_bytes, link.totals),
                         ("X1/p2p_intra_node/512MiB", "X1", "p2p_intra_node", 2**29,
                          ("all transfers", "transfers above 256 MiB")))
        # 25 GiB/s: half a GiB takes 20 ms.
        self.assertEqual(path.read_text(encoding="utf-8").split()[1].split(",")[1], "25.0")
        self.assertAlmostEqual(link.measured, 20e6)
        path.write_text("1,2\n2,4\n1,2\n1,2.5\n", encoding="utf-8")  # two runs
        self.assertEqual([round(case.measured) for case in self.read()[0]], [488_281, 488_281, 976_562, 781_250])

    def test_damaged_collectives_are_refused(self) -> None:
        path = write_collective(self.folder, "all_reduce_2gpus", [])
        first = "data_size(MB),time(ms)\n"
        for text, expected in (
                (first + "1,-0.1\n", "all_reduce_2gpus.csv:2: time(ms) is '-0.1', expected a number from 0 to 1e+12"),
                (first + "1,0\n", ":2: time(ms) is '0', expected a time above 0"),
                (first + ",1\n", ":2: data_size(MB) is '', expected a number from 0"),
                (first + "1e7,1\n", ":2: data_size(MB) is '1e7', expected a size from 0 to 1e+06"),
                (first + "1\n", ":2: ends before the column time(ms)"),
                ("data_size(MB)\n1\n", ":1: has no column time(ms)"), (first, ".csv: has no row")):
            self.refused(path, text, expected)
        path.unlink()
        for name in ("allreduce_2gpus", "all_reduce_1gpus", "all_reduce", "all_reduce_02gpus"):
            path = write_collective(self.folder, name, [(1, 1)])
            self.refused(path, first + "1,1\n", f"prim_OPT-350_{name}.csv: expected a name such as prim_OPT-350_all_")
            path.unlink()

    def test_damaged_links_are_refused(self) -> None:
        path = write_link(self.folder, {1: 1})
        for text, expected in (("1,2\n5,-5\n", "p2p_intra_node.csv:2: 2 is '-5', expected a number from 0"),
                               ("1,2\n5,0\n", ":2: 2 is '0', expected a bandwidth from 1e-06 to 1e+06"),
                               ("1,2\n5,fast\n", ":2: 2 is 'fast'"), ("1,2\n5\n", ":2: ends before the column 2"),
                               ("1,2\n5,6,7\n", ":2: has more cells than the 2 columns"),
                               ("1,-2\n5,5\n", ":1: has a column '-2', expected sizes such as 64 [MB]"),
                               ("size,2\n5,5\n", ":1: has a column 'size'"), ("1,\n5,5\n", ":1: has a column ''"),
                               ("1,1\n5,5\n", ":1: has a column twice: 1, 1"), ("1,2\n", "has no row"),
                               ("", "has no row")):
            self.refused(path, text, expected)
        path.rename(path.with_name("links.csv"))
        with self.assertRaisesRegex(PublishedFailure, r"holds no file \*_mbs\*_tp\*_algo\*\.csv, prim_\*\.csv, p2p_"):
            self.read()

    def test_ops_come_first(self) -> None:
        write_link(self.folder, {1: 1})
        write_sailor(self.folder, 2)
        cases, _ = self.read()
        self.assertEqual([type(case) for case in cases], [OpCase] * 4 + [LinkCase])
        self.assertEqual(cases[0].totals, ("all ops",))


if __name__ == "__main__":
    unittest.main()
