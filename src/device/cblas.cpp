// Opens a CBLAS with dlopen so that the library itself depends on none, and RTLD_LOCAL so that its symbols
// never meet those of a BLAS that the program is linked with.
#include "device/cblas.hpp"

#include <dlfcn.h>

#include <array>

namespace tilewright {
namespace {

// Values of the CBLAS enumerations (Blackford et al. 2002, An updated set of BLAS).
constexpr int cblas_col_major = 102;
int cblas_op(Op op) {
  switch (op) {
    case Op::none:
      return 111;
    case Op::trans:
      return 112;
    case Op::conj_trans:
      return 113;
  }
  return 111;
}

}  // namespace

CblasLibrary::CblasLibrary(const std::string& path) {
  if (!path.empty()) {
    open(path);
    return;
  }
  for (const char* name : {"libopenblas.so.0", "libmkl_rt.so", "libcblas.so.3", "libblas.so.3"})
    if (open(name)) return;
  error_ =
      "no CBLAS library was found (libopenblas.so.0, libmkl_rt.so, libcblas.so.3, libblas.so.3; or name one "
      "in "
      "TILEWRIGHT_CBLAS)";
}

CblasLibrary::~CblasLibrary() {
  // The handle stays open: threads that a BLAS started may still run its code when a Context ends.
}

bool CblasLibrary::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    error_ =
        "cannot open the CBLAS library '" + path + "': " + (reason == nullptr ? "unknown reason" : reason);
    return false;
  }
  sgemm_ = reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm"));
  dgemm_ = reinterpret_cast<Dgemm>(dlsym(handle, "cblas_dgemm"));
  cgemm_ = reinterpret_cast<Cgemm>(dlsym(handle, "cblas_cgemm"));
  zgemm_ = reinterpret_cast<Cgemm>(dlsym(handle, "cblas_zgemm"));
  if (sgemm_ == nullptr || dgemm_ == nullptr || cgemm_ == nullptr || zgemm_ == nullptr) {
    dlclose(handle);
    error_ = "'" + path + "' has no cblas_sgemm, cblas_dgemm, cblas_cgemm and cblas_zgemm";
    return false;
  }
  for (const char* symbol : {"MKL_Set_Num_Threads_Local", "openblas_set_num_threads_local"})
    if (set_local_threads_ == nullptr)
      set_local_threads_ = reinterpret_cast<int (*)(int)>(dlsym(handle, symbol));
  handle_ = handle;
  name_ = path;
  error_.clear();
  return true;
}

std::string CblasLibrary::version() const {
  if (handle_ == nullptr) return "";
  // OpenBLAS: "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."; MKL fills the buffer that it is given.
  if (const auto config = reinterpret_cast<const char* (*)()>(dlsym(handle_, "openblas_get_config"))) {
    const std::string text = config();
    return text.substr(0, text.find(' ', text.find(' ') + 1));
  }
  if (const auto fill = reinterpret_cast<void (*)(char*, int)>(dlsym(handle_, "mkl_get_version_string"))) {
    std::array<char, 256> text{};
    fill(text.data(), int(text.size()) - 1);
    return text.data();
  }
  return "";
}

int CblasLibrary::set_local_threads(int threads) const {
  return set_local_threads_ == nullptr ? 0 : set_local_threads_(threads);
}

template <class T>
void CblasLibrary::gemm(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
                        std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                        std::int64_t ldc) const {
  const auto call = [&](auto routine, auto scalar) {
    routine(cblas_col_major, cblas_op(op_a), cblas_op(op_b), int(m), int(n), int(k), scalar(alpha), a,
            int(lda), b, int(ldb), scalar(beta), c, int(ldc));
  };
  const auto by_value = [](const T& value) { return value; };
  const auto by_address = [](const T& value) -> const void* { return &value; };
  if constexpr (dtype_of<T> == DType::f32) call(sgemm_, by_value);
  if constexpr (dtype_of<T> == DType::f64) call(dgemm_, by_value);
  if constexpr (dtype_of<T> == DType::c64) call(cgemm_, by_address);
  if constexpr (dtype_of<T> == DType::c128) call(zgemm_, by_address);
}

template void CblasLibrary::gemm(Op, Op, std::int64_t, std::int64_t, std::int64_t, float, const float*,
                                 std::int64_t, const float*, std::int64_t, float, float*, std::int64_t) const;
template void CblasLibrary::gemm(Op, Op, std::int64_t, std::int64_t, std::int64_t, double, const double*,
                                 std::int64_t, const double*, std::int64_t, double, double*,
                                 std::int64_t) const;
template void CblasLibrary::gemm(Op, Op, std::int64_t, std::int64_t, std::int64_t, std::complex<float>,
                                 const std::complex<float>*, std::int64_t, const std::complex<float>*,
                                 std::int64_t, std::complex<float>, std::complex<float>*, std::int64_t) const;
template void CblasLibrary::gemm(Op, Op, std::int64_t, std::int64_t, std::int64_t, std::complex<double>,
                                 const std::complex<double>*, std::int64_t, const std::complex<double>*,
                                 std::int64_t, std::complex<double>, std::complex<double>*,
                                 std::int64_t) const;

}  // namespace tilewright
