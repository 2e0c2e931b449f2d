// Opens a CBLAS with RTLD_LOCAL, so that its symbols never conflict with a BLAS of the program.
#include "device/cblas.hpp"

#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/dispatch.hpp"
#include "core/host/stack.hpp"
#include "core/input/failure.hpp"
#include "core/trust.hpp"
#include "device/team.hpp"

namespace tilewright {
namespace {

constexpr std::array letters{'s', 'd', 'c', 'z'};  // in the order of DType

// Values of the CBLAS enumerations (Blackford et al. 2002, An updated set of BLAS).
constexpr int cblas_col_major = 102;
int cblas_op(Op op) { return 111 + int(op); }

// Guards the thread count of libraries that have one count for all callers; in practice one is open.
constinit Mutex whole_mutex;
int whole_users = 0, whole_before = 0;

// Serialises calls of libraries for one caller. Their memory is inconsistent during a call, so fork waits.
constinit Mutex one_caller;

// Real scalars are passed by value, complex ones by address.
template <class T>
using ScalarArgument = std::conditional_t<is_complex(dtype_of<T>), const T*, T>;
template <class T>
ScalarArgument<T> argument(const T& value) {
  if constexpr (is_complex(dtype_of<T>))
    return &value;
  else
    return value;
}

// Calls f(Int()) with the integer type of the library.
template <class F>
auto with_integer(bool wide, F&& f) {
  return wide ? f(std::int64_t()) : f(int());
}

// Checks before a thread's first call that OpenBLAS can allocate the thread's buffer of 32 to 128 MiB, which
// it keeps: without memory it retries for ever or ends the process.
void require_room() {
  constexpr std::size_t more_than_needed = std::size_t(160) << 20;
  thread_local constinit bool had_room = false;
  if (had_room) return;
  ::operator delete(::operator new(more_than_needed));
  had_room = true;
}

// Uses LAPACKE's routine without a check for NaN, or the Fortran routine.
template <class Int, class T>
Int factor(void* work_getrf, void* fortran_getrf, Int m, Int n, T* a, Int lda, Int* pivots) {
  if (work_getrf != nullptr)
    return reinterpret_cast<Int (*)(int, Int, Int, T*, Int, Int*)>(work_getrf)(cblas_col_major, m, n, a, lda,
                                                                               pivots);
  Int info = 0;
  reinterpret_cast<void (*)(const Int*, const Int*, T*, const Int*, Int*, Int*)>(fortran_getrf)(
      &m, &n, a, &lda, pivots, &info);
  return info;
}

// Calls a Fortran routine. The lengths of its characters follow its arguments, as gfortran passes them.
template <class... Arguments>
void call_fortran(void* routine, Arguments... arguments) {
  reinterpret_cast<void (*)(Arguments...)>(routine)(arguments...);
}
constexpr std::size_t one_character = 1;

// Calls f(elements, their count, reals, their count, integers, their count) for the sizes of LAPACK's working
// memory, which come in its first places, and again with memory of these sizes or, if more, the least ones.
template <class Int, class T, class F>
void with_memory(LapackMemory<T>& memory, std::int64_t least_reals, std::int64_t least_integers, F&& f) {
  using R = RealPart<T>;
  constexpr Int asks = -1;
  T elements{};
  R reals{};
  Int integers{};
  f(&elements, asks, &reals, asks, &integers, asks);
  // A size that its type cannot hold was rounded.
  const auto above = [](R size) {
    return std::int64_t(std::ceil(size * (1 + std::numeric_limits<R>::epsilon())));
  };
  const auto grow = [](auto& vector, std::int64_t size) {
    if (std::int64_t(vector.size()) < size) vector.resize(std::size_t(size));
  };
  grow(memory.elements, std::max<std::int64_t>(1, above(std::real(elements))));
  grow(memory.reals, std::max(least_reals, above(reals)));
  grow(memory.integers, std::max(least_integers, std::int64_t(integers)));
  f(memory.elements.data(), Int(memory.elements.size()), memory.reals.data(), Int(memory.reals.size()),
    reinterpret_cast<Int*>(memory.integers.data()), Int(memory.integers.size()));
}

}  // namespace

CblasLibrary::CblasLibrary(const std::string& path) {
  if (path == "none") {
    error_ = "TILEWRIGHT_CBLAS = none";
    return;
  }
  if (!path.empty()) {
    open(path);
    return;
  }
  std::string names;
  for (const char* name : {"libopenblas.so.0", "libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2",
                           "libscipy_openblas.so", "libcblas.so.3", "libblas.so.3"}) {
    if (open(name)) return;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  error_ = "no CBLAS library was found (" + names + "; or name one in TILEWRIGHT_CBLAS)";
}

CblasLibrary::~CblasLibrary() {
  // The handle stays open: threads that a BLAS started may still run its code when a Context ends.
}

bool CblasLibrary::open(const std::string& path) {
  if (std::error_code error; path.find('/') != std::string::npos && std::filesystem::is_fifo(path, error)) {
    error_ = "the CBLAS library '" + path + "' is a pipe";  // the loader would block on it
    return false;
  }
  // The loader searches for a bare name. A library that is loaded already needs no check of its writers.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (const std::string why =
          handle != nullptr || path.find('/') == std::string::npos ? "" : why_not_trusted(path);
      !why.empty()) {
    error_ = "the CBLAS library '" + path + "' is not opened: " + why;
    return false;
  }
  if (handle == nullptr) {
    handle = at_ease([&] {
      const SignalsBlocked scope;  // a handler that ends the process would end a half-initialised library
      return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    });
    if (handle != nullptr) fork_gate::go_first();
  }
  if (handle == nullptr) {
    error_ = "cannot open the CBLAS library '" + path + "': " + loader_error();
    return false;
  }
  handle_ = handle;
  using Names = std::pair<const char*, const char*>;
  for (const auto& [prefix, suffix] :
       {Names("", ""), Names("scipy_", ""), Names("", "64_"), Names("scipy_", "64_")}) {
    prefix_ = prefix, suffix_ = suffix;
    find_all(gemm_, "cblas_", "gemm");
    if (gemm_[0] == nullptr) continue;
    find_width();
    find_control();
    find_callers();
    find_all(trsm_, "cblas_", "trsm");
    find_all(work_getrf_, "LAPACKE_", "getrf_work");
    find_all(fortran_getrf_, "", "getrf_");
    find_all(syevd_, "", "syevd_", "heevd_");
    find_all(gesdd_, "", "gesdd_");
    find_all(geqrf_, "", "geqrf_");
    name_ = path;
    error_.clear();
    take_working_memory();
    return true;
  }
  dlclose(handle);
  handle_ = nullptr;
  error_ = "'" + path + "' has no cblas_sgemm, cblas_dgemm, cblas_cgemm and cblas_zgemm";
  return false;
}

// OpenBLAS takes its first working memory under a spin lock, for which a child forked meanwhile would wait
// for ever; so a solve of one element takes it here, where a library is opened and fork waits.
void CblasLibrary::take_working_memory() const {
  const double one = 1;
  double x = 1;
  if (trsm_[0] != nullptr) trsm(Triangle{}, 1, 1, &one, 1, &x, 1);
}

LoadedFunction CblasLibrary::find(const std::string& symbol) const {
  return {handle_, (prefix_ + symbol + suffix_).c_str()};
}

void CblasLibrary::find_all(std::array<void*, 4>& routines, const char* before, const char* after,
                            const char* after_complex) const {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const bool is_renamed = after_complex != nullptr && is_complex(DType(i));
    routines[i] = find(before + std::string(1, letters[i]) + (is_renamed ? after_complex : after));
    if (routines[i] == nullptr) return routines.fill(nullptr);
  }
}

