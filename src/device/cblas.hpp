// A CBLAS library opened at run time, for matrices above the small sizes, and what of LAPACK it brings along.
// It is well-kept routines behind function pointers; nothing here computes.
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
  // Opens `path` when it is given ("none": no library), else the first of the usual libraries. Never throws:
  // see error().
  explicit CblasLibrary(const std::string& path);
  ~CblasLibrary();
  CblasLibrary(const CblasLibrary&) = delete;
  CblasLibrary& operator=(const CblasLibrary&) = delete;

  bool available() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }
  const std::string& error() const { return error_; }  // why none is available
  // What the library says that it is; "" where it has no function that is known for it.
  std::string version() const;

  // Whether callers can have single-threaded calls side by side.
  bool limits_threads() const { return control_ != Control::none; }
  // True when a thread count holds for the calling thread alone: in MKL, OpenBLAS from 0.3.27, and an
  // OpenBLAS that OpenMP runs, which takes the calling thread's.
  bool has_local_threads() const { return control_ == Control::local || control_ == Control::openmp; }

  // Whether its calls must not run side by side: an OpenBLAS that was built for one thread and without locks,
  // as Debian's serial one, shares its buffers among callers and then computes wrong results. Calls below
  // wait for one another then, of all Contexts of the process.
  bool is_for_one_caller() const { return one_caller_; }

  // The largest number that its integers hold: 32 bits, or 64 in an ILP64 library.
  std::int64_t largest_integer() const;

  // Sizes must not be above largest_integer(), here and below.
  template <class T>
  void gemm(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
            std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) const;

  // Not every library has these: all four types, or none.
  bool has_trsm() const { return trsm_[0] != nullptr; }
  bool has_getrf() const { return work_getrf_[0] != nullptr || fortran_getrf_[0] != nullptr; }
  // B = inv(op(A)) B or B inv(op(A)); B is m x n.
  template <class T>
  void trsm(const Triangle& triangle, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
            std::int64_t ldb) const;
  // LAPACK xGETRF; returns its info. Throws Error(internal) where it is negative.
  template <class T>
  int getrf(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, int* pivots) const;

 private:
  // How a caller limits the threads of its calls; `whole`: an OpenBLAS with threads of its own, whose count
  // is that of all callers.
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
  // Returns the count before, for reset_threads.
  int set_threads(int threads) const;
  void reset_threads(int before) const;

  void* handle_ = nullptr;
  std::string name_;
  std::string error_;
  // By DType; their signatures differ in the scalars and in the width of integers, so that callers know them.
  std::array<void*, 4> gemm_{};
  std::array<void*, 4> trsm_{};
  std::array<void*, 4> work_getrf_{};
  std::array<void*, 4> fortran_getrf_{};
  bool wide_ = false;  // integers of 64 bits
  bool one_caller_ = false;
  bool has_threads_ = false;     // of its own, which its handler of fork ends
  std::string prefix_, suffix_;  // of its symbols: NumPy's wheels and many ILP64 libraries have them
  Control control_ = Control::none;
  int (*set_local_threads_)(int) = nullptr;
  void (*set_all_threads_)(int) = nullptr;
  int (*all_threads_)() = nullptr;
};

// A thread count for the calling thread's CBLAS calls while it lives; 0 changes nothing, and neither does any
// where the library does not let it. Of a library that has one count for all callers, the last who leaves
// puts back what the first one found.
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
