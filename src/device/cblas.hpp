// A CBLAS library opened at run time, with its LAPACK routines, for matrices above the small sizes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dispatch.hpp"
#include "core/host/fork_gate.hpp"
#include "core/problem.hpp"
#include "device/loaded_function.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

// Working memory of LAPACK's decompositions, kept between calls.
template <class T>
struct LapackMemory {
  std::vector<T> elements;
  std::vector<RealPart<T>> reals;
  std::vector<std::int64_t> integers;  // room for those of either width
};

class CblasLibrary {
 public:
  // Opens `path` ("none": no library; "": the first of the known libraries). Never throws: see error().
  explicit CblasLibrary(const std::string& path);
  ~CblasLibrary();
  CblasLibrary& operator=(CblasLibrary&&) = delete;

  bool available() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }
  const std::string& error() const { return error_; }  // why none is available
  // Returns the version that the library reports; "" if it has no known function for it.
  std::string version() const;

  // True if callers can have single-threaded calls side by side.
  bool limits_threads() const { return control_ != Control::none; }
  // True if a thread count is the calling thread's alone: in MKL, in OpenBLAS from 0.3.27 or with OpenMP.
  bool has_local_threads() const { return control_ == Control::local || control_ == Control::openmp; }

  // Returns the largest value of the library's integers: 32 bits, or 64 in an ILP64 library.
  std::int64_t largest_integer() const;

  // Sizes must not be above largest_integer(), here and below.
  template <class T>
  void gemm(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
            std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) const;

  // Not every library has xTRSM; it counts only if all four types are there.
  bool has_trsm() const { return trsm_[0] != nullptr; }
  bool has_getrf() const { return work_getrf_[0] != nullptr || fortran_getrf_[0] != nullptr; }
  bool has_syevd() const { return syevd_[0] != nullptr; }
  bool has_gesdd() const { return gesdd_[0] != nullptr; }
  bool has_geqrf() const { return geqrf_[0] != nullptr; }
  // Computes B = inv(op(A)) B or B inv(op(A)); B is m x n.
  template <class T>
  void trsm(const Triangle& triangle, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
            std::int64_t ldb) const;
  // Calls LAPACK xGETRF and returns its info. Throws Error(internal) if info is negative.
  template <class T>
  int getrf(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, int* pivots) const;
  // Calls LAPACK xSYEVD or xHEEVD and returns its info, likewise. The vectors, if wanted, overwrite A.
  template <class T>
  int syevd(bool vectors, Uplo uplo, std::int64_t n, T* a, std::int64_t lda, RealPart<T>* values,
            LapackMemory<T>& memory) const;
  // Calls LAPACK xGESDD and returns its info, likewise. A is overwritten; u of m x min(m, n) and vh of
  // min(m, n) x n are both null if no vectors are wanted.
  template <class T>
  int gesdd(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, RealPart<T>* values, T* u,
            std::int64_t ldu, T* vh, std::int64_t ldvh, LapackMemory<T>& memory) const;
  // Calls LAPACK xGEQRF.
  template <class T>
  void geqrf(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, T* tau) const;

 private:
  // The rule by which callers limit threads. `whole`: an OpenBLAS with threads of its own and one count for
  // all callers.
  enum class Control : std::uint8_t { none, local, openmp, whole };

  friend class LocalThreads;
  bool open(const std::string& path);
  void find_width();
  void find_control();
  void find_callers();
  void take_working_memory() const;
  class Call;  // lives during a call
  // Finds the routines of all types, or none. Those of complex types may have another name.
  void find_all(std::array<void*, 4>& routines, const char* before, const char* after,
                const char* after_complex = nullptr) const;
  // Returns LAPACK's info; throws Error(internal) if it is negative.
  int checked(const char* routine, std::int64_t info) const;
  LoadedFunction find(const std::string& symbol) const;
  // Returns the previous count, for reset_threads.
  int set_threads(int threads) const;
  void reset_threads(int before) const;

  void* handle_ = nullptr;
  std::string name_;
  std::string error_;
  // Indexed by DType. The signatures differ in the scalars and in the width of integers, so the callers cast.
  std::array<void*, 4> gemm_{};
  std::array<void*, 4> trsm_{};
  std::array<void*, 4> work_getrf_{};
  std::array<void*, 4> fortran_getrf_{};
  std::array<void*, 4> syevd_{}, gesdd_{}, geqrf_{};  // Fortran's
  bool wide_ = false;                                 // integers of 64 bits
  // An OpenBLAS built for one thread without locks, such as Debian's serial one, shares its buffers among
  // callers: its calls wait for one another, in the whole process.
  bool one_caller_ = false;
  bool has_threads_ = false;     // it has threads of its own, which its fork handler ends
  std::string prefix_, suffix_;  // of its symbols: NumPy's wheels and many ILP64 libraries add them
  Control control_ = Control::none;
  int (*set_local_threads_)(int) = nullptr;
  void (*set_all_threads_)(int) = nullptr;
  int (*all_threads_)() = nullptr;
};

// Sets a thread count for the calling thread's CBLAS calls while it lives; 0, or a library without limits:
// does nothing. If all callers share a count, the last scope to end restores the first one's.
class LocalThreads {
 public:
  LocalThreads(const CblasLibrary& library, int threads)
      : library_(library), set_(threads > 0 && library.control_ != CblasLibrary::Control::none) {
    if (set_) before_ = library_.set_threads(threads);
  }
  ~LocalThreads() {
    if (set_) library_.reset_threads(before_);
  }
  LocalThreads& operator=(LocalThreads&&) = delete;

 private:
  const CblasLibrary& library_;
  bool set_;
  int before_ = 0;
};

}  // namespace tilewright