// Probes the width of integers, which an ILP64 library need not tell by its symbols: it takes the length for
// negative and returns 0; a library of 32-bit integers sees the lower half, which is 1.
void CblasLibrary::find_width() {
  double (*const sum)(std::int64_t, const double*, std::int64_t) = find("cblas_dasum");
  constexpr std::int64_t length = 1 - (std::int64_t(1) << 32);
  const double one = 1;
  wide_ = sum == nullptr ? suffix_ == "64_" : sum(length, &one, 1) == 0;
}

std::int64_t CblasLibrary::largest_integer() const {
  return wide_ ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<int>::max();
}

void CblasLibrary::find_control() {
  for (const char* symbol : {"MKL_Set_Num_Threads_Local", "openblas_set_num_threads_local"})
    if (set_local_threads_ == nullptr) set_local_threads_ = find(symbol);
  set_all_threads_ = find("openblas_set_num_threads");
  all_threads_ = find("openblas_get_num_threads");
  int (*const parallel)() = find("openblas_get_parallel");
  const int kind = parallel == nullptr ? 0 : parallel();  // 0: one thread, 1: its own threads, 2: OpenMP's
  if (kind == 2) prefer_openmp();
  has_threads_ = kind == 1;
  if (set_local_threads_ != nullptr)
    control_ = Control::local;
  else if (kind == 2)
    control_ = Control::openmp;
  else if (kind == 1 && set_all_threads_ != nullptr && all_threads_ != nullptr)
    control_ = Control::whole;
}

