// LIBXSMM's kernels and OpenBLAS among the contenders of bench_small, called as their users call them for one
// product after the other: the kernel is looked up once, the routine is the sequential build's.
#include "peers/cblas_library.hpp"
#include "small_cases.hpp"

#ifdef TILEWRIGHT_PEER_LIBXSMM
#include <libxsmm.h>
#endif

namespace tilewright::bench {
namespace {

template <class T>
peers::CblasGemm<T> cblas_gemm = nullptr;

template <class T, int N, int Beta>
struct OpenBlas {
  static void multiply(const T* a, const T* b, T* c) {
    using peers::cblas_none;
    cblas_gemm<T>(peers::cblas_column_major, cblas_none, cblas_none, N, N, N, T(1), a, N, b, N, T(Beta), c,
                  N);
  }
};

#ifdef TILEWRIGHT_PEER_LIBXSMM
template <class T>
using XsmmKernel = std::conditional_t<std::is_same_v<T, double>, libxsmm_dmmfunction, libxsmm_smmfunction>;

template <class T, int N, int Beta>
struct Xsmm {
  static inline XsmmKernel<T> kernel = nullptr;
  static void multiply(const T* a, const T* b, T* c) { kernel(a, b, c); }
};

template <class T, int N, int Beta>
void add_libxsmm(SmallCases& cases) {
  const libxsmm_blasint ld = N;
  const T alpha = 1, beta = Beta;
  const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  auto& kernel = Xsmm<T, N, Beta>::kernel;
  if constexpr (std::is_same_v<T, double>)
    kernel = libxsmm_dmmdispatch(N, N, N, &ld, &ld, &ld, &alpha, &beta, &flags, &prefetch);
  else
    kernel = libxsmm_smmdispatch(N, N, N, &ld, &ld, &ld, &alpha, &beta, &flags, &prefetch);
  if (kernel != nullptr)
    cases.push_back({"libxsmm", libxsmm_get_target_arch(), sizeof(T), N, Beta, walk<T, N, Xsmm<T, N, Beta>>});
}
#else
template <class T, int N, int Beta>
void add_libxsmm(SmallCases&) {}
#endif

template <class T>
SmallCases peers_of_type() {
  return of_all_sizes([]<int N, int Beta>(SmallCases& cases) {
    add_libxsmm<T, N, Beta>(cases);
    if (cblas_gemm<T> != nullptr)
      cases.push_back({"openblas", "", sizeof(T), N, Beta, walk<T, N, OpenBlas<T, N, Beta>>});
  });
}

}  // namespace

SmallCases small_peers(bool only_avx2) {
#ifdef TILEWRIGHT_PEER_LIBXSMM
  libxsmm_init();
  if (only_avx2) libxsmm_set_target_archid(LIBXSMM_X86_AVX2);
#endif
  if (only_avx2) setenv("OPENBLAS_CORETYPE", "Haswell", 0);
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  const char* named = getenv("TILEWRIGHT_CBLAS");
  const auto library = peers::Library::open({named != nullptr ? named : "libopenblas.so.0"});
  if (library) {
    cblas_gemm<double> = library.symbol<peers::CblasGemm<double>>("cblas_dgemm");
    cblas_gemm<float> = library.symbol<peers::CblasGemm<float>>("cblas_sgemm");
  }
  SmallCases cases = peers_of_type<double>();
  for (SmallCase& one : peers_of_type<float>()) cases.push_back(std::move(one));
  return cases;
}

}  // namespace tilewright::bench
