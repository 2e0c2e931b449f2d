// LIBXSMM 1.17, if the build found it: generated kernels in a loop, with and without its prefetch arguments,
// its batch routine (libxsmm), and its packed kernels for interleaved data (libxsmm_packed).
#include "batch_loop.hpp"

#ifndef TILEWRIGHT_PEER_LIBXSMM

namespace tilewright::peers {

void find_libxsmm(PeerSearch& search) {
  for (const char* name : {"libxsmm", "libxsmm_packed"})
    search.missing.push_back({name, "left out of this build: " TILEWRIGHT_NO_LIBXSMM});
}

PeerVariant libxsmm_dispatch_call(const PeerCase&) { return {}; }

}  // namespace tilewright::peers

#else

#include <fmt/format.h>
#include <libxsmm.h>

#include <limits>
#include <memory>
#include <type_traits>

namespace tilewright::peers {
namespace {

std::string version() {
  return fmt::format("{}.{} {}", LIBXSMM_VERSION_MAJOR, LIBXSMM_VERSION_MINOR, libxsmm_get_target_arch());
}

template <class T>
using Kernel = std::conditional_t<std::is_same_v<T, double>, libxsmm_dmmfunction, libxsmm_smmfunction>;

template <class T>
Kernel<T> generate(const PeerCase& request, int prefetch) {
  const GemmProblem& p = request.problem;
  const libxsmm_blasint lda = int(p.lda), ldb = int(p.ldb), ldc = int(p.ldc);
  const T alpha = T(request.alpha.real());
  const T beta = T(request.beta.real());
  const int flags = (p.op_a == Op::none ? 0 : LIBXSMM_GEMM_FLAG_TRANS_A) |
                    (p.op_b == Op::none ? 0 : LIBXSMM_GEMM_FLAG_TRANS_B);
  if constexpr (std::is_same_v<T, double>)
    return libxsmm_dmmdispatch(int(p.m), int(p.n), int(p.k), &lda, &ldb, &ldc, &alpha, &beta, &flags,
                               &prefetch);
  else
    return libxsmm_smmdispatch(int(p.m), int(p.n), int(p.k), &lda, &ldb, &ldc, &alpha, &beta, &flags,
                               &prefetch);
}

// The positions of the matrices of a strided batch, in elements, as LIBXSMM's batch routine expects them.
struct BatchIndexes {
  std::vector<libxsmm_blasint> a, b, c;
};

std::shared_ptr<const BatchIndexes> batch_indexes(const GemmProblem& p) {
  auto indexes = std::make_shared<BatchIndexes>();
  for (std::int64_t i = 0; i < p.batch_count; ++i) {
    indexes->a.push_back(libxsmm_blasint(i * p.stride_a));
    indexes->b.push_back(libxsmm_blasint(i * p.stride_b));
    indexes->c.push_back(libxsmm_blasint(i * p.stride_c));
  }
  return indexes;
}

bool indexes_fit(const GemmProblem& p) {
  const std::int64_t largest = std::max({p.stride_a, p.stride_b, p.stride_c});
  return largest == 0 || p.batch_count <= std::numeric_limits<libxsmm_blasint>::max() / largest;
}

template <class T>
void add_batch(PeerOffer& offer, const PeerCase& request) {
  const bool pointers = request.problem.layout == Layout::pointer;
  if (!pointers && !indexes_fit(request.problem)) return;
  // Beyond this size LIBXSMM generates no batch kernel and calls a BLAS that this program is not linked with,
  // which prints a line on stderr and computes nothing. The loops over one kernel remain.
  if (double(request.problem.m) * double(request.problem.n) * double(request.problem.k) > LIBXSMM_MAX_MNK)
    return;
  const auto indexes = pointers ? nullptr : batch_indexes(request.problem);
  const auto precision = std::is_same_v<T, double> ? LIBXSMM_GEMM_PRECISION_F64 : LIBXSMM_GEMM_PRECISION_F32;
  offer.variants.push_back(
      {"batch", [request, precision, indexes](const Operands& operands) {
         const GemmProblem& p = request.problem;
         const libxsmm_blasint lda = int(p.lda), ldb = int(p.ldb), ldc = int(p.ldc);
         const T alpha = T(request.alpha.real());
         const T beta = T(request.beta.real());
         const char op_a = p.op_a == Op::none ? 'N' : 'T';
         const char op_b = p.op_b == Op::none ? 'N' : 'T';
         // index_stride 0: arrays of pointers, one byte distance for each; otherwise arrays of indexes.
         const libxsmm_blasint pointer_bytes = sizeof(void*);
         const libxsmm_blasint index_stride = indexes ? sizeof(libxsmm_blasint) : 0;
         const libxsmm_blasint* stride_a = indexes ? indexes->a.data() : &pointer_bytes;
         const libxsmm_blasint* stride_b = indexes ? indexes->b.data() : &pointer_bytes;
         const libxsmm_blasint* stride_c = indexes ? indexes->c.data() : &pointer_bytes;
         const auto share = [&](int thread) {  // a negative size: no locking, since no two problems share C
           libxsmm_mmbatch(precision, precision, &op_a, &op_b, int(p.m), int(p.n), int(p.k), &alpha,
                           operands.a, &lda, operands.b, &ldb, &beta, operands.c, &ldc, 0, index_stride,
                           stride_a, stride_b, stride_c, -int(p.batch_count), thread, request.threads);
         };
         if (request.threads == 1) return share(0);
#pragma omp parallel for num_threads(request.threads) schedule(static, 1)
         for (int thread = 0; thread < request.threads; ++thread) share(thread);
       }});
}

class Libxsmm : public Peer {
 public:
  std::string name() const override { return "libxsmm"; }
  std::string version() const override { return peers::version(); }
  PeerOffer prepare(const PeerCase& request) const override {
    if (request.problem.dtype == DType::f64) return prepare_typed<double>(request);
    if (request.problem.dtype == DType::f32) return prepare_typed<float>(request);
    return PeerOffer::decline("no complex kernels");
  }

