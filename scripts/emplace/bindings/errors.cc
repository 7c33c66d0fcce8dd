#include <exception>
#include <string>

#include <nanobind/stl/string.h>

#include "framework/base/error.h"
#include "framework/base/interrupt.h"
#include "scripts/emplace/bindings/bindings.h"
#include "scripts/emplace/bindings/python_errors.h"

namespace emplace::python {

nb::handle budget_exhausted, interrupted;

void AddErrors(nb::module_& module) {
  const auto add = [&](const char* name, nb::handle base, const char* doc) {
    nb::object error = nb::steal(PyErr_NewExceptionWithDoc(
        (nb::cast<std::string>(module.attr("__name__")) + "." + name).c_str(),
        doc,
        base.ptr(),
        nullptr));
    module.attr(name) = error;
    return error.release();  // never freed: it lives as long as the module
  };
  static nb::handle input_error =
      add("InputError",
          PyExc_ValueError,
          "The input is wrong; the message gives place, value and expected value.");
  static nb::handle run_error =
      add("RunError", PyExc_RuntimeError, "A failure that is not caused by the input.");
  budget_exhausted = add("BudgetExhausted",
                         PyExc_Exception,
                         "The budget of a search ended within a step; the evaluations made until "
                         "then count. An agent must not catch it.");
  interrupted = add("Interrupted", PyExc_Exception, "The user stopped the search within a step.");
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const InputError& error) {
      PyErr_SetString(input_error.ptr(), error.what());
    } catch (const RunError& error) {
      PyErr_SetString(run_error.ptr(), error.what());
    } catch (const BudgetExhausted& error) {
      PyErr_SetString(budget_exhausted.ptr(), error.what());
    } catch (const Interrupted& error) {
      PyErr_SetString(interrupted.ptr(), error.what());
    }
  });
}

}  // namespace emplace::python
