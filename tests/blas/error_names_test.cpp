// For bad arguments, xerbla of the program gets the routine and the number that reference BLAS gives the
// argument, and nothing is written.
#include <array>
#include <utility>

#include "blas/blas_cases.hpp"

namespace tilewright::blas_tests {
namespace {

struct Told {
  std::string routine;
  int position = 0;
} last;

void take(const char* name, std::size_t length, int position) {
  std::string text = std::string(name, length).c_str();
  while (!text.empty() && (text.back() == ' ' || text.back() == '_')) text.pop_back();
  last = {text, position};
}

}  // namespace

// Serves both widths: the lower half is the number.
extern "C" void xerbla_(const char* name, const int* info, std::size_t length) { take(name, length, *info); }
extern "C" void xerbla_64_(const char* name, const std::int64_t* info, std::size_t length) {
  take(name, length, int(*info));
}
extern "C" void cblas_xerbla(int position, const char* name, const char*, ...) {
  take(name, std::string(name).size(), position);
}
extern "C" void cblas_xerbla64_(std::int64_t position, const char* name, const char*, ...) {
  take(name, std::string(name).size(), int(position));
}

namespace {

// The arguments of xGEMM that are not numbers are right unless a case says otherwise.
struct GemmFault {
  int position;
  const char *op_a, *op_b;
  int m, n, k, lda, ldb, ldc;
};
constexpr GemmFault gemm_faults[] = {
    {1, "X", "N", 2, 2, 2, 2, 2, 2},  {2, "N", "/", 2, 2, 2, 2, 2, 2},   {3, "N", "N", -1, 2, 2, 2, 2, 2},
    {4, "N", "T", 2, -1, 2, 2, 2, 2}, {5, "N", "N", 2, 2, -1, 2, 2, 2},  {8, "N", "N", 3, 2, 2, 2, 2, 3},
    {8, "T", "N", 2, 2, 3, 2, 3, 2},  {10, "N", "N", 2, 2, 3, 2, 2, 2},  {10, "N", "C", 2, 3, 2, 2, 2, 2},
    {13, "N", "N", 3, 2, 2, 3, 2, 2}, {1, "?", "?", -1, -1, -1, 0, 0, 0}};

template <class T, class Int>
void check_fortran_gemm(const char* name) {
  auto* gemm = routine<void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*,
                            const Int*, const T*, const Int*, const T*, T*, const Int*)>(name);
  ASSERT_NE(gemm, nullptr);
  for (const GemmFault& x : gemm_faults) {
    const Int m = x.m, n = x.n, k = x.k, lda = x.lda, ldb = x.ldb, ldc = x.ldc;
    const T one(1);
    std::vector<T> a(16, one), c(16, T(3));
    last = {};
    gemm(x.op_a, x.op_b, &m, &n, &k, &one, a.data(), &lda, a.data(), &ldb, &one, c.data(), &ldc);
    EXPECT_EQ(last.position, x.position) << name;
    EXPECT_EQ(last.routine.substr(1), "GEMM") << name;
    EXPECT_EQ(c, std::vector<T>(16, T(3)));
  }
}
TEST(BlasErrors, FortranGemm) { FOR_EACH_NAME(fortran, sdcz, gemm, check_fortran_gemm) }

template <class T, class Int>
void check_fortran_getrf(const char* name) {
  auto* getrf = routine<void(const Int*, const Int*, T*, const Int*, Int*, Int*)>(name);
  ASSERT_NE(getrf, nullptr);
  for (const auto& [position, m, n, lda] :
       {std::tuple(1, -1, 2, 2), {2, 2, -1, 2}, {4, 3, 2, 2}, {4, 0, 0, 0}}) {
    const Int rows = m, cols = n, ld = lda;
    std::vector<T> a(9, T(2));
    std::vector<Int> pivots(3);
    Int info = 0;
    last = {};
    getrf(&rows, &cols, a.data(), &ld, pivots.data(), &info);
    EXPECT_EQ(info, -position) << name;
    EXPECT_EQ(last.position, position) << name;
  }
}
TEST(BlasErrors, FortranGetrf) { FOR_EACH_NAME(fortran, sdcz, getrf, check_fortran_getrf) }

template <class T, class Int>
void check_strided_lu(const char* name) {
  auto* getrf =
      routine<void(const Int*, const Int*, T*, const Int*, const Int*, Int*, const Int*, const Int*, Int*)>(
          name);
  ASSERT_NE(getrf, nullptr);
  // m, n, lda, stride_a, stride_pivots, count
  const std::pair<int, std::array<int, 6>> faults[] = {{1, {-1, 2, 2, 4, 2, 2}}, {2, {2, -1, 2, 4, 2, 2}},
                                                       {4, {3, 2, 2, 6, 2, 2}},  {5, {2, 2, 2, 3, 2, 2}},
                                                       {7, {2, 2, 2, 4, 1, 2}},  {8, {2, 2, 2, 4, 2, -1}}};
  for (const auto& [position, x] : faults) {
    const Int m = x[0], n = x[1], lda = x[2], stride_a = x[3], stride_pivots = x[4], count = x[5];
    std::vector<T> a(12, T(2));
    std::vector<Int> pivots(4), info(2);
    last = {};
    getrf(&m, &n, a.data(), &lda, &stride_a, pivots.data(), &stride_pivots, &count, info.data());
    EXPECT_EQ(last.position, position) << name;
    EXPECT_EQ(last.routine.substr(1), "GETRF_BATCH_STRIDED") << name;
    EXPECT_EQ(info, std::vector<Int>(2, count < 0 ? 0 : -position)) << name;
    EXPECT_EQ(a, std::vector<T>(12, T(2)));
  }
}
TEST(BlasErrors, StridedLu) { FOR_EACH_NAME(mkl, sdcz, getrf_batch_strided, check_strided_lu) }

// For names that the other BLAS lacks, the library itself reports. By rows, the numbers are those of the
// caller's arguments all the same.
template <class T, class Int>
void check_cblas_strided(const char* name) {
  auto* gemm = routine<void(int, int, int, Int, Int, Int, CblasValue<T>, const T*, Int, Int, const T*, Int,
                            Int, CblasValue<T>, T*, Int, Int, Int)>(name);
  ASSERT_NE(gemm, nullptr);
  const T one(1);
  const auto position = [&](int layout, int op_a, int op_b, int m, int n, int k, int lda, int ldb, int ldc,
                            int count, int step_c = 9, bool has_a = true) {
    std::vector<T> a(64, one), c(64, T(3));
    last = {};
    gemm(layout, op_a, op_b, m, n, k, CblasScalar<T>::pass(one), has_a ? a.data() : nullptr, lda, 9, a.data(),
         ldb, 9, CblasScalar<T>::pass(one), c.data(), ldc, step_c, count);
    EXPECT_EQ(c, std::vector<T>(64, T(3))) << name;
    EXPECT_EQ(last.routine, std::string(name).substr(0, last.routine.size()));
    return last.position;
  };
  EXPECT_EQ(position(100, 111, 111, 2, 2, 2, 2, 2, 2, 2), 1) << name;
  for (const int layout : {101, 102}) {
    EXPECT_EQ(position(layout, 110, 111, 2, 2, 2, 2, 2, 2, 2), 2) << name;
    EXPECT_EQ(position(layout, 111, 114, 2, 2, 2, 2, 2, 2, 2), 3) << name;
    EXPECT_EQ(position(layout, 111, 111, -2, 2, 2, 2, 2, 2, 2), 4) << name;
    EXPECT_EQ(position(layout, 111, 111, 2, -2, 2, 2, 2, 2, 2), 5) << name;
    EXPECT_EQ(position(layout, 111, 111, 2, 2, -2, 2, 2, 2, 2), 6) << name;
    EXPECT_EQ(position(layout, 111, 111, 2, 2, 2, 1, 2, 2, 2), 9) << name;
    EXPECT_EQ(position(layout, 111, 111, 2, 2, 2, 2, 1, 2, 2), 12) << name;
    EXPECT_EQ(position(layout, 111, 111, 2, 2, 2, 2, 2, 1, 2), 16) << name;
    EXPECT_EQ(position(layout, 111, 111, 2, 2, 2, 2, 2, 2, -1), 18) << name;
    EXPECT_EQ(position(layout, 111, 111, 2, 2, 2, 2, 2, 2, 2, 0), 17) << name;
    EXPECT_EQ(position(layout, 111, 111, 2, 2, 2, 2, 2, 2, 2, 9, false), 8) << name;
  }
}
TEST(BlasErrors, CblasStrided) {
  // A library that has the name gets the call, and calls its own error handler.
  for (const char* library : {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so", "libopenblas.so.0"})
    if (void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        handle != nullptr && dlsym(handle, "cblas_dgemm_batch_strided") != nullptr)
      GTEST_SKIP() << library << " has the name";
  FOR_EACH_NAME(cblas, sdcz, gemm_batch_strided, check_cblas_strided)
}

// The first of two bad arguments of the caller is reported, by rows too.
template <class T, class Int>
void check_cblas_gemmt(const char* name) {
  auto* gemmt = routine<void(int, int, int, int, Int, Int, CblasValue<T>, const T*, Int, const T*, Int,
                             CblasValue<T>, T*, Int)>(name);
  ASSERT_NE(gemmt, nullptr);
  const T one(1);
  for (const int layout : {101, 102})
    for (const auto& [position, op_a, op_b, lda, ldb] :
         {std::tuple(3, 5, 6, 4, 4), {4, 111, 6, 3, 4}, {9, 111, 111, 3, 3}, {11, 111, 111, 4, 3}}) {
      std::vector<T> a(16, one), c(16, T(3));
      last = {};
      gemmt(layout, 121, op_a, op_b, 4, 4, CblasScalar<T>::pass(one), a.data(), Int(lda), a.data(), Int(ldb),
            CblasScalar<T>::pass(one), c.data(), 4);
      EXPECT_EQ(last.position, position) << name << ", layout " << layout;
      EXPECT_EQ(c, std::vector<T>(16, T(3)));
    }
}
TEST(BlasErrors, CblasGemmt) {
  for (const char* library : {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so", "libopenblas.so.0"})
    if (void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        handle != nullptr && dlsym(handle, "cblas_dgemmt") != nullptr)
      GTEST_SKIP() << library << " has the name";
  FOR_EACH_NAME(cblas, sdcz, gemmt, check_cblas_gemmt)
}

}  // namespace
}  // namespace tilewright::blas_tests
