// A libcusolver.so.12 that computes by plain loops in the fake driver's memory, so that bench lu has its
// peers without a GPU. Status 3 is CUSOLVER_STATUS_INVALID_VALUE. If TILEWRIGHT_FAKE_CUSOLVER is "wrong", one
// factor is off.
#include <dlfcn.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "counts.hpp"

namespace fake_cuda = tilewright::fake_cuda;
namespace {

constexpr int invalid = 3;

struct Handle {
  void* stream = nullptr;
};

double size_of(double x) { return std::abs(x); }
double size_of(std::complex<double> x) { return std::abs(x.real()) + std::abs(x.imag()); }

template <class T, class Index>
void factor_now(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, Index* pivots, int* info) {
  *info = 0;
  for (std::int64_t j = 0; j < std::min(m, n); ++j) {
    T* const column = a + j * lda;
    const auto larger = [](T x, T y) { return size_of(x) < size_of(y); };
    const std::int64_t p = std::max_element(column + j, column + m, larger) - column;
    pivots[j] = Index(p + 1);
    if (column[p] == T(0)) {
      if (*info == 0) *info = int(j + 1);
      continue;
    }
    for (std::int64_t k = 0; k < n; ++k) std::swap(a[j + k * lda], a[p + k * lda]);
    for (std::int64_t i = j + 1; i < m; ++i) column[i] /= column[j];
    for (std::int64_t k = j + 1; k < n; ++k)
      for (std::int64_t i = j + 1; i < m; ++i) a[i + k * lda] -= column[i] * a[j + k * lda];
  }
  const char* state = std::getenv("TILEWRIGHT_FAKE_CUSOLVER");
  if (state != nullptr && state == std::string_view("wrong")) a[0] *= T(2);
}

// Queues on the handle's stream, as the fake driver does.
template <class T, class Index>
int factor(void* handle, std::int64_t m, std::int64_t n, void* a, std::int64_t lda, Index* pivots,
           int* info) {
  if (handle == nullptr || m < 0 || n < 0 || lda < m) return invalid;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return 1;
  const auto queue = reinterpret_cast<fake_cuda::QueueWork>(dlsym(driver, fake_cuda::queue_name));
  return queue(static_cast<Handle*>(handle)->stream,
               [=] { factor_now(m, n, static_cast<T*>(a), lda, pivots, info); });
}

}  // namespace

extern "C" {

int cusolverGetVersion(int* version) {
  *version = 12004;
  return 0;
}
int cusolverDnCreate(void** handle) {
  *handle = new Handle;
  return 0;
}
int cusolverDnDestroy(void* handle) {
  delete static_cast<Handle*>(handle);
  return 0;
}
int cusolverDnCreateParams(void** params) {
  *params = new int;
  return 0;
}
int cusolverDnDestroyParams(void* params) {
  delete static_cast<int*>(params);
  return 0;
}
int cusolverDnSetStream(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return 0;
}

// The tests use f64 and c128 only.
int cusolverDnDgetrf_bufferSize(void*, int m, int n, void*, int, int* elements) {
  *elements = m * n;
  return 0;
}
int cusolverDnDgetrf(void* handle, int m, int n, void* a, int lda, void*, int* pivots, int* info) {
  return factor<double>(handle, m, n, a, lda, pivots, info);
}
int cusolverDnZgetrf_bufferSize(void*, int m, int n, void*, int, int* elements) {
  *elements = m * n;
  return 0;
}
int cusolverDnZgetrf(void* handle, int m, int n, void* a, int lda, void*, int* pivots, int* info) {
  return factor<std::complex<double>>(handle, m, n, a, lda, pivots, info);
}

int cusolverDnXgetrf_bufferSize(void*, void*, std::int64_t, std::int64_t, int, const void*, std::int64_t, int,
                                std::size_t* device_bytes, std::size_t* host_bytes) {
  *device_bytes = 512, *host_bytes = 16;
  return 0;
}
int cusolverDnXgetrf(void* handle, void*, std::int64_t m, std::int64_t n, int type, void* a, std::int64_t lda,
                     std::int64_t* pivots, int, void*, std::size_t, void*, std::size_t, int* info) {
  // CUDA_R_64F and CUDA_C_64F
  if (type == 1) return factor<double>(handle, m, n, a, lda, pivots, info);
  return type == 5 ? factor<std::complex<double>>(handle, m, n, a, lda, pivots, info) : invalid;
}

}  // extern "C"