void CblasLibrary::find_callers() {
  const char* (*const config)() = find("openblas_get_config");
  const std::string text = config == nullptr ? "" : config();
  one_caller_ =
      text.find("SINGLE_THREADED") != std::string::npos && text.find("USE_LOCKING") == std::string::npos;
}

std::string CblasLibrary::version() const {
  if (handle_ == nullptr) return "";
  // OpenBLAS returns "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."; MKL fills the buffer that it is given.
  if (const char* (*const config)() = find("openblas_get_config")) {
    const std::string text = config();
    return text.substr(0, text.find(' ', text.find(' ') + 1));
  }
  if (void (*const fill)(char*, int) = find("mkl_get_version_string")) {
    std::array<char, 256> text{};
    fill(text.data(), int(text.size()) - 1);
    return text.data();
  }
  return "";
}

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

// Fork waits for the call: OpenBLAS ends its threads before fork, and those at work would miss the signal.
class CblasLibrary::Call {
 public:
  explicit Call(const CblasLibrary& library) : has_threads_(library.has_threads_) {
    require_room();
    if (has_threads_) fork_gate::enter();
    // A decomposition's own products come back here if libtilewright_blas is loaded before the library.
    if (depth++ == 0 && library.one_caller_) turn_ = std::unique_lock(one_caller);
  }
  ~Call() {
    --depth;
    if (has_threads_) fork_gate::leave();
  }
  Call& operator=(Call&&) = delete;

 private:
  inline static thread_local constinit int depth = 0;  // of the thread's calls

  NoCancel uncancelled_;
  bool has_threads_;
  std::unique_lock<Mutex> turn_;
};

template <class T>
void CblasLibrary::gemm(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
                        std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
                        std::int64_t ldc) const {
  const Call call(*this);
  with_integer(wide_, [&]<class Int>(Int) {
    using Routine = void (*)(int, int, int, Int, Int, Int, ScalarArgument<T>, const T*, Int, const T*, Int,
                             ScalarArgument<T>, T*, Int);
    reinterpret_cast<Routine>(gemm_[std::size_t(dtype_of<T>)])(
        cblas_col_major, cblas_op(op_a), cblas_op(op_b), Int(m), Int(n), Int(k), argument(alpha), a, Int(lda),
        b, Int(ldb), argument(beta), c, Int(ldc));
  });
}

template <class T>
void CblasLibrary::trsm(const Triangle& t, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
                        std::int64_t ldb) const {
  const int side = t.side == Side::left ? 141 : 142, uplo = t.uplo == Uplo::upper ? 121 : 122;
  const int diag = t.diag == Diag::non_unit ? 131 : 132;
  const T one(1);
  const Call call(*this);
  with_integer(wide_, [&]<class Int>(Int) {
    using Routine = void (*)(int, int, int, int, int, Int, Int, ScalarArgument<T>, const T*, Int, T*, Int);
    reinterpret_cast<Routine>(trsm_[std::size_t(dtype_of<T>)])(cblas_col_major, side, uplo, cblas_op(t.op),
                                                               diag, Int(m), Int(n), argument(one), a,
                                                               Int(lda), b, Int(ldb));
  });
}

template <class T>
int CblasLibrary::getrf(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, int* pivots) const {
  const auto type = std::size_t(dtype_of<T>);
  void *const work = work_getrf_[type], *const fortran = fortran_getrf_[type];
  std::int64_t info = 0;
  const Call call(*this);
  if (wide_) {
    std::vector<std::int64_t> wide(std::size_t(std::min(m, n)));
    info = factor(work, fortran, m, n, a, lda, wide.data());
    std::transform(wide.begin(), wide.end(), pivots, [](std::int64_t pivot) { return int(pivot); });
  } else {
    info = factor(work, fortran, int(m), int(n), a, int(lda), pivots);
  }
  return checked("getrf", info);
}

int CblasLibrary::checked(const char* routine, std::int64_t info) const {
  if (info < 0)
    throw Error(ErrorCode::internal, "",
                std::string(routine) + " of " + name_ + " rejects its argument " + std::to_string(-info));
  return int(info);
}

