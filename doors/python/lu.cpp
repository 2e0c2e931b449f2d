// Matrices arrive as operands whose columns are contiguous; pivots, info and workspace as addresses of 64-bit
// integers and bytes that the package's Python half owns.
#include "lu.hpp"

#include <nanobind/stl/string.h>

#include "operand.hpp"
#include "options.hpp"
#include "product.hpp"
#include "tilewright/lu.hpp"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

// A matrix by columns, as every routine here expects it.
struct Columns {
  View view;
  std::int64_t rows, cols, ld;
};

Columns columns_of(const char* name, nb::handle object) {
  const View x = view_of(name, object);
  const bool empty = x.ndim == 2 && (x.shape[0] == 0 || x.shape[1] == 0);  // strides then have no meaning
  if (x.ndim != 2 || !x.regular || (!empty && x.shape[0] > 1 && x.strides[0] != 1))
    throw Error(ErrorCode::invalid_argument, name, std::string(name) + " is not a column-major matrix");
  const std::int64_t least = std::max<std::int64_t>(x.shape[0], 1);
  return {x, x.shape[0], x.shape[1], !empty && x.shape[1] > 1 ? x.strides[1] : least};
}

template <class T>
T* at(const Columns& x) {
  return reinterpret_cast<T*>(x.view.data);
}

LuOptions options_of(const std::string& target, int threads, const std::string& candidate, std::int64_t nb,
                     int device) {
  LuOptions options;
  options.target = parse_target(target);
  options.threads = threads, options.candidate = candidate, options.nb = nb, options.device = device;
  return options;
}

nb::dict row_of(const LuReport& report) {
  nb::dict row;
  row["info"] = report.info;
  row["candidate"] = report.candidate;
  row["nb"] = report.nb;
  row["panel_s"] = report.panel_s, row["swap_s"] = report.swap_s;
  row["solve_s"] = report.solve_s, row["update_s"] = report.update_s;
  row["gpus"] = report.gpus;
  return row;
}

std::span<const std::int64_t> pivots_of(const Columns& lu, std::uint64_t address) {
  return {reinterpret_cast<const std::int64_t*>(address), std::size_t(lu.cols)};
}

LuReport factor(Library& library, const Columns& a, std::uint64_t pivots, const LuOptions& options) {
  LuReport report;
  const Unlocked unlocked(true);
  with_type(a.view.dtype, [&]<class T>(T) {
    report = lu_factor<T>(library.context(), {at<T>(a), a.rows, a.cols, a.ld},
                          {reinterpret_cast<std::int64_t*>(pivots), std::size_t(std::min(a.rows, a.cols))},
                          options);
  });
  return report;
}

void solve(Library& library, Op op, const Columns& lu, std::uint64_t pivots, const Columns& b,
           const LuOptions& options) {
  const Unlocked unlocked(true);
  with_type(lu.view.dtype, [&]<class T>(T) {
    lu_solve<T>(library.context(), op, {at<T>(lu), lu.cols, lu.cols, lu.ld}, pivots_of(lu, pivots),
                {at<T>(b), lu.cols, b.cols, b.ld}, options);
  });
}

LuReport invert(Library& library, const Columns& lu, std::uint64_t pivots, const LuOptions& options) {
  LuReport report;
  const Unlocked unlocked(true);
  with_type(lu.view.dtype, [&]<class T>(T) {
    report = lu_inverse<T>(library.context(), {at<T>(lu), lu.cols, lu.cols, lu.ld}, pivots_of(lu, pivots),
                           options);
  });
  return report;
}

LuProblem problem_of(const std::string& dtype, std::int64_t m, std::int64_t n, std::int64_t lda) {
  return {parse_dtype(dtype), m, n, lda, Location::device};
}

// The caller has asked the plan for the size of its workspace.
template <class Plan>
std::span<std::byte> room_of(const Plan& plan, std::uint64_t workspace) {
  if (workspace == 0) return {};
  return {reinterpret_cast<std::byte*>(workspace), std::size_t(plan.workspace_bytes())};
}

