// Distributed products with a fake cuBLASMp and NCCL: where the library is searched for, which versions are
// accepted, the calls that it gets, its results on a grid of one process, and which arguments are refused.
// Skipped on a real GPU.
#include <dlfcn.h>

#include <complex>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>

#include "support/gpu_fixture.hpp"
#include "tilewright/multinode.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

const std::string fakes = TILEWRIGHT_TEST_DISTRIBUTED;
// Lays the libraries out like NVIDIA's wheels: NCCL in one folder, cuBLASMp in another beside it.
const TempFolder& wheels() {
  static const TempFolder folder;
  return folder;
}
std::string cublasmp_wheel() { return wheels() / "nvidia/cublasmp/cu13/lib/libcublasmp.so.0"; }

bool is_loaded(const char* name) { return dlopen(name, RTLD_LAZY | RTLD_NOLOAD) != nullptr; }
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void* load_nccl() {
  const std::string path = wheels() / "nvidia/nccl/lib/libnccl.so.2";
  fs::create_directories(fs::path(path).parent_path());
  fs::copy_file(fakes + "/libnccl.so.2", path, fs::copy_options::skip_existing);
  return dlopen(path.c_str(), RTLD_NOW);
}

struct UniqueId {
  char bytes[128];
};
// A communicator of the fake NCCL, which does not wait for other ranks.
class Communicator {
 public:
  Communicator(int ranks, int rank) : library_(load_nccl()) {
    const auto init =
        reinterpret_cast<int (*)(void**, int, UniqueId, int)>(dlsym(library_, "ncclCommInitRank"));
    init(&handle_, ranks, UniqueId{}, rank);
  }
  ~Communicator() { reinterpret_cast<int (*)(void*)>(dlsym(library_, "ncclCommDestroy"))(handle_); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  void* get() const { return handle_; }

 private:
  void* library_;
  void* handle_ = nullptr;
};

// The code and text of a thrown error.
struct Thrown {
  ErrorCode code = ErrorCode::ok;
  std::string argument, text;
};
Thrown thrown_by(const std::function<void()>& call) {
  try {
    call();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.argument(), error.what()};
  }
}

class OnFakeGpu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !is_fake()) GTEST_SKIP() << "the driver is no fake one";
  }
};

// Runs before the other tests, which load the libraries that this one must not find.
using DistributedSearch = OnFakeGpu;
TEST_F(DistributedSearch, LooksBesideTheNcclThatIsLoadedAndSaysWhatItTried) {
  if (is_loaded("libnccl.so.2")) GTEST_SKIP() << "another test was first";
  EXPECT_TRUE(contains(distributed_gemm_status(), "libnccl.so.2 is not loaded")) << distributed_gemm_status();
  load_nccl();
  const Variable conda("CONDA_PREFIX", "/no/conda"), toolkit("CUDA_HOME", "/no/cuda");
  const std::string missing = distributed_gemm_status();
  for (const std::string& tried :
       {cublasmp_wheel() + " (no such file)", std::string("cublasmp/cu12"),
        std::string("/no/conda/lib/libcublasmp.so.0"), std::string(", libcublasmp.so.0 ("),
        std::string("/no/cuda/lib64/libcublasmp.so.0"), std::string("TILEWRIGHT_CUBLASMP")})
    EXPECT_TRUE(contains(missing, tried)) << tried << "\n" << missing;
  const Communicator communicator(1, 0);
  const Thrown thrown = thrown_by([&] { DistributedGemm(communicator.get(), {}); });
  EXPECT_EQ(thrown.code, ErrorCode::unsupported);
  EXPECT_EQ(thrown.text, missing);

  fs::create_directories(fs::path(cublasmp_wheel()).parent_path());
  fs::copy_file(fakes + "/libcublasmp.so.0", cublasmp_wheel());
  fs::permissions(cublasmp_wheel(), fs::perms(0777));
  EXPECT_TRUE(contains(distributed_gemm_status(), "can be written by everybody"))
      << distributed_gemm_status();
  fs::permissions(cublasmp_wheel(), fs::perms(0755));
  EXPECT_EQ(distributed_gemm_status(), "");
  EXPECT_EQ(DistributedGemm(communicator.get(), {}).library(), "cuBLASMp 0.10.0 (" + cublasmp_wheel() + ")");
}