template <class T>
int CblasLibrary::syevd(bool vectors, Uplo uplo, std::int64_t n, T* a, std::int64_t lda, RealPart<T>* values,
                        LapackMemory<T>& memory) const {
  const char job = vectors ? 'V' : 'N', triangle = uplo == Uplo::upper ? 'U' : 'L';
  void* const routine = syevd_[std::size_t(dtype_of<T>)];
  const Call call(*this);
  return with_integer(wide_, [&]<class Int>(Int) {
    const Int order = Int(n), ld = Int(lda);
    Int info = 0;
    with_memory<Int>(
        memory, 1, 1,
        [&](T* work, Int size, RealPart<T>* reals, Int real_count, Int* integers, Int integer_count) {
          if constexpr (is_complex(dtype_of<T>))
            call_fortran(routine, &job, &triangle, &order, a, &ld, values, work, &size, reals, &real_count,
                         integers, &integer_count, &info, one_character, one_character);
          else
            call_fortran(routine, &job, &triangle, &order, a, &ld, values, work, &size, integers,
                         &integer_count, &info, one_character, one_character);
        });
    return checked(is_complex(dtype_of<T>) ? "heevd" : "syevd", info);
  });
}

template <class T>
int CblasLibrary::gesdd(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, RealPart<T>* values, T* u,
                        std::int64_t ldu, T* vh, std::int64_t ldvh, LapackMemory<T>& memory) const {
  const char job = u != nullptr ? 'S' : 'N';
  const std::int64_t least = std::min(m, n), most = std::max(m, n);
  // The sizes that are not asked for, the largest of those of LAPACK's versions.
  const std::int64_t integers_needed = 8 * least,
                     reals_needed = u == nullptr ? 7 * least : (5 * least + 2 * most + 7) * least;
  void* const routine = gesdd_[std::size_t(dtype_of<T>)];
  const Call call(*this);
  return with_integer(wide_, [&]<class Int>(Int) {
    const Int rows = Int(m), cols = Int(n), ld = Int(lda), ld_u = Int(ldu), ld_vh = Int(ldvh);
    Int info = 0;
    with_memory<Int>(memory, is_complex(dtype_of<T>) ? reals_needed : 0, integers_needed,
                     [&](T* work, Int size, RealPart<T>* reals, Int, Int* integers, Int) {
                       if constexpr (is_complex(dtype_of<T>))
                         call_fortran(routine, &job, &rows, &cols, a, &ld, values, u, &ld_u, vh, &ld_vh, work,
                                      &size, reals, integers, &info, one_character);
                       else
                         call_fortran(routine, &job, &rows, &cols, a, &ld, values, u, &ld_u, vh, &ld_vh, work,
                                      &size, integers, &info, one_character);
                     });
    return checked("gesdd", info);
  });
}

template <class T>
void CblasLibrary::geqrf(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, T* tau) const {
  void* const routine = geqrf_[std::size_t(dtype_of<T>)];
  LapackMemory<T> memory;
  const Call call(*this);
  with_integer(wide_, [&]<class Int>(Int) {
    const Int rows = Int(m), cols = Int(n), ld = Int(lda);
    Int info = 0;
    with_memory<Int>(memory, 0, 0, [&](T* work, Int size, RealPart<T>*, Int, Int*, Int) {
      call_fortran(routine, &rows, &cols, a, &ld, tau, work, &size, &info);
    });
    checked("geqrf", info);
  });
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                           \
  template void CblasLibrary::gemm(Op, Op, std::int64_t, std::int64_t, std::int64_t, T, const T*,           \
                                   std::int64_t, const T*, std::int64_t, T, T*, std::int64_t) const;        \
  template void CblasLibrary::trsm(const Triangle&, std::int64_t, std::int64_t, const T*, std::int64_t, T*, \
                                   std::int64_t) const;                                                     \
  template int CblasLibrary::getrf(std::int64_t, std::int64_t, T*, std::int64_t, int*) const;               \
  template int CblasLibrary::syevd(bool, Uplo, std::int64_t, T*, std::int64_t, RealPart<T>*,                \
                                   LapackMemory<T>&) const;                                                 \
  template int CblasLibrary::gesdd(std::int64_t, std::int64_t, T*, std::int64_t, RealPart<T>*, T*,          \
                                   std::int64_t, T*, std::int64_t, LapackMemory<T>&) const;                 \
  template void CblasLibrary::geqrf(std::int64_t, std::int64_t, T*, std::int64_t, T*) const;
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
