// Each entry of the lists is a group of the library: matrices of one shape, as many as its leading dimensions
// give. Groups take addresses, so that any strides are possible.
#include "lists.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <tuple>
#include <vector>

#include "operand.hpp"
#include "overlap.hpp"
#include "product.hpp"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

struct ListEntry {
  Product product;
  Product::Addresses addresses;
  GemmProblem problem;
};

void check_entry(const View& a, const View& b, const View& c, const View& first, std::size_t index) {
  const auto wrong = [&](const char* argument, const std::string& what) {
    throw Error(ErrorCode::invalid_argument, argument, "problem " + std::to_string(index) + ": " + what,
                std::int64_t(index));
  };
  if (a.dtype != first.dtype || b.dtype != first.dtype || c.dtype != first.dtype)
    wrong("dtype", "its element type differs from that of the first");
  for (const View* x : {&a, &b, &c}) {
    if (x->location != Location::host) wrong("device", "it is not in host memory");
    if (x->ndim < 2) wrong("shape", "its arrays need at least two dimensions each");
  }
  if (c.read_only) wrong("out", "its out is read-only");
}

template <class T>
void run_entries(Context& context, const std::vector<ListEntry>& entries, const Factors& factors,
                 const GemmOptions& options) {
  std::vector<GemmGroup<T>> groups;
  for (const ListEntry& entry : entries) {
    const GemmProblem& p = entry.problem;
    GemmGroup<T> group;
    group.op_a = p.op_a, group.op_b = p.op_b;
    group.m = p.m, group.n = p.n, group.k = p.k;
    group.alpha = scalar<T>(factors.alpha), group.beta = scalar<T>(factors.beta);
    group.a = reinterpret_cast<const T* const*>(entry.addresses.a.data()), group.lda = p.lda;
    group.b = reinterpret_cast<const T* const*>(entry.addresses.b.data()), group.ldb = p.ldb;
    group.c = reinterpret_cast<T* const*>(entry.addresses.c.data()), group.ldc = p.ldc;
    group.count = std::int64_t(entry.addresses.c.size());
    if (group.count > 0) groups.push_back(group);
  }
  gemm_grouped<T>(context, groups, options);
}

// Records each entry as a batch of matrices by addresses, with its share of the time by operations.
void record_entries(Recorder& recorder, const std::vector<ListEntry>& entries, double seconds) {
  double all = 0;
  for (const ListEntry& entry : entries) all += flops(entry.problem);
  for (const ListEntry& entry : entries) {
    GemmProblem p = entry.problem;
    if (p.layout != Layout::single) {
      p.layout = Layout::pointer, p.outer_count = p.outermost_count = 1;
      for (auto stride : {&GemmProblem::stride_a, &GemmProblem::stride_b, &GemmProblem::stride_c,
                          &GemmProblem::outer_a, &GemmProblem::outer_b, &GemmProblem::outer_c,
                          &GemmProblem::outermost_a, &GemmProblem::outermost_b, &GemmProblem::outermost_c})
        p.*stride = 0;
      p.batch_count = std::int64_t(entry.addresses.c.size());
    }
    recorder.add(p, seconds * (all > 0 ? flops(p) / all : 1.0 / double(entries.size())));
  }
}

// Returns an empty list if the products were computed, or the operands of each entry that must be copied
// first.
std::vector<unsigned> grouped(Library& library, nb::list a, nb::list b, nb::list c,
                              std::complex<double> alpha, std::complex<double> beta, bool conj_a, bool conj_b,
                              const GemmOptions* options) {
  const Factors factors{alpha, beta, conj_a, conj_b};
  std::vector<ListEntry> entries;
  std::vector<unsigned> copies;
  View first;
  bool copying = false;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const View x = view_of("a", a[i]), y = view_of("b", b[i]), z = view_of("out", c[i]);
    if (i == 0) first = z;
    check_entry(x, y, z, first, i);
    Product product(x, y, z, factors);
    copies.push_back(product.copies());
    copying = copying || product.copies() != copy_none;
    if (!copying) entries.push_back({product, product.addresses(), product.problem()});
  }
  if (copying) return copies;
  if (entries.empty()) return {};
  const Unlocked unlocked(true);
  const auto begin = std::chrono::steady_clock::now();
  with_type(first.dtype, [&]<class T>(T) {
    run_entries<T>(library.context(), entries, factors, options != nullptr ? *options : default_options());
  });
  if (library.recorder().active()) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    record_entries(library.recorder(), entries, took.count());
  }
  return {};
}