 private:
  template <class T>
  PeerOffer prepare_typed(const PeerCase& request) const {
    const Kernel<T> plain = generate<T>(request, LIBXSMM_GEMM_PREFETCH_NONE);
    if (!plain) return PeerOffer::decline("its dispatch returns no kernel for this case");
    PeerOffer offer;
    add_loop_variants<T>(offer, request, "loop",
                         [plain](const auto& at, std::int64_t p) { plain(at.a(p), at.b(p), at.c(p)); });
    const auto last = request.problem.batch_count - 1;
    for (const auto& [label, flag] :
         {std::pair{"loop prefetch_sigonly", LIBXSMM_GEMM_PREFETCH_SIGONLY},
          std::pair{"loop prefetch_al2bl2_via_c", LIBXSMM_GEMM_PREFETCH_AL2BL2_VIA_C}})
      if (const Kernel<T> kernel = generate<T>(request, flag))
        add_loop_variants<T>(offer, request, label, [kernel, last](const auto& at, std::int64_t p) {
          const std::int64_t next = p < last ? p + 1 : p;
          kernel(at.a(p), at.b(p), at.c(p), at.a(next), at.b(next), at.c(next));
        });
    add_batch<T>(offer, request);
    return offer;
  }
};

// Packed kernels exist for the targets that 1.17 supported when they were written; on newer processors they
// are generated for AVX-512 of Skylake.
class LibxsmmPacked : public Peer {
 public:
  std::string name() const override { return "libxsmm_packed"; }
  std::string version() const override { return peers::version(); }

  GemmProblem stored(const GemmProblem& problem) const override {
    if (!is_interleaved(problem.layout)) return problem;
    GemmProblem blocked = problem;
    blocked.layout = Layout::block_interleaved;
    blocked.block = vector_bytes() / size_bytes(problem.dtype);
    return blocked;
  }

