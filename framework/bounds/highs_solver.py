"""Solves one mixed-integer program by HiGHS (package highspy) for framework/bounds/highs.cc.

Standard input has the program as a line of JSON: cost, lower, upper (columns), row_lower, row_upper, row_begin, column, value
(rows), whole (columns that are 0 or 1), and gap (relative, at which it ends). Lines of standard output are

    missing REASON          there is no highspy
    bound VALUE             a larger lower bound
    solution COLUMN...      a better solution: the columns of whole that are 1
    done VALUE              the bound at the end; inf: no solution

Other lines are of HiGHS itself. The process ends when its input is closed.
"""

import json
import os
import sys
import threading

try:
    import highspy
    import numpy as np
except ImportError as error:
    print("missing", error, flush=True)
    sys.exit(0)


def tell(*words):
    print(*words, flush=True)


def main():
    model = json.loads(sys.stdin.readline())
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(model["cost"]), len(model["row_lower"])
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = (np.array(model[key]) for key in ("cost", "lower", "upper"))
    lp.row_lower_, lp.row_upper_ = np.array(model["row_lower"]), np.array(model["row_upper"])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.array(model["row_begin"], dtype=np.int32)
    lp.a_matrix_.index_ = np.array(model["column"], dtype=np.int32)
    lp.a_matrix_.value_ = np.array(model["value"])
    kinds = [highspy.HighsVarType.kContinuous] * lp.num_col_
    for column in model["whole"]:
        kinds[column] = highspy.HighsVarType.kInteger
    lp.integrality_ = kinds
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", model["gap"]), ("mip_abs_gap", 0.0)):
        solver.setOptionValue(option, value)
    best = -float("inf")

    def look(event):
        nonlocal best
        bound = event.data_out.mip_dual_bound
        if best < bound < float("inf"):
            best = bound
            tell("bound", repr(float(bound)))

    whole = np.array(model["whole"], dtype=int)

    def give(solution):
        tell("solution", *whole[np.array(solution)[whole] > 0.5])

    solver.cbMipInterrupt += look
    solver.cbMipImprovingSolution += lambda event: give(event.data_out.mip_solution)
    solver.passModel(lp)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        tell("done", "inf")
    elif status == highspy.HighsModelStatus.kOptimal:
        give(solver.getSolution().col_value)
        tell("done", repr(float(solver.getInfo().mip_dual_bound)))
    else:
        tell("done", repr(best))


main()
