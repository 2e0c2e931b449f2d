// Opens CBLAS libraries and calls them over a batch; and OpenBLAS, of which a serial build is preferred,
// since threads share the batch.
#include "cblas_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "batch_loop.hpp"
#include "core/dispatch.hpp"
#include "device/cpu.hpp"

namespace tilewright::peers {
namespace {

constexpr std::int64_t batch_piece = 256;  // problems per call of a routine that takes arrays of pointers
constexpr std::int64_t int_limit = 2147483647;

template <class T>
struct CblasCall {
  CblasCall(const PeerCase& request)
      : op_a(cblas_op(request.problem.op_a)),
        op_b(cblas_op(request.problem.op_b)),
        m(int(request.problem.m)),
        n(int(request.problem.n)),
        k(int(request.problem.k)),
        lda(int(request.problem.lda)),
        ldb(int(request.problem.ldb)),
        ldc(int(request.problem.ldc)),
        alpha(scalar_as<T>(request.alpha)),
        beta(scalar_as<T>(request.beta)) {}
  int op_a, op_b, m, n, k, lda, ldb, ldc;
  T alpha, beta;
};

template <class T>
void add_loop(PeerOffer& offer, const PeerCase& request, CblasGemm<T> gemm) {
  add_loop_variants<T>(
      offer, request, "loop", [gemm, call = CblasCall<T>(request)](const auto& at, std::int64_t p) {
        gemm(cblas_column_major, call.op_a, call.op_b, call.m, call.n, call.k, cblas_scalar(call.alpha),
             at.a(p), call.lda, at.b(p), call.ldb, cblas_scalar(call.beta), at.c(p), call.ldc);
      });
}

// Arrays of pointers are filled piece by piece; for pointer batches this copies an array that the caller has
// already.
template <class T>
void add_batch(PeerOffer& offer, const PeerCase& request, CblasGemmBatch<T> gemm) {
  add_range_variants<T>(
      offer, request, "batch",
      [gemm, call = CblasCall<T>(request)](const auto& at, std::int64_t first, std::int64_t count) {
        std::array<const T*, batch_piece> a, b;
        std::array<T*, batch_piece> c;
        for (std::int64_t begin = first; begin < first + count; begin += batch_piece) {
          const int size = int(std::min(batch_piece, first + count - begin));
          for (int i = 0; i < size; ++i) {
            a[std::size_t(i)] = at.a(begin + i);
            b[std::size_t(i)] = at.b(begin + i);
            c[std::size_t(i)] = at.c(begin + i);
          }
          gemm(cblas_column_major, &call.op_a, &call.op_b, &call.m, &call.n, &call.k, &call.alpha, a.data(),
               &call.lda, b.data(), &call.ldb, &call.beta, c.data(), &call.ldc, 1, &size);
        }
      });
}

template <class T>
void add_batch_strided(PeerOffer& offer, const PeerCase& request, CblasGemmBatchStrided<T> gemm) {
  const GemmProblem& problem = request.problem;
  const std::array<int, 3> strides{int(problem.stride_a), int(problem.stride_b), int(problem.stride_c)};
  add_range_variants<T>(
      offer, request, "batch_strided",
      [gemm, strides, call = CblasCall<T>(request)](const auto& at, std::int64_t first, std::int64_t count) {
        gemm(cblas_column_major, call.op_a, call.op_b, call.m, call.n, call.k, cblas_scalar(call.alpha),
             at.a(first), call.lda, strides[0], at.b(first), call.ldb, strides[1], cblas_scalar(call.beta),
             at.c(first), call.ldc, strides[2], int(count));
      });
}

// OpenBLAS, opened at run time; a serial build is preferred, since threads share the batch.

// `kind` is "serial" or "pthread", Debian's names of its builds. Only the latter may be entered by several
// threads at once.
std::vector<std::string> candidates(const std::string& kind) {
  std::vector<std::string> paths;
  for (const std::string triplet : {"x86_64-linux-gnu", "aarch64-linux-gnu"})
    paths.push_back("/usr/lib/" + triplet + "/openblas-" + kind + "/libopenblas.so.0");
  for (const char* name : {"libopenblas.so.0", "libopenblas.so"}) paths.emplace_back(name);
  return paths;
}

// "OpenBLAS 0.3.21 DYNAMIC_ARCH ... SkylakeX ..." -> "0.3.21 SkylakeX"
std::string version_of(const Library& library) {
  std::string version = "unknown";
  if (const auto config = library.symbol<const char* (*)()>("openblas_get_config")) {
    const std::string text = config();
    const std::size_t begin = text.find(' ');
    version = text.substr(begin + 1, text.find(' ', begin + 1) - begin - 1);
  }
  if (const auto core = library.symbol<const char* (*)()>("openblas_get_corename"))
    version += std::string(" ") + core();
  return version;
}

// One thread uses the serial build, several the one with locks, set to start no threads of its own.
class OpenBlas : public Peer {
 public:
  OpenBlas(CblasPeer serial, std::unique_ptr<CblasPeer> shared)
      : serial_(std::move(serial)), shared_(std::move(shared)) {}
  std::string name() const override { return serial_.name(); }
  std::string version() const override { return serial_.version(); }
  PeerOffer prepare(const PeerCase& request) const override {
    if (request.threads == 1 && request.callers == 1) return serial_.prepare(request);
    if (shared_) return shared_->prepare(request);
    return PeerOffer::decline("this serial build is wrong when several threads call it");
  }