  PeerOffer prepare(const PeerCase& request) const override {
    const GemmProblem& p = request.problem;
    if (!is_interleaved(p.layout)) return PeerOffer::decline("only interleaved batches");
    if (is_complex(p.dtype)) return PeerOffer::decline("no complex kernels");
    if (request.alpha != 1.0 || request.beta != 1.0)
      return PeerOffer::decline("its packed kernels only accumulate (alpha = beta = 1)");
    const bool transposes = p.op_a != Op::none || p.op_b != Op::none;
    constexpr int avx512_bytes = 64;
    if (transposes && (p.dtype == DType::f32 || vector_bytes() < avx512_bytes))
      return PeerOffer::decline(
          "its packed kernels of f32, and of f64 without AVX-512, give wrong results with transposed "
          "operands");
    const auto kernel = generate_packed(p);
    if (!kernel) return PeerOffer::decline("its packed dispatch returns a null kernel on this processor");
    PeerOffer offer;
    offer.variants.push_back(
        {"", [kernel, request](const Operands& operands) { run(kernel, request, operands); }});
    return offer;
  }

 private:
  // Bytes of the problems that one kernel computes together.
  static std::int64_t vector_bytes() { return libxsmm_get_target_archid() >= LIBXSMM_X86_AVX512 ? 64 : 32; }
  static libxsmm_pgemm_xfunction generate_packed(const GemmProblem& p) {
    const int target = libxsmm_get_target_archid();
    if (target > LIBXSMM_X86_AVX512_CORE) libxsmm_set_target_archid(LIBXSMM_X86_AVX512_CORE);
    const double one_f64 = 1;
    const float one_f32 = 1;
    const void* one = p.dtype == DType::f64 ? static_cast<const void*>(&one_f64) : &one_f32;
    constexpr int column_major = 102;
    libxsmm_descriptor_blob blob;
    const libxsmm_pgemm_descriptor* descriptor = libxsmm_pgemm_descriptor_init(
        &blob, unsigned(size_bytes(p.dtype)), int(p.m), int(p.n), int(p.k), int(p.lda), int(p.ldb),
        int(p.ldc), one, p.op_a == Op::none ? 'N' : 'T', p.op_b == Op::none ? 'N' : 'T', column_major);
    const auto kernel = libxsmm_dispatch_pgemm(descriptor);
    libxsmm_set_target_archid(target);
    return kernel;
  }

  static void run(libxsmm_pgemm_xfunction kernel, const PeerCase& request, const Operands& operands) {
    const GemmProblem& p = request.problem;
    const std::int64_t blocks = (p.batch_count + p.block - 1) / p.block;
    const std::int64_t block_bytes = p.block * size_bytes(p.dtype);
    const auto* a = static_cast<const char*>(operands.a);
    const auto* b = static_cast<const char*>(operands.b);
    auto* c = static_cast<char*>(operands.c);
    const std::int64_t step_a = block_bytes * p.lda * p.a_cols();
    const std::int64_t step_b = block_bytes * p.ldb * p.b_cols();
    const std::int64_t step_c = block_bytes * p.ldc * p.n;
    if (request.threads == 1) {
      for (std::int64_t i = 0; i < blocks; ++i) kernel(a + i * step_a, b + i * step_b, c + i * step_c);
      return;
    }
#pragma omp parallel for num_threads(request.threads) schedule(static)
    for (std::int64_t i = 0; i < blocks; ++i) kernel(a + i * step_a, b + i * step_b, c + i * step_c);
  }
};

}  // namespace

PeerVariant libxsmm_dispatch_call(const PeerCase& request) {
  const auto variant = [&]<class T>(T) -> PeerVariant {
    if (!generate<T>(request, LIBXSMM_GEMM_PREFETCH_NONE)) return {};
    return {"dispatch and call", [request](const Operands& operands) {
              generate<T>(request, LIBXSMM_GEMM_PREFETCH_NONE)(static_cast<const T*>(operands.a),
                                                               static_cast<const T*>(operands.b),
                                                               static_cast<T*>(operands.c));
            }};
  };
  if (request.problem.dtype == DType::f64) return variant(double{});
  if (request.problem.dtype == DType::f32) return variant(float{});
  return {};
}

void find_libxsmm(PeerSearch& search) {
  libxsmm_init();
  search.add(std::make_unique<Libxsmm>());
  search.add(std::make_unique<LibxsmmPacked>());
}

}  // namespace tilewright::peers

#endif
