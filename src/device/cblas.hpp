// A CBLAS library opened at run time, for matrices above the small sizes, together with its LAPACK routines.
// It holds function pointers only and computes nothing itself.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "core/host/fork_gate.hpp"
#include "core/triangle.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

class CblasLibrary {
 public:
  // Opens `path` if it is given ("none": no library), else the first of the usual libraries. Never throws:
  // see error().
  explicit CblasLibrary(const std::string& path);
  ~CblasLibrary();
  CblasLibrary(const CblasLibrary&) = delete;
  CblasLibrary& operator=(const CblasLibrary&) = delete;

  bool available() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }
  const std::string& error() const { return error_; }  // why none is available
  // Returns the version that the library reports; "" if it has no known function for it.
  std::string version() const;

  // True if callers can have single-threaded calls side by side.
  bool limits_threads() const { return control_ != Control::none; }
  // True if a thread count holds for the calling thread alone: in MKL, in OpenBLAS from 0.3.27, and in an
  // OpenBLAS that uses OpenMP, which takes the calling thread's count.
  bool has_local_threads() const { return control_ == Control::local || control_ == Control::openmp; }

  // True if calls must not run concurrently: an OpenBLAS built for one thread and without locks, such as
  // Debian's serial one, shares its buffers among callers and then computes wrong results. The calls below
  // then wait for one another, across all Contexts of the process.
  bool is_for_one_caller() const { return one_caller_; }

  // Returns the largest value of the library's integers: 32 bits, or 64 in an ILP64 library.
  std::int64_t largest_integer() const;

  // Sizes must not be above largest_integer(), here and below.
  template <class T>
  void gemm(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
            std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) const;

  // Not every library has xTRSM; it counts only if all four types are there.
  bool has_trsm() const { return trsm_[0] != nullptr; }
  bool has_getrf() const { return work_getrf_[0] != nullptr || fortran_getrf_[0] != nullptr; }
  // Computes B = inv(op(A)) B or B inv(op(A)); B is m x n.
  template <class T>
  void trsm(const Triangle& triangle, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
            std::int64_t ldb) const;
  // Calls LAPACK xGETRF and returns its info. Throws Error(internal) if info is negative.
  template <class T>
  int getrf(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, int* pivots) const;

 private:
  // The way in which a caller limits the threads of its calls. `whole`: the library is an OpenBLAS with
  // threads of its own, whose count all callers share.
  enum class Control : std::uint8_t { none, local, openmp, whole };

  friend class LocalThreads;
  bool open(const std::string& path);
  bool find_gemm();
  void find_width();
  void find_control();
  void find_callers();
  class Call;  // lives during a call
  void find_factorization();
  void* find(const std::string& symbol) const;
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
  bool wide_ = false;  // integers of 64 bits
  bool one_caller_ = false;
  bool has_threads_ = false;     // it has threads of its own, which its fork handler ends
  std::string prefix_, suffix_;  // of its symbols: NumPy's wheels and many ILP64 libraries add them
  Control control_ = Control::none;
  int (*set_local_threads_)(int) = nullptr;
  void (*set_all_threads_)(int) = nullptr;
  int (*all_threads_)() = nullptr;
};

// Sets a thread count for the calling thread's CBLAS calls while it lives. 0 changes nothing; neither does
// any count if the library cannot limit threads. If the library has one count for all callers, the last scope
// to end restores the count that the first one found.
class LocalThreads {
 public:
  LocalThreads(const CblasLibrary& library, int threads)
      : library_(library), set_(threads > 0 && library.control_ != CblasLibrary::Control::none) {
    if (set_) before_ = library_.set_threads(threads);
  }
  ~LocalThreads() {
    if (set_) library_.reset_threads(before_);
  }
  LocalThreads(const LocalThreads&) = delete;
  LocalThreads& operator=(const LocalThreads&) = delete;

 private:
  const CblasLibrary& library_;
  bool set_;
  int before_ = 0;
};

}  // namespace tilewright
