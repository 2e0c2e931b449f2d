// A stack is one gemm_stack of the library: indices of blocks become offsets from the first block, with the
// sides in the library's order.
#include "stack.hpp"

#include <nanobind/stl/complex.h>

#include <algorithm>
#include <string>
#include <vector>

#include "operand.hpp"
#include "product.hpp"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

struct Blocks {
  View all, first;              // first: one block
  const std::int64_t* indices;  // one for each product; each is the index of an existing block

  std::int64_t offset(std::int64_t product) const { return indices[product] * all.strides[0]; }
};

Blocks blocks_of(const char* name, nb::handle array, std::uint64_t indices) {
  View view = view_of(name, array);
  if (view.ndim != 3)
    throw Error(ErrorCode::invalid_argument, name,
                std::string(name) + " has " + std::to_string(view.ndim) +
                    " dimensions; blocks have three: (count, rows, columns)");
  if (view.location != Location::host)
    throw Error(ErrorCode::unsupported, name,
                std::string(name) + " is on a GPU, but stacks need arrays in host memory");
  Blocks blocks{view, view, reinterpret_cast<const std::int64_t*>(indices)};
  blocks.first.ndim = 2;
  for (int i = 0; i < 2; ++i)
    blocks.first.shape[i] = view.shape[i + 1], blocks.first.strides[i] = view.strides[i + 1];
  return blocks;
}

std::vector<StackOffsets> offsets_of(const Blocks& left, const Blocks& right, const Blocks& out,
                                     std::int64_t count) {
  std::vector<StackOffsets> offsets;
  offsets.reserve(std::size_t(count));
  for (std::int64_t i = 0; i < count; ++i)
    offsets.push_back({left.offset(i), right.offset(i), out.offset(i)});
  return offsets;
}

template <class T>
GemmStack<T> stack_of(const GemmProblem& p, const Blocks& left, const Blocks& right, const Blocks& out,
                      const std::vector<StackOffsets>& offsets, std::complex<double> alpha) {
  const MatrixView<const T> a{reinterpret_cast<const T*>(left.first.data), p.a_rows(), p.a_cols(), p.lda};
  const MatrixView<const T> b{reinterpret_cast<const T*>(right.first.data), p.b_rows(), p.b_cols(), p.ldb};
  const MatrixView<T> c{reinterpret_cast<T*>(out.first.data), p.m, p.n, p.ldc};
  return {p.op_a, p.op_b, scalar<T>(alpha), a, b, c, std::span<const StackOffsets>(offsets)};
}

GemmProblem stack_problem(const Product& block, const std::vector<StackOffsets>& offsets) {
  std::vector<std::int64_t> results;
  for (const StackOffsets& one : offsets) results.push_back(one.c);
  std::sort(results.begin(), results.end());
  const auto distinct = std::unique(results.begin(), results.end()) - results.begin();
  GemmProblem p = block.problem();
  p.layout = Layout::pointer, p.sums = Accumulate::stack;
  p.batch_count = std::ssize(offsets);
  p.run = std::max<std::int64_t>(p.batch_count / std::max<std::int64_t>(distinct, 1), 1);
  return p;
}

// Returns the operands that must be copied: those of a product, and blocks with negative strides, because
// offsets are unsigned.
unsigned copies_of(const Blocks& a, const Blocks& b, const Blocks& c, const Product& block) {
  unsigned copies = block.copies();
  if (a.all.strides[0] < 0) copies |= copy_a;
  if (b.all.strides[0] < 0) copies |= copy_b;
  const bool shared = may_overlap(a.all, c.all) || may_overlap(b.all, c.all);
  if (shared || (c.all.shape[0] > 1 && c.all.strides[0] <= 0)) copies |= copy_c;
  return copies;
}

unsigned stack(Library& library, const Blocks& a, const Blocks& b, const Blocks& c, std::int64_t count,
               const Factors& factors, const GemmOptions* options) {
  const Product block(a.first, b.first, c.first, factors);
  if (const unsigned copies = copies_of(a, b, c, block); copies != copy_none) return copies;
  if (c.first.read_only) throw Error(ErrorCode::invalid_argument, "out", "out is read-only");
  const Blocks &left = block.swapped() ? b : a, &right = block.swapped() ? a : b;
  const auto offsets = offsets_of(left, right, c, count);
  const Unlocked unlocked(true);
  const auto run = [&] {
    with_type(c.first.dtype, [&]<class T>(T) {
      const auto made = stack_of<T>(block.problem(), left, right, c, offsets, factors.alpha);
      gemm_stack<T>(library.context(), std::span(&made, 1), scalar<T>(factors.beta),
                    options != nullptr ? *options : default_options());
    });
  };
  recorded(
      library.recorder(), [&] { return stack_problem(block, offsets); }, run);
  return copy_none;
}

}  // namespace

void bind_stack(nb::module_& module, Library& library) {
  module.def(
      "stack",
      [&library](nb::handle a, nb::handle b, nb::handle c, std::uint64_t a_indices, std::uint64_t b_indices,
                 std::uint64_t c_indices, std::int64_t count, std::complex<double> alpha,
                 std::complex<double> beta, bool conj_a, bool conj_b, const GemmOptions* options) {
        return stack(library, blocks_of("a", a, a_indices), blocks_of("b", b, b_indices),
                     blocks_of("out", c, c_indices), count, {alpha, beta, conj_a, conj_b}, options);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("out"), nb::arg("a_indices"), nb::arg("b_indices"),
      nb::arg("out_indices"), nb::arg("count"), nb::arg("alpha"), nb::arg("beta"), nb::arg("conj_a"),
      nb::arg("conj_b"), nb::arg("options") = nb::none(),
      "out[c[i]] += alpha op(a[a[i]]) op(b[b[i]]), after out = beta out of the blocks that are named. "
      "Indices "
      "are\n"
      "addresses of `count` int64. 0 where it was done; else a sum of COPY_A, COPY_B and COPY_OUT, and "
      "nothing was written.");
}

}  // namespace tilewright::python
