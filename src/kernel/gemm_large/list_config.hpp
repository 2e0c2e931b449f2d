// Launch arguments of batches of large GEMM whose problems have values of their own in device memory. For the
// host compiler and NVRTC; holds no device code.
#pragma once

#include "kernel/gemm_large/config.hpp"

namespace tilewright {

// Arrays have an entry per problem, in device memory. The alignment is the same for host and device, whose
// complex numbers differ in theirs.
template <class T>
struct alignas(16) GemmLargeListArgs {
  T alpha, beta;  // of all problems, where the arrays of them are null
  const T* a;     // the first matrices or, with `addresses`, arrays
  const T* b;
  T* c;
  const T* alphas;
  const T* betas;
  const long long *sizes_m, *sizes_n, *sizes_k;  // all null if the following are the sizes of all problems
  const long long *sizes_lda, *sizes_ldb, *sizes_ldc;
  long long m, n, k;  // no problem is larger
  long long lda, ldb, ldc;
  long long stride_a, stride_b, stride_c;
  int* info;            // receives the codes of bad problems, unless null
  long long info_step;  // 0: one code for all
  int problems;
  bool addresses;
};

}  // namespace tilewright
