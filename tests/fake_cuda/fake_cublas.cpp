// A libcublas.so.13 that computes plain sums in the fake driver's memory, so that the vendor's library as an
// implementation is tested without a GPU. Status 7 is CUBLAS_STATUS_INVALID_VALUE; 1 is
// CUBLAS_STATUS_NOT_INITIALIZED, which every call returns if TILEWRIGHT_FAKE_CUBLAS is "broken".
#include <dlfcn.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "counts.hpp"
#include "product.hpp"

namespace fake_cuda = tilewright::fake_cuda;
namespace {

struct Handle {
  void* stream = nullptr;
};

// Queues on the handle's stream, as the fake driver does.
template <class Work>
int queue(void* handle, Work work) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return 1;
  const auto queue_work = reinterpret_cast<fake_cuda::QueueWork>(dlsym(driver, fake_cuda::queue_name));
  return queue_work(static_cast<Handle*>(handle)->stream, work) == 0 ? 0 : 13;
}

template <class T>
bool are_valid(void* handle, int m, int n, int k, const T* alpha, const T* beta, int ldc) {
  if (handle == nullptr || m < 0 || n < 0 || k < 0 || ldc < m) return false;
  // The real library crashes: it reads scalars by aligned accesses.
  const auto is_aligned = [](const T* at) { return reinterpret_cast<std::uintptr_t>(at) % sizeof(T) == 0; };
  return is_aligned(alpha) && is_aligned(beta);
}

template <class T>
void multiply_now(int op_a, int op_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb,
                  T beta, T* c, int ldc) {
  const auto elements = [](const T* x, int ld, int op) {
    const fake_cuda::Elements<T> stored{x, 1, ld, op == 2};
    return op == 0 ? stored : stored.transposed();
  };
  fake_cuda::multiply_elements<T>(m, n, alpha == T(0) ? 0 : k, elements(a, lda, op_a), elements(b, ldb, op_b),
                                  [&](long long i, long long j, T sum) {
                                    T& to = c[j * ldc + i];
                                    to = beta == T(0) ? alpha * sum : alpha * sum + beta * to;
                                  });
}

template <class T>
int multiply(void* handle, int op_a, int op_b, int m, int n, int k, const T* alpha, const T* a, int lda,
             const T* b, int ldb, const T* beta, T* c, int ldc) {
  if (!are_valid(handle, m, n, k, alpha, beta, ldc)) return 7;
  return queue(handle, [=, alpha = *alpha, beta = *beta] {
    multiply_now(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  });
}

// The arrays of addresses lie in device memory as well.
template <class T>
int multiply_pointers(void* handle, int op_a, int op_b, int m, int n, int k, const T* alpha,
                      const T* const* a, int lda, const T* const* b, int ldb, const T* beta, T* const* c,
                      int ldc, int count) {
  if (!are_valid(handle, m, n, k, alpha, beta, ldc)) return 7;
  return queue(handle, [=, alpha = *alpha, beta = *beta] {
    for (int q = 0; q < count; ++q)
      multiply_now(op_a, op_b, m, n, k, alpha, a[q], lda, b[q], ldb, beta, c[q], ldc);
  });
}

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) {
  const char* state = std::getenv("TILEWRIGHT_FAKE_CUBLAS");
  if (state != nullptr && state == std::string_view("broken")) return 1;
  *handle = new Handle;
  return 0;
}
int cublasDestroy_v2(void* handle) {
  delete static_cast<Handle*>(handle);
  return 0;
}
int cublasGetVersion_v2(void*, int* version) {
  *version = 130100;
  return 0;
}
int cublasSetStream_v2(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return 0;
}

#define FAKE_GEMM(LETTER, T)                                                                             \
  int cublas##LETTER##gemm_v2(void* handle, int op_a, int op_b, int m, int n, int k, const T* alpha,     \
                              const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {  \
    return multiply(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                   \
  }                                                                                                      \
  int cublas##LETTER##gemmStridedBatched(void* handle, int op_a, int op_b, int m, int n, int k,          \
                                         const T* alpha, const T* a, int lda, long long stride_a,        \
                                         const T* b, int ldb, long long stride_b, const T* beta, T* c,   \
                                         int ldc, long long stride_c, int count) {                       \
    for (int q = 0; q < count; ++q)                                                                      \
      multiply(handle, op_a, op_b, m, n, k, alpha, a + q * stride_a, lda, b + q * stride_b, ldb, beta,   \
               c + q * stride_c, ldc);                                                                   \
    return 0;                                                                                            \
  }                                                                                                      \
  int cublas##LETTER##gemmBatched(void* handle, int op_a, int op_b, int m, int n, int k, const T* alpha, \
                                  const T* const* a, int lda, const T* const* b, int ldb, const T* beta, \
                                  T* const* c, int ldc, int count) {                                     \
    return multiply_pointers(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count);   \
  }

#define FAKE_GEAM(LETTER, T)                                                                           \
  int cublas##LETTER##geam(void* handle, int op_a, int op_b, int m, int n, const T* alpha, const T* a, \
                           int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {               \
    if (handle == nullptr || op_a != 0 || op_b != 0) return 7;                                         \
    return queue(handle, [=, alpha = *alpha, beta = *beta] {                                           \
      for (std::ptrdiff_t j = 0; j < n; ++j)                                                           \
        for (std::ptrdiff_t i = 0; i < m; ++i)                                                         \
          c[j * ldc + i] = alpha * a[j * lda + i] + beta * b[j * ldb + i];                             \
    });                                                                                                \
  }

FAKE_GEAM(S, float)
FAKE_GEAM(D, double)
FAKE_GEAM(C, std::complex<float>)
FAKE_GEAM(Z, std::complex<double>)

FAKE_GEMM(S, float)
FAKE_GEMM(D, double)
FAKE_GEMM(C, std::complex<float>)
FAKE_GEMM(Z, std::complex<double>)

#undef FAKE_GEAM
#undef FAKE_GEMM

// Knows the algorithm of its own search alone (999), unless TILEWRIGHT_FAKE_CUBLAS is "untuned".
int cublasGemmEx(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
                 int type, int lda, const void* b, int, int ldb, const void* beta, void* c, int, int ldc,
                 int compute, int algorithm) {
  const char* state = std::getenv("TILEWRIGHT_FAKE_CUBLAS");
  const bool is_narrow = type == 0 || type == 4;
  if (algorithm != 999 || compute != (is_narrow ? 68 : 70)) return 7;
  if (state != nullptr && state == std::string_view("untuned")) return 7;
  const auto as = [&]<class T>(T) {
    return multiply(handle, op_a, op_b, m, n, k, static_cast<const T*>(alpha), static_cast<const T*>(a), lda,
                    static_cast<const T*>(b), ldb, static_cast<const T*>(beta), static_cast<T*>(c), ldc);
  };
  switch (type) {
    case 0:
      return as(float());
    case 1:
      return as(double());
    case 4:
      return as(std::complex<float>());
    case 5:
      return as(std::complex<double>());
    default:
      return 7;
  }
}

}  // extern "C"
