// Problems are passed as their texts, the notation of logs, wisdom and the tool.
#include "learning.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "operand.hpp"
#include "product.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

GemmOptions on_device(const GemmOptions* options, int device) {
  GemmOptions own = options != nullptr ? *options : default_options();
  own.queue.device = device;
  return own;
}

bool is_lu(const std::string& problem) { return problem.rfind("lu:", 0) == 0; }

std::string explain_text(Library& library, const std::string& problem, const GemmOptions* options,
                         int device) {
  const Unlocked unlocked(true);
  if (!is_lu(problem)) return explain(library.context(), parse_problem(problem), on_device(options, device));
  LuOptions own;
  own.device = device;
  if (options != nullptr)
    own.target = options->target, own.threads = options->threads, own.candidate = options->candidate;
  return explain_lu(library.context(), parse_lu_problem(problem), own);
}

void prepare_all(Library& library, const std::vector<std::string>& texts, const GemmOptions* options,
                 int device) {
  std::vector<GemmProblem> problems;
  for (const std::string& text : texts) problems.push_back(parse_problem(text));
  const Unlocked unlocked(true);
  prepare(library.context(), problems, on_device(options, device));
}

nb::dict describe(const GemmProblem& p) {
  constexpr const char* dtypes[] = {"float32", "float64", "complex64", "complex128"};
  constexpr const char* layouts[] = {"single",  "strided", "pointer", "interleaved", "block_interleaved",
                                     "grouped", "variable"};
  nb::dict to;
  to["dtype"] = dtypes[int(p.dtype)];
  to["op"] = std::string(1, "ntc"[int(p.op_a)]) + "ntc"[int(p.op_b)];
  to["m"] = p.m, to["n"] = p.n, to["k"] = p.k;
  to["lda"] = p.lda, to["ldb"] = p.ldb, to["ldc"] = p.ldc;
  to["layout"] = layouts[int(p.layout)];
  to["batch_count"] = p.batch_count;
  to["location"] = p.location == Location::host ? "host" : "device";
  to["flops"] = flops(p);
  to["bytes"] = bytes(p);
  return to;
}

}  // namespace

void bind_learning(nb::module_& module, Library& library) {
  module.def(
      "explain",
      [&library](const std::string& problem, const GemmOptions* options, int device) {
        return explain_text(library, problem, options, device);
      },
      nb::arg("problem"), nb::arg("options") = nb::none(), nb::arg("device") = 0,
      "Explains what would run the problem and why, as text.");
  module.def(
      "prepare",
      [&library](const std::vector<std::string>& problems, const GemmOptions* options, int device) {
        prepare_all(library, problems, options, device);
      },
      nb::arg("problems"), nb::arg("options") = nb::none(), nb::arg("device") = 0,
      "Makes the plans of these problems and compiles what they need.");
  module.def(
      "describe", [](const std::string& problem) { return describe(parse_problem(problem)); },
      nb::arg("problem"), "The parts of a problem's text.");
  module.def(
      "problem_text",
      [](nb::handle a, nb::handle b, nb::handle c, std::complex<double> alpha, std::complex<double> beta,
         bool conj_a, bool conj_b) {
        const Product product(view_of("a", a), view_of("b", b), view_of("out", c),
                              {alpha, beta, conj_a, conj_b});
        return product.copies() == copy_none ? to_string(product.problem()) : std::string();
      },
      nb::arg("a"), nb::arg("b"), nb::arg("out"), nb::arg("alpha"), nb::arg("beta"), nb::arg("conj_a"),
      nb::arg("conj_b"), "The problem that a product is, as text; '' where operands would be copied first.");
  nb::class_<Record>(module, "Record", "The problems of a block of code.")
      .def(nb::init<>())
      .def("runs", [](const Record& record) {
        nb::list rows;
        for (const auto& [problem, runs] : record.runs()) {
          nb::dict row;
          row["problem"] = problem, row["count"] = runs.count, row["seconds"] = runs.seconds;
          rows.append(row);
        }
        return rows;
      });
  module.def("begin_record",
             [&library](const std::shared_ptr<Record>& record) { library.recorder().begin(record); });
  module.def("end_record",
             [&library](const std::shared_ptr<Record>& record) { library.recorder().end(record); });
  module.def(
      "clear_plan_cache", [&library] { library.context().clear_plan_cache(); },
      "Drops all plans, so that calls make new ones; for use after a change of wisdom.");
  module.def("cpu", [&library] { return library.context().cpu(); });
  module.def("wisdom_file", [&library] { return library.context().wisdom(); });
  module.def("gpu_count", [&library] { return library.context().gpu_count(); });
  module.def(
      "set_cblas", [&library](std::string path) { library.set_cblas(std::move(path)); }, nb::arg("path"));
  module.def("context_capsule", [&library] { return nb::capsule(&library.context(), "tilewright.Context"); });
}

}  // namespace tilewright::python
