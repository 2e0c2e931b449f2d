// The package keeps interleaved batches by rows, like its arrays: for the library each matrix is its
// transpose, and a product has its sides swapped.
#include "interleaved.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>

#include "operand.hpp"
#include "product.hpp"
#include "tilewright/device_layout.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/layout.hpp"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

struct Size {
  std::int64_t rows, cols, block, count;
};

// A leading dimension is at least 1, even if columns have no elements.
std::int64_t ld_of(std::int64_t cols) { return std::max<std::int64_t>(cols, 1); }

// Returns the library's view of `x`, a vector of elements, as matrices with these rows and columns.
template <class T, Location L>
InterleavedBatch<T, L> batch(const View& x, const Size& size) {
  return {reinterpret_cast<T*>(x.data), size.cols, size.rows, ld_of(size.cols), size.block, size.count};
}

void check_room(const char* name, const View& x, const Size& size) {
  const std::int64_t needed =
      interleaved_elements(size.cols, size.rows, ld_of(size.cols), size.block, size.count);
  if (x.ndim != 1 || !x.regular || (x.shape[0] > 1 && x.strides[0] != 1) || x.shape[0] < needed)
    throw Error(ErrorCode::invalid_argument, name,
                std::string(name) + " is not a vector of the " + std::to_string(needed) +
                    " elements that are needed");
}

// Returns a view of `x`, (count, rows, cols) by rows, packed or with a stride between matrices.
template <class T, Location L>
StridedBatch<T, L> strided(const View& x) {
  const bool empty = x.shape[0] == 0 || x.shape[1] == 0 || x.shape[2] == 0;  // strides then have no meaning
  const std::int64_t ld = x.shape[1] > 1 && !empty ? x.strides[1] : ld_of(x.shape[2]);
  const std::int64_t stride = x.shape[0] > 1 && !empty ? x.strides[0] : 0;
  return {{reinterpret_cast<T*>(x.data), x.shape[2], x.shape[1], ld}, stride, x.shape[0]};
}

GemmOptions place(const View& x, int threads, std::uint64_t stream) {
  GemmOptions options;
  options.queue.device = x.device, options.queue.stream = reinterpret_cast<CUstream_st*>(stream),
  options.threads = threads;
  return options;
}

void convert(Library& library, const View& matrices, const View& blocks, std::int64_t block, bool into,
             int threads, std::uint64_t stream) {
  const Size size{matrices.shape[1], matrices.shape[2], block, matrices.shape[0]};
  check_room("data", blocks, size);
  if (!matrices.regular || matrices.dtype != blocks.dtype)
    throw Error(ErrorCode::invalid_argument, "matrices",
                "matrices and blocks differ in their element types, or strides split elements");
  const GemmOptions options = place(blocks, threads, stream);
  const bool host = blocks.location == Location::host;
  const Unlocked unlocked(true);
  with_type(blocks.dtype, [&]<class T>(T) {
    if (host && into)
      interleave<T>(strided<const T, Location::host>(matrices), batch<T, Location::host>(blocks, size),
                    threads);
    else if (host)
      deinterleave<T>(batch<const T, Location::host>(blocks, size), strided<T, Location::host>(matrices),
                      threads);
    else if (into)
      interleave<T>(library.context(), strided<const T, Location::device>(matrices),
                    batch<T, Location::device>(blocks, size), options);
    else
      deinterleave<T>(library.context(), batch<const T, Location::device>(blocks, size),
                      strided<T, Location::device>(matrices), options);
  });
}

// Computes c (m x n) = alpha a (m x k) b (k x n) + beta c: by columns C^T = B^T A^T.
void multiply(Library& library, const View& a, const View& b, const View& c, std::int64_t m, std::int64_t n,
              std::int64_t k, std::int64_t block, std::int64_t count, const Factors& factors,
              const GemmOptions* given, std::uint64_t stream) {
  check_room("a", a, {m, k, block, count});
  check_room("b", b, {k, n, block, count});
  check_room("out", c, {m, n, block, count});
  if (a.dtype != c.dtype || b.dtype != c.dtype)
    throw Error(ErrorCode::invalid_argument, "dtype", "the element types of a, b and c differ");
  GemmOptions options = given != nullptr ? *given : default_options();
  options.queue.device = c.device, options.queue.stream = reinterpret_cast<CUstream_st*>(stream);
  const Unlocked unlocked(true);
  const auto run = [&]<class T, Location L>() {
    using Value = BatchScalar<T, L>;
    gemm_batched(library.context(), Op::none, Op::none, Value(scalar<T>(factors.alpha)),
                 batch<const T, L>(b, {k, n, block, count}), batch<const T, L>(a, {m, k, block, count}),
                 Value(scalar<T>(factors.beta)), batch<T, L>(c, {m, n, block, count}), options);
  };
  const auto run_typed = [&]<class T>(T) {
    if (c.location == Location::host)
      run.template operator()<T, Location::host>();
    else
      run.template operator()<T, Location::device>();
  };
  const auto problem = [&] {
    GemmProblem p;
    p.dtype = c.dtype, p.location = c.location;
    p.m = n, p.n = m, p.k = k;
    p.lda = p.ldc = ld_of(n), p.ldb = ld_of(k);
    p.layout = block == count ? Layout::interleaved : Layout::block_interleaved;
    p.block = block, p.batch_count = count;
    p.alpha = scalar_class(factors.alpha), p.beta = scalar_class(factors.beta);
    return p;
  };
  recorded(library.recorder(), problem, [&] { with_type(c.dtype, run_typed); });
}

}  // namespace

void bind_interleaved(nb::module_& module, Library& library) {
  module.def(
      "recommended_block", [](const std::string& dtype) { return recommended_block(parse_dtype(dtype)); },
      nb::arg("dtype"));
  module.def(
      "interleaved_elements",
      [](std::int64_t rows, std::int64_t cols, std::int64_t block, std::int64_t count) {
        return interleaved_elements(cols, rows, ld_of(cols), block, count);
      },
      nb::arg("rows"), nb::arg("cols"), nb::arg("block"), nb::arg("count"));
  module.def(
      "convert_interleaved",
      [&library](nb::handle matrices, nb::handle blocks, std::int64_t block, bool into, int threads,
                 std::uint64_t stream) {
        convert(library, view_of("matrices", matrices), view_of("blocks", blocks), block, into, threads,
                stream);
      },
      nb::arg("matrices"), nb::arg("blocks"), nb::arg("block"), nb::arg("into"), nb::arg("threads"),
      nb::arg("stream"),
      "Between (count, rows, cols) arrays by rows and interleaved elements, into these or out of them.");
  module.def(
      "multiply_interleaved",
      [&library](nb::handle a, nb::handle b, nb::handle c, std::int64_t m, std::int64_t n, std::int64_t k,
                 std::int64_t block, std::int64_t count, std::complex<double> alpha,
                 std::complex<double> beta, const GemmOptions* options, std::uint64_t stream) {
        multiply(library, view_of("a", a), view_of("b", b), view_of("c", c), m, n, k, block, count,
                 {alpha, beta, false, false, false}, options, stream);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("c"), nb::arg("m"), nb::arg("n"), nb::arg("k"), nb::arg("block"),
      nb::arg("count"), nb::arg("alpha"), nb::arg("beta"), nb::arg("options").none(), nb::arg("stream"));
}

}  // namespace tilewright::python
