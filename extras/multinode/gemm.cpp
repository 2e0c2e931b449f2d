// Checks a product's operands, keeps their descriptors for cuBLASMp, and queues the product.
#include <fmt/format.h>

#include <array>
#include <complex>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "core/dispatch.hpp"
#include "core/refuse.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/gpu.hpp"
#include "device/gpu/workspace.hpp"
#include "distribution.hpp"
#include "mp_library.hpp"
#include "tilewright/multinode.hpp"

#if TILEWRIGHT_HAS_GPU

namespace tilewright {
namespace {

// An object that one function of the library makes and another destroys.
using MadeByLibrary = std::unique_ptr<void, std::function<void(void*)>>;

template <class Make>
MadeByLibrary make_by_library(const CublasMp& library, const char* call, int (*unmake)(void*), Make make_it) {
  void* made = nullptr;
  library.check(make_it(&made), call);
  return MadeByLibrary(made, [unmake](void* old) { (void)unmake(old); });
}

// The version whose documentation says that conjugate transposes and beta = 0 are repaired.
constexpr int repaired_version = 1000;

// A copy of a scalar at a multiple of its size, as cuBLAS reads it.
struct ScalarOfCublas {
  ScalarOfCublas() = default;  // zero
  explicit ScalarOfCublas(const void* value, DType dtype) {
    std::copy_n(static_cast<const unsigned char*>(value), size_bytes(dtype), bytes);
  }
  alignas(16) unsigned char bytes[16] = {};
};

bool is_scalar(DType dtype, const void* scalar, int value) {
  return dispatch(dtype, [&]<class T>() { return *static_cast<const T*>(scalar) == T(float(value)); });
}

int distributed_operation(Op op, DType dtype) {
  if (op == Op::none) return 0;
  return op == Op::conj_trans && is_complex(dtype) ? 2 : 1;
}

}  // namespace

struct DistributedGemm::Impl {
  Impl(void* communicator, const ProcessGrid& grid, const CublasMp& opened);
  ~Impl();
  void run(const DistributedProduct& product, CUstream_st* stream);

  CublasMp library;
  GridPlace place{};
  Gpu gpu;
  GpuStream own_stream;  // the handle's stream until a call sets another one
  GpuWorkspace workspace;
  GpuEvent last_use;  // last use of workspaces and descriptors
  bool is_used = false;
  std::vector<unsigned char> host_workspace{};
  MadeByLibrary handle{}, grid{};
  std::unique_ptr<GpuBlas> blas{};  // scales C
  using Shape = std::array<std::int64_t, 8>;
  std::map<Shape, MadeByLibrary> descriptors{};

