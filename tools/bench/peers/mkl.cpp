// Intel MKL with its sequential layer, opened at run time: its gemm and batch routines (mkl), kernels it
// generates for one shape (mkl_jit), and its interleaved format (mkl_compact).
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "batch_loop.hpp"
#include "cblas_library.hpp"
#include "core/dispatch.hpp"

namespace tilewright::peers {
namespace {

// Returns the folder in which Python packages install libraries; "" without Python.
std::string python_prefix() {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen("python3 -c 'import sys; print(sys.prefix)' 2>/dev/null", "r"), pclose);
  std::array<char, 4096> line{};
  if (!pipe || !std::fgets(line.data(), int(line.size()), pipe.get())) return "";
  std::string prefix = line.data();
  while (!prefix.empty() && prefix.back() == '\n') prefix.pop_back();
  return prefix;
}

std::vector<std::string> candidates() {
  std::vector<std::string> folders = {""};
  if (const char* root = ::secure_getenv("MKLROOT"))
    for (const char* sub : {"/lib/", "/lib/intel64/"}) folders.push_back(std::string(root) + sub);
  if (const std::string prefix = python_prefix(); !prefix.empty()) folders.push_back(prefix + "/lib/");
  if (const char* home = ::secure_getenv("HOME")) folders.push_back(std::string(home) + "/.local/lib/");
  folders.push_back("/opt/intel/oneapi/mkl/latest/lib/");
  std::vector<std::string> paths;
  for (const std::string& folder : folders)
    for (const char* name : {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"})
      paths.push_back(folder + name);
  return paths;
}

std::string version_of(const Library& library) {
  const auto get = library.symbol<void (*)(char*, int)>("mkl_get_version_string");
  if (!get) return "unknown";
  std::array<char, 256> text{};
  get(text.data(), int(text.size()) - 1);
  std::string version = text.data();
  const std::size_t begin = version.find("Version ");
  if (begin == std::string::npos) return version;
  version.erase(0, begin + 8);
  return version.substr(0, version.find_first_of(" -"));
}

template <class T>
using JitCreate = int (*)(void** jitter, int order, int op_a, int op_b, int m, int n, int k,
                          CblasScalar<T> alpha, int lda, int ldb, CblasScalar<T> beta, int ldc);
template <class T>
using JitKernel = void (*)(void* jitter, const T* a, const T* b, T* c);
template <class T>
using JitPointer = JitKernel<T> (*)(const void* jitter);
using JitDestroy = int (*)(void* jitter);

class MklJit : public Peer {
 public:
  MklJit(std::string version, Library library) : version_(std::move(version)), library_(std::move(library)) {}
  std::string name() const override { return "mkl_jit"; }
  std::string version() const override { return version_; }
  PeerOffer prepare(const PeerCase& request) const override {
    return dispatch(request.problem.dtype, [&]<class T>() { return prepare_typed<T>(request); });
  }

 private:
  template <class T>
  PeerOffer prepare_typed(const PeerCase& request) const {
    const GemmProblem& p = request.problem;
    const char letter = blas_letter(p.dtype);
    const auto create = library_.symbol<JitCreate<T>>(fmt::format("mkl_cblas_jit_create_{}gemm", letter));
    const auto pointer = library_.symbol<JitPointer<T>>(fmt::format("mkl_jit_get_{}gemm_ptr", letter));
    const auto destroy = library_.symbol<JitDestroy>("mkl_jit_destroy");
    if (!create || !pointer || !destroy) return PeerOffer::decline("this MKL exports no JIT");
    void* raw = nullptr;
    const T alpha = scalar_as<T>(request.alpha);
    const T beta = scalar_as<T>(request.beta);
    const int status =
        create(&raw, cblas_column_major, cblas_op(p.op_a), cblas_op(p.op_b), int(p.m), int(p.n), int(p.k),
               cblas_scalar(alpha), int(p.lda), int(p.ldb), cblas_scalar(beta), int(p.ldc));
    const std::shared_ptr<void> jitter(raw, [destroy](void* j) {
      if (j) destroy(j);
    });
    if (status != 0)
      return PeerOffer::decline(status == 1 ? "MKL generates no kernel for this case"
                                            : "mkl_jit_create failed");
    const JitKernel<T> kernel = pointer(raw);
    if (!kernel) return PeerOffer::decline("MKL returned a null kernel");
    PeerOffer offer;
    add_loop_variants<T>(offer, request, "", [jitter, raw, kernel](const auto& at, std::int64_t i) {
      kernel(raw, at.a(i), at.b(i), at.c(i));
    });
    return offer;
  }

  std::string version_;
  Library library_;
};

template <class T>
using CompactGemm = void (*)(int order, int op_a, int op_b, int m, int n, int k, T alpha, const T* a, int lda,
                             const T* b, int ldb, T beta, T* c, int ldc, int format, int count);

// The compact format is block-interleaved with one vector of problems per block; complex numbers are split
// there into planes of real and imaginary parts, a layout that differs from tilewright's.
class MklCompact : public Peer {
 public:
  MklCompact(std::string version, Library library)
      : version_(std::move(version)), library_(std::move(library)) {
    if (const auto get = library_.symbol<int (*)()>("mkl_get_format_compact")) format_ = get();
  }
  std::string name() const override { return "mkl_compact"; }
  std::string version() const override { return version_; }

  GemmProblem stored(const GemmProblem& problem) const override {
    if (!is_interleaved(problem.layout) || format_ < compact_sse) return problem;
    GemmProblem blocked = problem;
    blocked.layout = Layout::block_interleaved;
    blocked.block = (std::int64_t{16} << (format_ - compact_sse)) / size_bytes(problem.dtype);
    return blocked;
  }

  PeerOffer prepare(const PeerCase& request) const override {
    if (!is_interleaved(request.problem.layout)) return PeerOffer::decline("only interleaved batches");
    if (format_ < compact_sse) return PeerOffer::decline("this MKL exports no compact format");
    if (request.problem.dtype == DType::f64) return prepare_typed<double>(request);
    if (request.problem.dtype == DType::f32) return prepare_typed<float>(request);
    return PeerOffer::decline("its compact format splits complex numbers into planes");
  }

 private:
  static constexpr int compact_sse = 181;  // AVX and AVX-512 follow, each twice as wide

  template <class T>
  PeerOffer prepare_typed(const PeerCase& request) const {
    const auto gemm = library_.symbol<CompactGemm<T>>(
        fmt::format("mkl_{}gemm_compact", blas_letter(request.problem.dtype)));
    if (!gemm) return PeerOffer::decline("this MKL exports no compact gemm");
    PeerOffer offer;
    offer.variants.push_back({"", [gemm, request, format = format_](const Operands& operands) {
                                run<T>(gemm, request, format, operands);
                              }});
    return offer;
  }

  // Each thread takes a contiguous share of whole blocks.
  template <class T>
  static void run(CompactGemm<T> gemm, const PeerCase& request, int format, const Operands& operands) {
    const GemmProblem& p = request.problem;
    const std::int64_t blocks = (p.batch_count + p.block - 1) / p.block;
    const auto share = [&](std::int64_t first, std::int64_t last) {
      const std::int64_t begin = first * p.block;
      const std::int64_t count = std::min(last * p.block, p.batch_count) - begin;
      gemm(cblas_column_major, cblas_op(p.op_a), cblas_op(p.op_b), int(p.m), int(p.n), int(p.k),
           scalar_as<T>(request.alpha), static_cast<const T*>(operands.a) + begin * p.lda * p.a_cols(),
           int(p.lda), static_cast<const T*>(operands.b) + begin * p.ldb * p.b_cols(), int(p.ldb),
           scalar_as<T>(request.beta), static_cast<T*>(operands.c) + begin * p.ldc * p.n, int(p.ldc), format,
           int(count));
    };
    if (request.threads == 1) return share(0, blocks);
#pragma omp parallel for num_threads(request.threads) schedule(static, 1)
    for (int thread = 0; thread < request.threads; ++thread)
      share(blocks * thread / request.threads, blocks * (thread + 1) / request.threads);
  }

  std::string version_;
  Library library_;
  int format_ = 0;
};

}  // namespace

void find_mkl(PeerSearch& search) {
  Library library = Library::open(candidates());
  if (!library) {
    for (const char* name : {"mkl", "mkl_jit", "mkl_compact"})
      search.missing.push_back(
          {name, "libmkl_rt not found (searched the loader's path, MKLROOT and Python's prefix)"});
    return;
  }
  constexpr int sequential_layer = 1;
  if (const auto set = library.symbol<int (*)(int)>("MKL_Set_Threading_Layer")) set(sequential_layer);
  const std::string version = version_of(library);
  search.add(std::make_unique<CblasPeer>("mkl", version, library));
  search.add(std::make_unique<MklJit>(version, library));
  search.add(std::make_unique<MklCompact>(version, library));
}

}  // namespace tilewright::peers