// One array of a list: its first and last byte, and its role.
struct Item {
  AddressRange extent;
  std::size_t problem;
  unsigned part;  // operand of the problem, as Copies names it
  nb::handle array;
};

std::vector<Item> items_of(nb::list a, nb::list b, nb::list c) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < c.size(); ++i)
    for (const auto& [part, name, list] :
         {std::tuple(copy_a, "a", &a), std::tuple(copy_b, "b", &b), std::tuple(copy_c, "out", &c)}) {
      const nb::handle array = (*list)[i];
      const Item item{range_of(footprint_of(name, array)), i, part, array};
      if (item.extent.begin < item.extent.end) items.push_back(item);
    }
  std::sort(items.begin(), items.end(),
            [](const Item& x, const Item& y) { return x.extent.begin < y.extent.begin; });
  return items;
}

void check_outs(const Item& x, const Item& y) {
  if (!share_memory(footprint_of("out", x.array), footprint_of("out", y.array), false)) return;
  const auto [first, second] = std::minmax(x.problem, y.problem);
  throw Error(ErrorCode::invalid_argument, "out",
              "problem " + std::to_string(second) + ": its out shares elements with that of problem " +
                  std::to_string(first),
              std::int64_t(second));
}

// Returns for each problem its operands that share elements with the out of another problem; empty if there
// are none. Throws Error if two outs share elements. Sweeps the arrays in the order of their addresses and
// keeps those that have not ended yet.
std::vector<unsigned> shared(nb::list a, nb::list b, nb::list c) {
  std::vector<unsigned> found;
  std::vector<Item> outs, operands;
  const auto meet = [&](const Item& operand, const Item& out) {
    if (operand.problem == out.problem || (!found.empty() && (found[operand.problem] & operand.part) != 0))
      return;
    if (!share_memory(footprint_of("operand", operand.array), footprint_of("out", out.array), true)) return;
    found.resize(c.size());
    found[operand.problem] |= operand.part;
  };
  for (const Item& item : items_of(a, b, c)) {
    const auto ended = [&](const Item& one) { return one.extent.end <= item.extent.begin; };
    std::erase_if(outs, ended);
    if (item.part != copy_c) {
      for (const Item& out : outs) meet(item, out);
      operands.push_back(item);
      continue;
    }
    std::erase_if(operands, ended);
    for (const Item& out : outs) check_outs(item, out);
    for (const Item& operand : operands) meet(operand, item);
    outs.push_back(item);
  }
  return found;
}

}  // namespace

void bind_lists(nb::module_& module, Library& library) {
  module.def(
      "grouped",
      [&library](nb::list a, nb::list b, nb::list c, std::complex<double> alpha, std::complex<double> beta,
                 bool conj_a, bool conj_b, const GemmOptions* options) {
        return grouped(library, a, b, c, alpha, beta, conj_a, conj_b, options);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("out"), nb::arg("alpha"), nb::arg("beta"), nb::arg("conj_a"),
      nb::arg("conj_b"), nb::arg("options") = nb::none(),
      "out[i] = alpha op(a[i]) op(b[i]) + beta out[i] for lists of host arrays, each of its own shape. An "
      "empty list\n"
      "where it was done; else a sum of COPY_A, COPY_B and COPY_OUT for each, and nothing was written.");
  module.def("shared", &shared, nb::arg("a"), nb::arg("b"), nb::arg("out"),
             "For each problem of lists a sum of COPY_A and COPY_B: which operands share elements with the "
             "out of another\n"
             "problem. An empty list where none does. ValueError for outs that share elements.");
}

}  // namespace tilewright::python