 private:
  CblasPeer serial_;
  std::unique_ptr<CblasPeer> shared_;
};

// Returns 0 for a build without locks: all callers share its scratch memory.
bool safe_for_threads(const Library& library) {
  const auto parallel = library.symbol<int (*)()>("openblas_get_parallel");
  return parallel && parallel() != 0;
}

Library open_quiet(const std::string& kind) {
  Library library = Library::open(candidates(kind));
  if (const auto set_threads = library.symbol<void (*)(int)>("openblas_set_num_threads")) set_threads(1);
  return library;
}

}  // namespace

Library Library::open(const std::vector<std::string>& candidates) {
  Library library;
  for (const std::string& path : candidates) {
    if (std::error_code error; std::filesystem::is_fifo(path, error)) {  // a FIFO would block the loader
      library.error_ = path + " is a pipe";
      continue;
    }
    library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    library.path_ = path;
    if (library.handle_) return library;
    const char* error = dlerror();
    library.error_ = error ? error : path + " does not open";
  }
  return library;
}

void* Library::find(const std::string& name) const {
  return handle_ ? dlsym(handle_, name.c_str()) : nullptr;
}

template <class T>
PeerOffer CblasPeer::prepare_typed(const PeerCase& request) const {
  const GemmProblem& problem = request.problem;
  const char letter = blas_letter(problem.dtype);
  const auto gemm = library_.symbol<CblasGemm<T>>(fmt::format("cblas_{}gemm", letter));
  if (!gemm) return PeerOffer::decline(fmt::format("{} has no cblas_{}gemm", library_.path(), letter));
  PeerOffer offer;
  add_loop<T>(offer, request, gemm);
  if (const auto batch = library_.symbol<CblasGemmBatch<T>>(fmt::format("cblas_{}gemm_batch", letter)))
    add_batch<T>(offer, request, batch);
  const auto strided =
      library_.symbol<CblasGemmBatchStrided<T>>(fmt::format("cblas_{}gemm_batch_strided", letter));
  if (strided && problem.layout == Layout::strided) add_batch_strided<T>(offer, request, strided);
  return offer;
}

// The library itself threads one product; otherwise it starts no threads.
PeerOffer CblasPeer::prepare_on_threads(const PeerCase& request) const {
  const auto set_threads = library_.symbol<void (*)(int)>("openblas_set_num_threads");
  if (!set_threads) return PeerOffer::decline("it starts no threads here, and there is only one product");
  PeerCase alone = request;
  alone.threads = 1;
  PeerOffer offer = prepare(alone);
  for (PeerVariant& variant : offer.variants)
    variant.run = [set_threads, threads = request.threads, run = std::move(variant.run)](const Operands& o) {
      set_threads(threads);
      run(o);
      set_threads(1);
    };
  return offer;
}

PeerOffer CblasPeer::prepare(const PeerCase& request) const {
  const GemmProblem& problem = request.problem;
  for (const std::int64_t value : {problem.batch_count, problem.stride_a, problem.stride_b, problem.stride_c})
    if (value > int_limit) return PeerOffer::decline("a size does not fit its 32-bit integers");
  if (problem.layout == Layout::single && request.threads > 1) return prepare_on_threads(request);
  return dispatch(problem.dtype, [&]<class T>() { return prepare_typed<T>(request); });
}

void find_openblas(PeerSearch& search) {
  // Releases up to 0.3.21 take AVX-512 processors newer than themselves for a Haswell; OpenBLAS reads this
  // variable while loading.
  if (cpu_info().avx512) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  const Library serial = open_quiet("serial");
  if (!serial) {
    search.missing.push_back({"openblas", serial.error()});
    return;
  }
  const Library threaded = open_quiet("pthread");
  std::unique_ptr<CblasPeer> shared;
  if (threaded && safe_for_threads(threaded))
    shared = std::make_unique<CblasPeer>("openblas", version_of(threaded), threaded);
  search.add(
      std::make_unique<OpenBlas>(CblasPeer("openblas", version_of(serial), serial), std::move(shared)));
}

}  // namespace tilewright::peers
