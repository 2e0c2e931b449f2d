// A CBLAS library opened at run time: its gemm of each type, and its batch routines, if it has any. OpenBLAS
// and MKL share these signatures, so one peer serves both.
#pragma once

#include <complex>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "peer.hpp"

namespace tilewright::peers {

// An open shared library; never closed, since libraries with their own threads and caches do not survive it.
class Library {
 public:
  // Opens the first of `candidates` that can be opened; otherwise returns a null handle and the last error.
  static Library open(const std::vector<std::string>& candidates);

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& path() const { return path_; }
  const std::string& error() const { return error_; }

  template <class F>
  F symbol(const std::string& name) const {
    return reinterpret_cast<F>(find(name));
  }

 private:
  void* find(const std::string& name) const;

  void* handle_ = nullptr;
  std::string path_;
  std::string error_;
};

enum CblasConstant : int {
  cblas_column_major = 102,
  cblas_none = 111,
  cblas_trans = 112,
  cblas_conj_trans = 113
};

inline int cblas_op(Op op) {
  return op == Op::none ? cblas_none : op == Op::trans ? cblas_trans : cblas_conj_trans;
}

// Returns 's', 'd', 'c' or 'z'.
inline char blas_letter(DType dtype) {
  constexpr char letters[] = {'s', 'd', 'c', 'z'};
  return letters[static_cast<int>(dtype)];
}

// Real scalars are passed by value, complex ones by address.
template <class T>
inline constexpr bool is_complex_type = !std::is_floating_point_v<T>;
template <class T>
using CblasScalar = std::conditional_t<is_complex_type<T>, const void*, T>;
template <class T>
CblasScalar<T> cblas_scalar(const T& value) {
  if constexpr (is_complex_type<T>)
    return &value;
  else
    return value;
}
template <class T>
T scalar_as(std::complex<double> value) {
  if constexpr (is_complex_type<T>)
    return T(static_cast<typename T::value_type>(value.real()),
             static_cast<typename T::value_type>(value.imag()));
  else
    return static_cast<T>(value.real());
}

template <class T>
using CblasGemm = void (*)(int order, int op_a, int op_b, int m, int n, int k, CblasScalar<T> alpha,
                           const T* a, int lda, const T* b, int ldb, CblasScalar<T> beta, T* c, int ldc);
template <class T>
using CblasGemmBatch = void (*)(int order, const int* op_a, const int* op_b, const int* m, const int* n,
                                const int* k, const T* alpha, const T** a, const int* lda, const T** b,
                                const int* ldb, const T* beta, T** c, const int* ldc, int group_count,
                                const int* group_size);
template <class T>
using CblasGemmBatchStrided = void (*)(int order, int op_a, int op_b, int m, int n, int k,
                                       CblasScalar<T> alpha, const T* a, int lda, int stride_a, const T* b,
                                       int ldb, int stride_b, CblasScalar<T> beta, T* c, int ldc,
                                       int stride_c, int batch_size);

// A sequential CBLAS: the routine in a loop, and the batch routines if the library exports them.
class CblasPeer : public Peer {
 public:
  CblasPeer(std::string name, std::string version, Library library)
      : name_(std::move(name)), version_(std::move(version)), library_(std::move(library)) {}
  std::string name() const override { return name_; }
  std::string version() const override { return version_; }
  PeerOffer prepare(const PeerCase& request) const override;

 private:
  template <class T>
  PeerOffer prepare_typed(const PeerCase& request) const;
  PeerOffer prepare_on_threads(const PeerCase& request) const;

  std::string name_;
  std::string version_;
  Library library_;
};

}  // namespace tilewright::peers