class Distributed : public OnFakeGpu {
 protected:
  void SetUp() override {
    OnFakeGpu::SetUp();
    if (IsSkipped()) return;
    load_nccl();
    library_ = dlopen((fakes + "/libcublasmp.so.0").c_str(), RTLD_NOW);
    ASSERT_NE(library_, nullptr) << dlerror();
    named_ = std::make_unique<Variable>("TILEWRIGHT_CUBLASMP", (fakes + "/libcublasmp.so.0").c_str());
    forget();
  }
  void TearDown() override {
    if (library_ == nullptr) return;
    const auto alive = reinterpret_cast<int (*)()>(dlsym(library_, "fake_cublasmp_alive"));
    EXPECT_EQ(alive(), 0) << "handles, grids and descriptors are left";
  }
  void forget() { reinterpret_cast<void (*)()>(dlsym(library_, "fake_cublasmp_forget"))(); }
  std::string calls() const {
    return reinterpret_cast<const char* (*)()>(dlsym(library_, "fake_cublasmp_calls"))();
  }
  std::size_t count(const std::string& call) const {
    const std::string all = calls();
    std::size_t number = 0;
    for (std::size_t at = all.find(call); at != std::string::npos; at = all.find(call, at + 1)) ++number;
    return number;
  }

  template <class T>
  DistributedMatrix<T> matrix(GpuBuffer& buffer, std::int64_t rows, std::int64_t cols,
                              std::int64_t block = 2) const {
    return {buffer.as<T>(), rows, cols, block, block, rows + 1, 0, 0};
  }

  std::unique_ptr<Variable> named_;
  void* library_ = nullptr;
};

template <class T>
T number(std::int64_t seed) {
  const auto part = [&](std::int64_t s) { return float(s * 7919 % 13 - 6); };
  if constexpr (is_complex(dtype_of<T>))
    return T(part(seed), part(seed + 5));
  else
    return T(part(seed));
}
template <class T>
T operand_at(const std::vector<T>& x, Op op, std::int64_t ld, std::int64_t i, std::int64_t j) {
  if (op == Op::none) return x[std::size_t(j * ld + i)];
  const T value = x[std::size_t(i * ld + j)];
  if constexpr (is_complex(dtype_of<T>)) return op == Op::conj_trans ? std::conj(value) : value;
  return value;
}

// Checks C = 2 op(A) op(B) - 3 C for whole numbers, including padding; returns "" if every element is right.
template <class T>
std::string multiply_and_check(DistributedGemm& member, const Gpu& gpu, Op op_a, Op op_b) {
  const std::int64_t m = 5, n = 4, k = 3;
  const std::int64_t a_rows = op_a == Op::none ? m : k, a_cols = m + k - a_rows;
  const std::int64_t b_rows = op_b == Op::none ? k : n, b_cols = n + k - b_rows;
  const auto draw = [](std::int64_t rows, std::int64_t cols, std::int64_t seed) {
    std::vector<T> x;
    for (std::int64_t i = 0; i < (rows + 1) * cols; ++i) x.push_back(number<T>(seed + i));
    return x;
  };
  const std::vector<T> a = draw(a_rows, a_cols, 1), b = draw(b_rows, b_cols, 2), before = draw(m, n, 3);
  GpuBuffer on_a(gpu, a.size() * sizeof(T)), on_b(gpu, b.size() * sizeof(T)),
      on_c(gpu, before.size() * sizeof(T));
  on_a.write(a.data(), on_a.bytes()), on_b.write(b.data(), on_b.bytes()),
      on_c.write(before.data(), on_c.bytes());
  const GpuStream stream(gpu);
  member.gemm<T>(op_a, op_b, T(2), {on_a.as<T>(), a_rows, a_cols, 2, 2, a_rows + 1},
                 {on_b.as<T>(), b_rows, b_cols, 2, 2, b_rows + 1}, T(-3),
                 DistributedMatrix<T>{on_c.as<T>(), m, n, 2, 2, m + 1}, stream.get());
  stream.synchronize();
  std::vector<T> c(before.size());
  on_c.read(c.data(), on_c.bytes());
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i <= m; ++i) {
      T expected = before[std::size_t(j * (m + 1) + i)];
      if (i < m) {
        T sum(0);
        for (std::int64_t l = 0; l < k; ++l)
          sum += operand_at(a, op_a, a_rows + 1, i, l) * operand_at(b, op_b, b_rows + 1, l, j);
        expected = T(2) * sum - T(3) * expected;
      }
      if (c[std::size_t(j * (m + 1) + i)] != expected)
        return "C(" + std::to_string(i) + ", " + std::to_string(j) + ") is wrong";
    }
  return "";
}