// Binds plans of matrices on a GPU, and their runs with addresses of device memory.
void bind_plans(nb::module_& module, Library& library) {
  nb::class_<LuPlan>(module, "LuPlan")
      .def_prop_ro("workspace_bytes", &LuPlan::workspace_bytes)
      .def("explain", &LuPlan::explain)
      .def("factor", [](const LuPlan& plan, std::uint64_t a, std::uint64_t pivots, std::uint64_t info,
                        std::uint64_t workspace, std::uint64_t stream) {
        const Unlocked unlocked(true);
        with_type(plan.problem().dtype, [&]<class T>(T) {
          plan.factor(reinterpret_cast<T*>(a), reinterpret_cast<std::int64_t*>(pivots),
                      reinterpret_cast<std::int64_t*>(info), room_of(plan, workspace),
                      reinterpret_cast<CUstream_st*>(stream));
        });
      });
  module.def("plan_lu", [&library](const std::string& dtype, std::int64_t m, std::int64_t n, std::int64_t lda,
                                   int device) {
    const Unlocked unlocked(true);
    return plan_lu(library.context(), problem_of(dtype, m, n, lda), options_of("auto", 0, "", 0, device));
  });
  nb::class_<LuSolvePlan>(module, "LuSolvePlan")
      .def_prop_ro("workspace_bytes", &LuSolvePlan::workspace_bytes)
      .def("solve", [](const LuSolvePlan& plan, const std::string& dtype, std::uint64_t lu,
                       std::uint64_t pivots, std::uint64_t b, std::uint64_t workspace, std::uint64_t stream) {
        const Unlocked unlocked(true);
        with_type(parse_dtype(dtype), [&]<class T>(T) {
          plan.solve(reinterpret_cast<const T*>(lu), reinterpret_cast<const std::int64_t*>(pivots),
                     reinterpret_cast<T*>(b), room_of(plan, workspace),
                     reinterpret_cast<CUstream_st*>(stream));
        });
      });
  module.def("plan_lu_solve",
             [&library](const std::string& dtype, std::int64_t n, std::int64_t lda, const std::string& op,
                        std::int64_t nrhs, std::int64_t ldb, int device) {
               const Unlocked unlocked(true);
               return plan_lu_solve(library.context(), problem_of(dtype, n, n, lda), parse_op(op), nrhs, ldb,
                                    options_of("auto", 0, "", 0, device));
             });
}

}  // namespace

void bind_lu(nb::module_& module, Library& library) {
  module.def(
      "lu_factor",
      [&library](nb::handle a, std::uint64_t pivots, const std::string& target, int threads,
                 const std::string& candidate, std::int64_t nb) {
        return row_of(
            factor(library, columns_of("a", a), pivots, options_of(target, threads, candidate, nb, 0)));
      },
      nb::arg("a"), nb::arg("pivots"), nb::arg("target"), nb::arg("threads"), nb::arg("candidate"),
      nb::arg("nb"));
  module.def(
      "lu_solve",
      [&library](const std::string& op, nb::handle lu, std::uint64_t pivots, nb::handle b,
                 const std::string& target, int threads) {
        solve(library, parse_op(op), columns_of("lu", lu), pivots, columns_of("b", b),
              options_of(target, threads, "", 0, 0));
      },
      nb::arg("op"), nb::arg("lu"), nb::arg("pivots"), nb::arg("b"), nb::arg("target"), nb::arg("threads"));
  module.def(
      "lu_inverse",
      [&library](nb::handle lu, std::uint64_t pivots, const std::string& target, int threads) {
        return row_of(invert(library, columns_of("lu", lu), pivots, options_of(target, threads, "", 0, 0)));
      },
      nb::arg("lu"), nb::arg("pivots"), nb::arg("target"), nb::arg("threads"));
  bind_plans(module, library);
}

}  // namespace tilewright::python