 private:
  Impl(void* communicator, const ProcessGrid& grid, const CublasMp& opened, const CublasMp::Rank& rank);
  void check_supported(const DistributedProduct& product) const;
  bool needs_no_library(const DistributedProduct& product, CUstream_st* stream);
  void scale(const DistributedOperand& c, DType dtype, const void* beta, CUstream_st* stream);
  void clear(const DistributedOperand& c, DType dtype, CUstream_st* stream) const;
  void wait() {
    if (is_used) last_use.synchronize();
  }
  void* describe(const DistributedOperand& x, DType dtype);
  void queue(const DistributedProduct& product, CUstream_st* stream);
};

namespace {

CublasMp::Rank rank_of_caller(const CublasMp& library, void* communicator) {
  if (communicator == nullptr) refuse_argument("communicator", "communicator is null");
  return library.rank_of(communicator);
}

}  // namespace

DistributedGemm::Impl::Impl(void* communicator, const ProcessGrid& shape, const CublasMp& opened,
                            const CublasMp::Rank& rank)
    : library(opened),
      place(place_of(shape, rank.rank, rank.count)),
      gpu(rank.device),
      own_stream(gpu),
      workspace(gpu),
      last_use(gpu) {
  const Gpu::Current current(gpu);
  handle = make_by_library(library, "cublasMpCreate", library.destroy,
                           [&](void** made) { return library.create(made, own_stream.get()); });
  const int order = shape.order == RankOrder::row_major ? 1 : 0;
  grid = make_by_library(library, "cublasMpGridCreate", library.grid_destroy, [&](void** made) {
    return library.grid_create(shape.rows, shape.cols, order, communicator, made);
  });
}

DistributedGemm::Impl::Impl(void* communicator, const ProcessGrid& shape, const CublasMp& opened)
    : Impl(communicator, shape, opened, rank_of_caller(opened, communicator)) {}

DistributedGemm::Impl::~Impl() {
  // A destructor cannot report. The stream that the handle last used is not touched any more.
  try {
    const Gpu::Current current(gpu);
    wait();
    descriptors.clear();
    grid.reset();
    handle.reset();
  } catch (const Error&) {
  }
}

void DistributedGemm::Impl::check_supported(const DistributedProduct& p) const {
  for (const DistributedOperand* x : {&p.a, &p.b, &p.c}) {
    const std::int64_t bytes = local_bytes(place, *x, p.dtype);
    if (bytes == 0) continue;
    if (const std::string fault = gpu.address_fault(x->data, bytes); !fault.empty())
      refuse_argument(x->name, fmt::format("{}.data = {}: {}", x->name, x->data, fault));
  }
  for (const auto& [name, op] : {std::pair("op_a", p.op_a), std::pair("op_b", p.op_b)})
    if (distributed_operation(op, p.dtype) == 2 && library.version() < repaired_version)
      throw Error(ErrorCode::unsupported, name,
                  fmt::format("{} = conj_trans: {} is older than 0.10, which fixed conjugate transposes",
                              name, library.name()));
  // Seen with 0.7.0 on two GPUs, for every type; the other pairs of operations and grids of one row were
  // right.
  if (p.op_a == Op::none && p.op_b != Op::none && place.grid.rows > 1 && library.version() < repaired_version)
    throw Error(
        ErrorCode::unsupported, "op_b",
        fmt::format("op_b = {} with op_a = none on a grid of {} rows: {} is older than 0.10, and 0.7.0 "
                    "gives wrong results there",
                    p.op_b == Op::trans ? "trans" : "conj_trans", place.grid.rows, library.name()));
}

void DistributedGemm::Impl::clear(const DistributedOperand& c, DType dtype, CUstream_st* stream) const {
  const std::int64_t rows = local_rows(place, c), cols = local_cols(place, c), bytes = size_bytes(dtype);
  if (rows > 0 && cols > 0)
    gpu.clear(c.data, std::size_t(rows * bytes), std::size_t(c.ld * bytes), cols, stream);
}

// Computes C = beta C for this rank's part: a product of zeros by cuBLAS, one row by one column.
void DistributedGemm::Impl::scale(const DistributedOperand& c, DType dtype, const void* beta,
                                  CUstream_st* stream) {
  const std::int64_t rows = local_rows(place, c), cols = local_cols(place, c), size = size_bytes(dtype);
  if (rows == 0 || cols == 0) return;
  if (std::max({rows, cols, c.ld}) > std::numeric_limits<int>::max())
    throw Error(
        ErrorCode::unsupported, c.name,
        fmt::format("{} has a part of {} x {}, ld = {}, which does not fit the 32-bit integers of cuBLAS",
                    c.name, rows, cols, c.ld));
  if (blas == nullptr) blas = std::make_unique<GpuBlas>();
  const auto bytes = std::size_t((rows + cols) * size);
  workspace.reserve(bytes, 0);
  const GpuWorkspace::Loan loan(workspace, bytes, 0, stream);
  gpu.clear(loan.scratch(), bytes, bytes, 1, stream);
  auto* const zeros = static_cast<unsigned char*>(loan.scratch());
  const ScalarOfCublas factor(beta, dtype), zero;
  blas->set_stream(stream);
  blas->gemm_strided({dtype, Op::none, Op::none, int(rows), int(cols), 1, zero.bytes, zeros, int(rows), 0,
                      zeros + rows * size, 1, 0, factor.bytes, c.data, int(c.ld), 0, 1});
  last_use.record(stream);
  is_used = true;
}

// All ranks decide alike, because sizes and scalars are the same. Version 0.7 reads A and B even if alpha =
// 0.
bool DistributedGemm::Impl::needs_no_library(const DistributedProduct& p, CUstream_st* stream) {
  if (p.c.rows == 0 || p.c.cols == 0) return true;
  const bool no_product = cols_of(p.op_a, p.a) == 0 || is_scalar(p.dtype, p.alpha, 0);
  if (no_product && is_scalar(p.dtype, p.beta, 1)) return true;
  if (!is_scalar(p.dtype, p.beta, 0)) {
    if (no_product) scale(p.c, p.dtype, p.beta, stream);
    return no_product;
  }
  if (no_product || library.version() < repaired_version) clear(p.c, p.dtype, stream);
  return no_product;
}

void* DistributedGemm::Impl::describe(const DistributedOperand& x, DType dtype) {
  const Shape shape{x.rows, x.cols, x.block_rows, x.block_cols, x.source_row, x.source_col, x.ld, int(dtype)};
  MadeByLibrary& kept = descriptors[shape];
  if (kept == nullptr)
    kept = make_by_library(
        library, "cublasMpMatrixDescriptorCreate", library.descriptor_destroy, [&](void** made) {
          return library.descriptor_create(x.rows, x.cols, x.block_rows, x.block_cols, x.source_row,
                                           x.source_col, x.ld, CublasMp::type_of(dtype), grid.get(), made);
        });
  return kept.get();
}

void DistributedGemm::Impl::queue(const DistributedProduct& p, CUstream_st* stream) {
  const ScalarOfCublas alpha(p.alpha, p.dtype), beta(p.beta, p.dtype);
  void* const a = describe(p.a, p.dtype);
  void* const b = describe(p.b, p.dtype);
  void* const c = describe(p.c, p.dtype);
  library.check(library.set_stream(handle.get(), stream), "cublasMpSetStream");
  const int op_a = distributed_operation(p.op_a, p.dtype), op_b = distributed_operation(p.op_b, p.dtype);
  const int compute = CublasMp::compute_of(p.dtype);
  const std::int64_t k = cols_of(p.op_a, p.a);
  std::size_t device_bytes = 0, host_bytes = 0;
  library.check(library.gemm_workspace(handle.get(), op_a, op_b, p.c.rows, p.c.cols, k, alpha.bytes, p.a.data,
                                       1, 1, a, p.b.data, 1, 1, b, beta.bytes, p.c.data, 1, 1, c, compute,
                                       &device_bytes, &host_bytes),
                "cublasMpGemm_bufferSize");
  workspace.reserve(std::max<std::size_t>(device_bytes, 1), 0);
  if (host_workspace.size() < host_bytes) {
    wait();
    host_workspace.resize(host_bytes);
  }
  const GpuWorkspace::Loan loan(workspace, device_bytes, 0, stream);
  const int status = library.gemm(handle.get(), op_a, op_b, p.c.rows, p.c.cols, k, alpha.bytes, p.a.data, 1,
                                  1, a, p.b.data, 1, 1, b, beta.bytes, p.c.data, 1, 1, c, compute,
                                  loan.scratch(), device_bytes, host_workspace.data(), host_bytes);
  last_use.record(stream);
  is_used = true;
  library.check(status, "cublasMpGemm");
}

void DistributedGemm::Impl::run(const DistributedProduct& p, CUstream_st* stream) {
  validate(place, p);
  check_supported(p);
  const Gpu::Current current(gpu);
  if (needs_no_library(p, stream)) return;
  constexpr std::size_t most_descriptors = 64;
  if (descriptors.size() + 3 > most_descriptors) {
    wait();
    descriptors.clear();
  }
  queue(p, stream);
}

DistributedGemm::DistributedGemm(void* communicator, const ProcessGrid& grid)
    : impl_(std::make_unique<Impl>(communicator, grid, CublasMp())) {}
DistributedGemm::~DistributedGemm() = default;
DistributedGemm::DistributedGemm(DistributedGemm&&) noexcept = default;

std::int64_t DistributedGemm::row() const noexcept { return impl_->place.row; }
std::int64_t DistributedGemm::col() const noexcept { return impl_->place.col; }
int DistributedGemm::device() const noexcept { return impl_->gpu.device(); }
std::string DistributedGemm::library() const { return impl_->library.name(); }

std::string distributed_gemm_status() {
  try {
    (void)CublasMp();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

namespace {

template <class T>
DistributedOperand distributed_operand(const char* name, const DistributedMatrix<T>& x) {
  void* const data = const_cast<std::remove_const_t<T>*>(x.data);
  return {name, data, x.rows, x.cols, x.block_rows, x.block_cols, x.ld, x.source_row, x.source_col};
}

}  // namespace

template <class T>
void DistributedGemm::gemm(Op op_a, Op op_b, std::type_identity_t<T> alpha,
                           const DistributedMatrix<const std::type_identity_t<T>>& a,
                           const DistributedMatrix<const std::type_identity_t<T>>& b,
                           std::type_identity_t<T> beta, const DistributedMatrix<T>& c, CUstream_st* stream) {
  impl_->run({dtype_of<T>, op_a, op_b, &alpha, &beta, distributed_operand("a", a),
              distributed_operand("b", b), distributed_operand("c", c)},
             static_cast<CUstream_st*>(stream));
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                           \
  template void DistributedGemm::gemm<T>(Op, Op, T, const DistributedMatrix<const T>&,                      \
                                         const DistributedMatrix<const T>&, T, const DistributedMatrix<T>&, \
                                         CUstream_st*);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright

#endif