TEST_F(Distributed, EveryTypeAndOperationReachesTheLibraryAsItIs) {
  const Communicator communicator(1, 0);
  DistributedGemm member(communicator.get(), {});
  for (const Op op_a : {Op::none, Op::trans, Op::conj_trans})
    for (const Op op_b : {Op::none, Op::trans, Op::conj_trans}) {
      const std::string which = std::to_string(int(op_a)) + std::to_string(int(op_b));
      EXPECT_EQ(multiply_and_check<float>(member, *gpu_, op_a, op_b), "") << which;
      EXPECT_EQ(multiply_and_check<double>(member, *gpu_, op_a, op_b), "") << which;
      EXPECT_EQ(multiply_and_check<std::complex<float>>(member, *gpu_, op_a, op_b), "") << which;
      forget();
      EXPECT_EQ(multiply_and_check<std::complex<double>>(member, *gpu_, op_a, op_b), "") << which;
      EXPECT_TRUE(contains(calls(), "cublasMpGemm " + which + " 5x4x3 70\n")) << calls();
    }
}

TEST_F(Distributed, RanksStandInTheGridByColumnsOrByRows) {
  for (int rank = 0; rank < 6; ++rank) {
    const Communicator communicator(6, rank);
    const DistributedGemm by_columns(communicator.get(), {2, 3});
    EXPECT_EQ(by_columns.row(), rank % 2);
    EXPECT_EQ(by_columns.col(), rank / 2);
    EXPECT_EQ(by_columns.device(), rank % 3);
    const DistributedGemm by_rows(communicator.get(), {2, 3, RankOrder::row_major});
    EXPECT_EQ(by_rows.row(), rank / 3);
    EXPECT_EQ(by_rows.col(), rank % 3);
  }
  EXPECT_EQ(count("cublasMpGridCreate 2x3 cols\n"), 6u);
  EXPECT_EQ(count("cublasMpGridCreate 2x3 rows\n"), 6u);
}

TEST_F(Distributed, DescriptorsAreMadeOncePerShapeAndNotWithoutEnd) {
  const Communicator communicator(4, 3);
  const Gpu gpu(0);  // the GPU of rank 3
  GpuBuffer memory(gpu, 3 << 20);
  DistributedGemm member(communicator.get(), {2, 2});
  const auto multiply = [&](std::int64_t n) {
    const auto part = [&](int which) {
      return DistributedMatrix<double>{memory.as<double>(std::size_t(which) << 20), n, n, 4, 4, n, 1, 0};
    };
    member.gemm<double>(Op::none, Op::trans, 1, part(0), part(1), 1, part(2), nullptr);
  };
  multiply(10), multiply(10);
  EXPECT_EQ(count("cublasMpMatrixDescriptorCreate 10x10/4x4@1x0:10\n"), 1u) << calls();
  EXPECT_EQ(count("cublasMpGemm 01 10x10x10 70\n"), 2u);
  for (std::int64_t n = 11; n < 150; ++n) multiply(n);
  EXPECT_EQ(count("cublasMpMatrixDescriptorCreate"), 140u);
  EXPECT_GT(count("cublasMpMatrixDescriptorDestroy"), 60u);
}

// The library fills its workspaces, on the stream of each call.
TEST_F(Distributed, WorkspacesGrowAndServeSeveralStreams) {
  const Communicator communicator(1, 0);
  DistributedGemm member(communicator.get(), {});
  const GpuStream first(*gpu_), second(*gpu_);
  std::map<std::int64_t, std::unique_ptr<GpuBuffer>> results;
  for (const std::int64_t n : {3, 40, 41, 7, 90}) {
    std::vector<double> ones(std::size_t((n + 1) * n), 1.0);
    GpuBuffer operand(*gpu_, ones.size() * sizeof(double));
    operand.write(ones.data(), operand.bytes());
    results[n] = std::make_unique<GpuBuffer>(*gpu_, operand.bytes());
    const auto x = matrix<double>(operand, n, n);
    member.gemm<double>(Op::none, Op::none, 1, x, x, 0, matrix<double>(*results[n], n, n),
                        (n % 2 == 0 ? first : second).get());
    first.synchronize(), second.synchronize();
    double last = 0;
    results[n]->read(&last, sizeof last, std::size_t((n - 1) * (n + 1) + n - 1) * sizeof last);
    EXPECT_EQ(last, double(n));
  }
}

