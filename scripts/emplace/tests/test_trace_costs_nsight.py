"""Tests of databases of Nsight Systems: made here in the documented schema, none of a real GPU was at hand."""

import pathlib
import sqlite3
import unittest

from support import Folder
from traces_support import gpu_trace, nsight_database

from emplace.importers import ImportFailure
from emplace.importers.kineto import copies, trace
from emplace.trace_costs import nsight, steps


def changed(path: str, *statements: str) -> None:
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


class Nsight(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.database = self.path("a #1?%20.sqlite")
        nsight_database(self.database)

    def test_is_the_profilers_trace(self) -> None:
        """The step of traces_support.gpu_trace, as the other tool writes it."""
        self.assertTrue(nsight.is_database(self.database))
        document = nsight.document(self.database)
        self.assertEqual(document["deviceProperties"], [{"name": "NVIDIA H100 80GB HBM3"}])
        ours, theirs = (trace.read_steps(each, "t")[0] for each in (document, gpu_trace()))
        self.assertEqual((len(ours.kernels.lost), ours.span, ours.has_shapes), (1, theirs.span, True))
        found, expected = (steps.read([each], {"mm"})[0].calls for each in (ours, theirs))
        self.assertEqual([(call.name, call.time, call.work.family, call.work.sizes, call.optimizer) for call in found],
                         [(call.name, call.time, call.work.family, call.work.sizes, call.optimizer)
                          for call in expected])
        self.assertEqual({call.work.dtype for call in found}, {""})  # types are not in the file

    def test_copies(self) -> None:
        changed(self.database, "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INT, end INT, deviceId INT, "
                           "correlationId INT, bytes INT, copyKind INT, srcKind INT, dstKind INT)",
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 1500, 0, 50, 1000, 1, 2, 3), "
                "(0, 2500, 1, 51, 2000, 2, 3, 1), (0, 9, 0, 52, 3000, 8, 3, 3)")
        self.assertEqual(copies.copies(nsight.document(self.database), "t"), [
            copies.Copy("cpu:0", "gpu:0", "pinned", 1000, 1500), copies.Copy("gpu:1", "cpu:0", "pageable", 2000, 2500)])

    def test_what_is_refused(self) -> None:
        other = self.database + ".2"
        for statement, expected in (
                ("DROP TABLE NVTX_EVENTS", "a #1?%20.sqlite.2: has no table NVTX_EVENTS; record with nsys profile"),
                ("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN correlationId",
                 "table CUPTI_ACTIVITY_KIND_KERNEL has no column correlationId; it has start, end"),
                ("UPDATE NVTX_EVENTS SET textId = NULL, text = 'aten::mm, sizes = [[4,]]' WHERE textId = 1",
                 "NVTX_EVENTS: 'aten::mm': sizes are '[[4,]]', expected a list of shapes")):
            pathlib.Path(other).write_bytes(pathlib.Path(self.database).read_bytes())
            changed(other, statement)
            with self.subTest(expected), self.assertRaises(ImportFailure) as caught:
                nsight.document(other)
            self.assertIn(expected, str(caught.exception))
        data = bytearray(pathlib.Path(self.database).read_bytes())
        data[100:] = b"\xff" * (len(data) - 100)
        pathlib.Path(other).write_bytes(bytes(data))
        with self.assertRaisesRegex(ImportFailure, r"#1\?%20.sqlite.2: is a broken database"):
            nsight.document(other)
        with self.assertRaisesRegex(ImportFailure, "none: cannot be read: No such file"):
            nsight.is_database(other + ".none")


if __name__ == "__main__":
    unittest.main()
