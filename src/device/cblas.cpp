// Opens a CBLAS with dlopen so that the library itself depends on none, and RTLD_LOCAL so that its symbols
// never meet those of a BLAS that the program is linked with.
#include "device/cblas.hpp"

#include <dlfcn.h>
#include <omp.h>

#include <array>
#include <mutex>

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
  std::string names;
  for (const char* name : {"libopenblas.so.0", "libmkl_rt.so", "libmkl_rt.so.2", "libscipy_openblas.so",
                           "libcblas.so.3", "libblas.so.3"}) {
    if (open(name)) return;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  error_ = "no CBLAS library was found (" + names + "; or name one in TILEWRIGHT_CBLAS)";
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
  handle_ = handle;
  for (const char* prefix : {"", "scipy_"}) {
    prefix_ = prefix;
    sgemm_ = reinterpret_cast<Sgemm>(find("cblas_sgemm"));
    dgemm_ = reinterpret_cast<Dgemm>(find("cblas_dgemm"));
    cgemm_ = reinterpret_cast<Cgemm>(find("cblas_cgemm"));
    zgemm_ = reinterpret_cast<Cgemm>(find("cblas_zgemm"));
    if (sgemm_ == nullptr || dgemm_ == nullptr || cgemm_ == nullptr || zgemm_ == nullptr) continue;
    find_control();
    find_factorization();
    name_ = path;
    error_.clear();
    return true;
  }
  dlclose(handle);
  handle_ = nullptr;
  error_ = "'" + path + "' has no cblas_sgemm, cblas_dgemm, cblas_cgemm and cblas_zgemm";
  return false;
}

void* CblasLibrary::find(const char* symbol) const { return dlsym(handle_, (prefix_ + symbol).c_str()); }

void CblasLibrary::find_control() {
  for (const char* symbol : {"MKL_Set_Num_Threads_Local", "openblas_set_num_threads_local"})
    if (set_local_threads_ == nullptr) set_local_threads_ = reinterpret_cast<int (*)(int)>(find(symbol));
  set_all_threads_ = reinterpret_cast<void (*)(int)>(find("openblas_set_num_threads"));
  all_threads_ = reinterpret_cast<int (*)()>(find("openblas_get_num_threads"));
  const auto parallel = reinterpret_cast<int (*)()>(find("openblas_get_parallel"));
  const int kind = parallel == nullptr ? 0 : parallel();  // 0: one thread, 1: its own threads, 2: OpenMP's
  if (set_local_threads_ != nullptr)
    control_ = Control::local;
  else if (kind == 2)
    control_ = Control::openmp;
  else if (kind == 1 && set_all_threads_ != nullptr && all_threads_ != nullptr)
    control_ = Control::whole;
}

void CblasLibrary::find_factorization() {
  constexpr std::array letters{'s', 'd', 'c', 'z'};  // in the order of DType
  const auto all_or_none = [&](auto& routines, const char* before, const char* after) {
    using Routine = std::remove_reference_t<decltype(routines[0])>;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      routines[i] = reinterpret_cast<Routine>(find((before + std::string(1, letters[i]) + after).c_str()));
      if (routines[i] == nullptr) return routines.fill(nullptr);
    }
  };
  all_or_none(trsm_, "cblas_", "trsm");
  all_or_none(work_getrf_, "LAPACKE_", "getrf_work");
  all_or_none(fortran_getrf_, "", "getrf_");
}

std::string CblasLibrary::version() const {
  if (handle_ == nullptr) return "";
  // OpenBLAS: "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."; MKL fills the buffer that it is given.
  if (const auto config = reinterpret_cast<const char* (*)()>(find("openblas_get_config"))) {
    const std::string text = config();
    return text.substr(0, text.find(' ', text.find(' ') + 1));
  }
  if (const auto fill = reinterpret_cast<void (*)(char*, int)>(find("mkl_get_version_string"))) {
    std::array<char, 256> text{};
    fill(text.data(), int(text.size()) - 1);
    return text.data();
  }
  return "";
}

namespace {

// Of the libraries whose count is everybody's; in practice one is open.
std::mutex whole_mutex;
int whole_users = 0, whole_before = 0;

}  // namespace

int CblasLibrary::set_threads(int threads) const {
  if (control_ == Control::local) return set_local_threads_(threads);
  if (control_ == Control::openmp) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    return before;
  }
  const std::lock_guard lock(whole_mutex);
  if (whole_users++ == 0) whole_before = all_threads_();
  set_all_threads_(threads);
  return 0;
}

void CblasLibrary::reset_threads(int before) const {
  if (control_ == Control::local) {
    set_local_threads_(before);
  } else if (control_ == Control::openmp) {
    omp_set_num_threads(before);
  } else {
    const std::lock_guard lock(whole_mutex);
    if (--whole_users == 0) set_all_threads_(whole_before);
  }
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

template <class T>
void CblasLibrary::trsm(const Triangle& t, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
                        std::int64_t ldb) const {
  const int side = t.side == Side::left ? 141 : 142, uplo = t.uplo == Uplo::upper ? 121 : 122;
  const int diag = t.diag == Diag::non_unit ? 131 : 132;
  const T one(1);
  void* const routine = trsm_[std::size_t(dtype_of<T>)];
  if constexpr (is_complex(dtype_of<T>)) {
    using Trsm = void (*)(int, int, int, int, int, int, int, const void*, const void*, int, void*, int);
    reinterpret_cast<Trsm>(routine)(cblas_col_major, side, uplo, cblas_op(t.op), diag, int(m), int(n), &one,
                                    a, int(lda), b, int(ldb));
  } else {
    using Trsm = void (*)(int, int, int, int, int, int, int, T, const T*, int, T*, int);
    reinterpret_cast<Trsm>(routine)(cblas_col_major, side, uplo, cblas_op(t.op), diag, int(m), int(n), one, a,
                                    int(lda), b, int(ldb));
  }
}

template <class T>
int CblasLibrary::getrf(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, int* pivots) const {
  const auto type = std::size_t(dtype_of<T>);
  const int rows = int(m), columns = int(n), leading = int(lda);
  int info = 0;
  if (work_getrf_[type] != nullptr)
    info = work_getrf_[type](cblas_col_major, rows, columns, a, leading, pivots);
  else
    fortran_getrf_[type](&rows, &columns, a, &leading, pivots, &info);
  if (info < 0)
    throw Error(ErrorCode::internal, "",
                "getrf of " + name_ + " refuses its argument " + std::to_string(-info));
  return info;
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                           \
  template void CblasLibrary::trsm(const Triangle&, std::int64_t, std::int64_t, const T*, std::int64_t, T*, \
                                   std::int64_t) const;                                                     \
  template int CblasLibrary::getrf(std::int64_t, std::int64_t, T*, std::int64_t, int*) const;
TILEWRIGHT_INSTANTIATE(float)
TILEWRIGHT_INSTANTIATE(double)
TILEWRIGHT_INSTANTIATE(std::complex<float>)
TILEWRIGHT_INSTANTIATE(std::complex<double>)
#undef TILEWRIGHT_INSTANTIATE

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