TEST_F(Distributed, WhatNeedsNoProductDoesNotReachTheLibrary) {
  const Communicator communicator(1, 0);
  DistributedGemm member(communicator.get(), {});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> before{nan, nan, 77, nan, nan, 77};
  GpuBuffer a(*gpu_, 64), b(*gpu_, 64), c(*gpu_, before.size() * sizeof(double));
  const auto run = [&](std::int64_t m, std::int64_t k, double alpha, double beta) {
    c.write(before.data(), c.bytes());
    member.gemm<double>(Op::none, Op::none, alpha, matrix<double>(a, m, k), matrix<double>(b, k, m), beta,
                        matrix<double>(c, m, m), nullptr);
    gpu_->synchronize();
    std::vector<double> after(before.size());
    c.read(after.data(), c.bytes());
    return after;
  };
  const std::vector<double> cleared{0, 0, 77, 0, 0, 77};
  EXPECT_EQ(run(2, 2, 0, 0), cleared);
  EXPECT_EQ(run(2, 0, 1, 0), cleared);
  EXPECT_TRUE(std::isnan(run(2, 2, 0, 1)[0]));
  EXPECT_TRUE(std::isnan(run(2, 0, 1, 1)[0]));
  EXPECT_TRUE(std::isnan(run(0, 2, 1, 0)[0]));
  // C is scaled without reading A and B, which hold NaN.
  const std::vector<double> values{1, 2, 77, 3, 4, 77}, scaled{0.5, 1, 77, 1.5, 2, 77};
  const std::vector<double> none(8, nan);
  a.write(none.data(), 64), b.write(none.data(), 64);
  for (const auto& [k, alpha] : {std::pair{0, 1.0}, {2, 0.0}}) {
    c.write(values.data(), c.bytes());
    member.gemm<double>(Op::none, Op::none, alpha, matrix<double>(a, 2, k), matrix<double>(b, k, 2), 0.5,
                        matrix<double>(c, 2, 2), nullptr);
    gpu_->synchronize();
    std::vector<double> after(values.size());
    c.read(after.data(), c.bytes());
    EXPECT_EQ(after, scaled) << "k = " << k;
  }
  EXPECT_FALSE(contains(calls(), "cublasMpGemm")) << calls();
}

TEST_F(Distributed, UnknownVersionsAreRefused) {
  const std::map<const char*, const char*> versions{{"604", "0.6.4"}, {"1100", "0.11.0"}, {"10203", "1.2.3"}};
  for (const auto& [number, text] : versions) {
    const Variable version("TILEWRIGHT_FAKE_CUBLASMP_VERSION", number);
    EXPECT_EQ(distributed_gemm_status(), "'" + fakes + "/libcublasmp.so.0' is cuBLASMp " + text +
                                             "; versions 0.7 to 0.10 are supported");
  }
  for (const char* number : {"700", "801", "901", "1000", "1099"}) {
    const Variable version("TILEWRIGHT_FAKE_CUBLASMP_VERSION", number);
    EXPECT_EQ(distributed_gemm_status(), "") << number;
  }
}

TEST_F(Distributed, OldReleasesAreCalledByTheirNamesAndSparedTheirFaults) {
  const Communicator communicator(1, 0);
  using C = std::complex<float>;
  {
    const Variable version("TILEWRIGHT_FAKE_CUBLASMP_VERSION", "700");
    DistributedGemm member(communicator.get(), {});
    EXPECT_TRUE(contains(member.library(), "cuBLASMp 0.7.0 ("));
    EXPECT_EQ(multiply_and_check<double>(member, *gpu_, Op::conj_trans, Op::none), "");
    EXPECT_EQ(multiply_and_check<C>(member, *gpu_, Op::trans, Op::none), "");
    EXPECT_TRUE(contains(calls(), "cublasMpStreamSet\n") && !contains(calls(), "cublasMpSetStream\n"))
        << calls();
    Thrown thrown = thrown_by([&] { multiply_and_check<C>(member, *gpu_, Op::conj_trans, Op::none); });
    EXPECT_EQ(thrown.code, ErrorCode::unsupported);
    EXPECT_EQ(thrown.argument, "op_a");
    thrown = thrown_by([&] { multiply_and_check<C>(member, *gpu_, Op::none, Op::conj_trans); });
    EXPECT_EQ(thrown.argument, "op_b");
    const Communicator two(2, 0);
    DistributedGemm rows(two.get(), {2, 1});
    GpuBuffer x(*gpu_, 64), c(*gpu_, 64);
    const auto operand = matrix<double>(x, 2, 2);
    thrown = thrown_by([&] {
      rows.gemm<double>(Op::none, Op::trans, 1, operand, operand, 0, matrix<double>(c, 2, 2), nullptr);
    });
    EXPECT_EQ(thrown.code, ErrorCode::unsupported);
    EXPECT_EQ(thrown.argument, "op_b");
    EXPECT_TRUE(contains(thrown.text, "grid of 2 rows")) << thrown.text;
  }
  // C is cleared before such a release reads it, and is left to a later one.
  GpuBuffer x(*gpu_, 64), c(*gpu_, 64);
  for (const char* number : {"901", "1000"}) {
    const Variable version("TILEWRIGHT_FAKE_CUBLASMP_VERSION", number);
    DistributedGemm member(communicator.get(), {});
    const Variable failing("TILEWRIGHT_FAKE_CUBLASMP_FAILING", "cublasMpGemm:7");
    c.fill(1, nullptr);
    const auto operand = matrix<double>(x, 2, 2);
    thrown_by([&] {
      member.gemm<double>(Op::none, Op::none, 1, operand, operand, 0, matrix<double>(c, 2, 2), nullptr);
    });
    gpu_->synchronize();
    double first = 1;
    c.read(&first, sizeof first);
    EXPECT_EQ(first == 0, std::string(number) == "901") << number;
  }
}

TEST_F(Distributed, FailuresBearTheNameOfTheirStatus) {
  const Communicator communicator(1, 0);
  GpuBuffer x(*gpu_, 64), c(*gpu_, 64);
  const auto run = [&] {
    DistributedGemm member(communicator.get(), {});
    const auto operand = matrix<double>(x, 2, 2);
    member.gemm<double>(Op::none, Op::none, 1, operand, operand, 1, matrix<double>(c, 2, 2), nullptr);
  };
  const auto failing = [&](const std::string& what) {
    const Variable variable("TILEWRIGHT_FAKE_CUBLASMP_FAILING", what.c_str());
    return thrown_by(run);
  };
  const std::map<std::string, std::pair<ErrorCode, std::string>> statuses{
      {"1", {ErrorCode::internal, "NOT_INITIALIZED"}},
      {"2", {ErrorCode::out_of_memory, "ALLOCATION_FAILED"}},
      {"3", {ErrorCode::unsupported, "INVALID_VALUE"}},
      {"4", {ErrorCode::unsupported, "ARCHITECTURE_MISMATCH"}},
      {"5", {ErrorCode::device_lost, "EXECUTION_FAILED"}},
      {"6", {ErrorCode::internal, "INTERNAL_ERROR"}},
      {"7", {ErrorCode::unsupported, "NOT_SUPPORTED"}},
      {"42", {ErrorCode::internal, "unknown status"}}};
  for (const auto& [status, expected] : statuses) {
    const Thrown thrown = failing("cublasMpGemm:" + status);
    EXPECT_EQ(thrown.code, expected.first) << status;
    EXPECT_EQ(thrown.text, "cublasMpGemm failed: " + expected.second + " (" + status + ")");
  }
  for (const std::string& call :
       {"cublasMpGetVersion", "cublasMpCreate", "cublasMpGridCreate", "cublasMpMatrixDescriptorCreate",
        "cublasMpSetStream", "cublasMpGemm_bufferSize"}) {
    c.fill(1, nullptr);
    const Thrown thrown = failing(call + ":6");
    EXPECT_EQ(thrown.text, call + " failed: INTERNAL_ERROR (6)");
    unsigned char first = 0;
    c.read(&first, 1);
    EXPECT_EQ(first, 1);
  }
  EXPECT_EQ(thrown_by(run).text, "");
}

TEST_F(Distributed, OfALibraryThatIsNamedNoOtherTakesThePlace) {
  const Variable missing("TILEWRIGHT_CUBLASMP", "/no/such/libcublasmp.so.0");
  EXPECT_TRUE(contains(distributed_gemm_status(), "'/no/such/libcublasmp.so.0' (no such file)"));
  const std::string other = fakes + "/libnccl.so.2";
  const Variable wrong("TILEWRIGHT_CUBLASMP", other.c_str());
  EXPECT_TRUE(contains(distributed_gemm_status(), "has no cublasMpGetVersion")) << distributed_gemm_status();
}

TEST_F(Distributed, WhatIsNoGridForTheCommunicatorIsRefused) {
  const Communicator communicator(6, 4);
  const auto argument = [&](void* handle, const ProcessGrid& grid) {
    const Thrown thrown = thrown_by([&] { DistributedGemm(handle, grid); });
    EXPECT_EQ(thrown.code, ErrorCode::invalid_argument) << thrown.text;
    return thrown.argument;
  };
  EXPECT_EQ(argument(nullptr, {2, 3}), "communicator");
  EXPECT_EQ(argument(communicator.get(), {0, 3}), "grid.rows");
  EXPECT_EQ(argument(communicator.get(), {2, -3}), "grid.cols");
  EXPECT_EQ(argument(communicator.get(), {2, 2}), "grid");
  EXPECT_EQ(argument(communicator.get(), {std::int64_t(1) << 40, std::int64_t(1) << 40}), "grid");
  EXPECT_EQ(argument(communicator.get(), {2, 3, RankOrder(7)}), "grid.order");
  EXPECT_FALSE(contains(calls(), "cublasMpCreate"));
}

struct Call {
  Op op_a = Op::none, op_b = Op::trans;
  DistributedMatrix<const double> a{}, b{};
  DistributedMatrix<double> c{};
};
using Change = std::function<void(Call&)>;

// Tests rank 3 in a grid of 2 x 2, whose GPU is the first. C is 10 x 9, k is 8, in blocks of 4, 3 and 2.
TEST_F(Distributed, EachBadArgumentIsNamedAndNothingIsCalled) {
  const Communicator communicator(4, 3);
  DistributedGemm member(communicator.get(), {2, 2});
  GpuBuffer a(*gpu_, 4096), b(*gpu_, 4096), c(*gpu_, 4096);
  const Gpu other(1);
  GpuBuffer elsewhere(other, 4096);
  std::vector<double> host(512);
  const Call good{Op::none,
                  Op::trans,
                  {a.as<double>(), 10, 8, 4, 2, 10},
                  {b.as<double>(), 9, 8, 3, 2, 9},
                  {c.as<double>(), 10, 9, 4, 3, 10}};
  const auto run = [&](const Change& change) {
    Call call = good;
    change(call);
    return thrown_by(
        [&] { member.gemm<double>(call.op_a, call.op_b, 1, call.a, call.b, 1, call.c, nullptr); });
  };
  EXPECT_EQ(run([](Call&) {}).text, "");
  forget();
  const std::int64_t huge = std::int64_t(1) << 61;
  const std::vector<std::pair<std::string, Change>> bad{
      {"op_a", [](Call& x) { x.op_a = Op(9); }},
      {"op_b", [](Call& x) { x.op_b = Op(3); }},
      {"a.rows", [](Call& x) { x.a.rows = -1; }},
      {"b.cols", [](Call& x) { x.b.cols = -1; }},
      {"c.block_rows", [](Call& x) { x.c.block_rows = 0; }},
      {"a.block_cols", [](Call& x) { x.a.block_cols = -2; }},
      {"a.source_row", [](Call& x) { x.a.source_row = 2; }},
      {"b.source_col", [](Call& x) { x.b.source_col = -1; }},
      {"c.ld", [](Call& x) { x.c.ld = 3; }},
      {"a.ld", [=](Call& x) { x.a.ld = huge; }},
      {"a", [](Call& x) { x.a.data = nullptr; }},
      {"c", [](Call& x) { x.c.data = nullptr; }},
      {"b", [&](Call& x) { x.b.data = host.data(); }},
      {"c", [&](Call& x) { x.c.data = elsewhere.as<double>(); }},
      {"c", [](Call& x) { x.c.data = const_cast<double*>(x.a.data); }},
      {"c", [](Call& x) { x.c.data = const_cast<double*>(x.b.data) + 1; }},
      {"a.rows", [](Call& x) { x.a.rows = 11, x.a.ld = 11; }},
      {"b.rows", [](Call& x) { x.b.rows = 8; }},
      {"b.cols", [](Call& x) { x.b.cols = 7; }},
      {"a.block_rows", [](Call& x) { x.a.block_rows = 5; }},
      {"b.block_rows", [](Call& x) { x.b.block_rows = 2; }},
      {"b.block_cols", [](Call& x) { x.b.block_cols = 4; }},
  };
  for (const auto& [argument, change] : bad) {
    const Thrown thrown = run(change);
    EXPECT_EQ(thrown.code, ErrorCode::invalid_argument) << argument;
    EXPECT_EQ(thrown.argument, argument) << thrown.text;
    EXPECT_TRUE(contains(thrown.text, argument)) << thrown.text;
  }
  EXPECT_EQ(calls(), "");
}

}  // namespace
}  // namespace tilewright::testing
