// Conversions of device batches against the addressing formula, in strided and pointer batches of every type,
// and the conversion rule served for operands on a GPU from measured costs.
#include "core/dispatch.hpp"
#include "device/gpu/copies.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/kept.hpp"
#include "measure/conversion.hpp"
#include "support/failures.hpp"
#include "support/gpu_fixture.hpp"
#include "support/temp_folder.hpp"
#include "tilewright/device_layout.hpp"
#include "tilewright/layout.hpp"

namespace tilewright::testing {
namespace {

constexpr std::int64_t pad = 2;  // rows below every matrix
constexpr int untouched = -1;

GemmProblem batch_of(DType dtype, Layout layout, std::int64_t m, std::int64_t n, std::int64_t k,
                     std::int64_t count) {
  GemmProblem p;
  p.dtype = dtype;
  p.m = m, p.n = n, p.k = k;
  p.op_a = Op::trans;
  p.lda = p.a_rows() + pad, p.ldb = p.b_rows() + pad, p.ldc = m + pad;
  p.layout = layout;
  p.location = Location::device;
  p.beta = Scalar::one;
  p.batch_count = count;
  return packed(p);
}

// One operand as single matrices and interleaved, on the device, with a number of its own in each element.
template <class T>
class Sides {
 public:
  Sides(const Gpu& gpu, std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t count,
        std::int64_t block, int seed)
      : rows_(rows),
        columns_(columns),
        ld_(ld),
        count_(count),
        block_(block),
        single_(std::size_t(ld * columns * count), T(untouched)),
        slots_(std::size_t(interleaved_elements(rows, columns, ld, block, count)), T(untouched)),
        device_single_(gpu, single_.size() * sizeof(T)),
        device_slots_(gpu, slots_.size() * sizeof(T)),
        pointers_(gpu, std::size_t(count) * sizeof(void*)) {
    for_each(
        [&](std::int64_t q, std::int64_t i, std::int64_t j) { single(q, i, j) = number(seed, q, i, j); });
    device_single_.write(single_.data(), single_.size() * sizeof(T));
    device_slots_.write(slots_.data(), slots_.size() * sizeof(T));
    std::vector<T*> addresses;
    for (std::int64_t q = 0; q < count; ++q)
      addresses.push_back(device_single_.template as<T>() + q * ld * columns);
    pointers_.write(addresses.data(), addresses.size() * sizeof(T*));
  }

  void* from(bool pointers) const { return pointers ? pointers_.as<void>() : device_single_.as<void>(); }
  void* to() const { return device_slots_.as<void>(); }

  // "" when every slot has its element and the unused ones of the last block are zero.
  std::string check_in() {
    device_slots_.read(slots_.data(), slots_.size() * sizeof(T));
    std::string wrong;
    for_each([&](std::int64_t q, std::int64_t i, std::int64_t j) {
      if (slot(q, i, j) != single(q, i, j)) wrong = fmt::format("slot of ({}, {}) of problem {}", i, j, q);
    });
    for (std::int64_t q = count_; q < (count_ + block_ - 1) / block_ * block_; ++q)
      if (slot(q, 0, 0) != T(0)) wrong = fmt::format("unused slot {}", q);
    return wrong;
  }
  // Each element of the slots plus one comes back, and nothing else of the single side changes.
  void change_slots() {
    for (T& element : slots_) element += T(1);
    device_slots_.write(slots_.data(), slots_.size() * sizeof(T));
  }
  std::string check_out() {
    std::vector<T> expected = single_;
    for_each([&](std::int64_t q, std::int64_t i, std::int64_t j) { expected[place(q, i, j)] += T(1); });
    device_single_.read(single_.data(), single_.size() * sizeof(T));
    return single_ == expected ? "" : "C differs from what the slots held";
  }

 private:
  template <class F>
  void for_each(F&& element) const {
    for (std::int64_t q = 0; q < count_; ++q)
      for (std::int64_t j = 0; j < columns_; ++j)
        for (std::int64_t i = 0; i < rows_; ++i) element(q, i, j);
  }
  static T number(int seed, std::int64_t q, std::int64_t i, std::int64_t j) {
    return T(float((seed + 31 * q + 7 * i + 3 * j) % 1009));
  }
  std::size_t place(std::int64_t q, std::int64_t i, std::int64_t j) const {
    return std::size_t((q * columns_ + j) * ld_ + i);
  }
  T& single(std::int64_t q, std::int64_t i, std::int64_t j) { return single_[place(q, i, j)]; }
  T& slot(std::int64_t q, std::int64_t i, std::int64_t j) {
    return slots_[std::size_t(((q / block_ * columns_ + j) * ld_ + i) * block_ + q % block_)];
  }

  std::int64_t rows_, columns_, ld_, count_, block_;
  std::vector<T> single_, slots_;
  GpuBuffer device_single_, device_slots_, pointers_;
};

class GpuLayout : public GpuTest {
 protected:
  // "" when all elements go in and come back, queued on a stream of the caller.
  template <class T>
  std::string convert(bool pointers, std::int64_t rows, std::int64_t columns, std::int64_t count,
                      std::int64_t block) {
    constexpr auto device = Location::device;
    const std::int64_t ld = rows + pad;
    const GpuStream stream(*gpu_);
    options_.queue.stream = stream.get();
    Sides<T> side(*gpu_, rows, columns, ld, count, block, 4);
    const InterleavedBatch<T, device> blocks{static_cast<T*>(side.to()), rows, columns, ld, block, count};
    const StridedBatch<T, device> strided{
        {static_cast<T*>(side.from(false)), rows, columns, ld}, ld * columns, count};
    const PointerBatch<T, device> scattered{static_cast<T* const*>(side.from(true)), rows, columns, ld,
                                            count};
    pointers ? interleave<T>(context_, scattered, blocks, options_)
             : interleave<T>(context_, strided, blocks, options_);
    stream.synchronize();
    if (auto wrong = side.check_in(); !wrong.empty()) return wrong;
    side.change_slots();
    pointers ? deinterleave<T>(context_, blocks, scattered, options_)
             : deinterleave<T>(context_, blocks, strided, options_);
    stream.synchronize();
    return side.check_out();
  }

  Context context_{{.notices = false}};
};

TEST_F(GpuLayout, ConversionsFollowTheAddressingFormula) {
  Failures failures;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const bool pointers : {false, true})
      for (const auto& [rows, columns] : {std::pair(7, 3), std::pair(3, 12), std::pair(12, 7)})
        for (const std::int64_t block : {1, 8, 32, 100})
          for (const std::int64_t count : {1, 8, 77})
            failures.note(fmt::format("{} x {} of {}, {} of them, pointers: {}, by {}", rows, columns,
                                      to_string(dtype), count, pointers, block),
                          dispatch(dtype, [&]<class T>() {
                            return convert<T>(pointers, rows, columns, count, block);
                          }));
}

// Slots of matrices that no address leads to become zero, and nothing is copied back.
TEST_F(GpuLayout, NullAddressesAreSkipped) {
  constexpr auto device = Location::device;
  constexpr std::int64_t n = 4, ld = n + pad, count = 20, block = 8;
  const auto elements = std::size_t(interleaved_elements(n, n, ld, block, count));
  const GpuBuffer nulls(*gpu_, count * sizeof(void*));
  GpuBuffer slots(*gpu_, elements * sizeof(double));
  const GpuStream stream(*gpu_);
  options_.queue.stream = stream.get();
  const std::vector<void*> none(count, nullptr);
  queue_to_device(*gpu_, nulls.as<void>(), none.data(), none.size() * sizeof(void*), stream.get());
  slots.fill(0xFF, stream.get());
  const PointerBatch<double, device> scattered{nulls.as<double*>(), n, n, ld, count};
  const InterleavedBatch<double, device> blocks{slots.as<double>(), n, n, ld, block, count};
  interleave<double>(context_, scattered, blocks, options_);
  deinterleave<double>(context_, blocks, scattered, options_);
  std::vector<double> held(elements);
  queue_to_host(*gpu_, held.data(), slots.as<void>(), elements * sizeof(double), stream.get());
  stream.synchronize();
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(held[std::size_t(i * block)], 0) << i;
}

TEST_F(GpuLayout, PreparedConversionsCanBeCaptured) {
  constexpr std::int64_t n = 4, count = 30, block = 8;
  constexpr auto device = Location::device;
  Sides<double> side(*gpu_, n, n, n + pad, count, block, 4);
  const StridedBatch<double, device> from{
      {static_cast<double*>(side.from(false)), n, n, n + pad}, (n + pad) * n, count};
  const InterleavedBatch<double, device> to{static_cast<double*>(side.to()), n, n, n + pad, block, count};
  prepare_layout(context_, DType::f64, n, n, options_);
  const GpuStream stream(*gpu_);
  options_.queue.stream = stream.get();
  const GpuGraph graph(*gpu_, stream.get(), [&] { interleave<double>(context_, from, to, options_); });
  EXPECT_NE(side.check_in(), "") << "nothing runs while it is captured";
  graph.launch(stream.get());
  stream.synchronize();
  EXPECT_EQ(side.check_in(), "");
}

TEST_F(GpuLayout, TheInterfaceRefusesViewsThatDoNotFit) {
  constexpr auto device = Location::device;
  const GpuBuffer memory(*gpu_, 4096);
  auto* const data = memory.as<double>();
  const InterleavedBatch<double, device> blocks{data, 4, 4, 4, 8, 8};
  const auto refused = [&](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  using Strided = StridedBatch<double, device>;
  EXPECT_EQ(refused([&] {
              interleave<double>(context_, Strided{{data, 4, 3, 4}, 16, 8}, blocks, options_);
            }),
            "to.cols = 4, but from.cols = 3");
  EXPECT_EQ(refused([&] {
              interleave<double>(context_, Strided{{nullptr, 4, 4, 4}, 16, 8}, blocks, options_);
            }),
            "from.data is null");
  EXPECT_NE(refused([&] {
              deinterleave<double>(context_, blocks, Strided{{data, 4, 4, 4}, 3, 8}, options_);
            }).find("to.stride = 3"),
            std::string::npos);
  EXPECT_NE(refused([&] {
              prepare_layout(context_, DType::f64, 1 << 20, 1 << 20, options_);
            }).find("rows = 1048576"),
            std::string::npos);
  options_.queue.device = 99;
  EXPECT_NE(refused([&] {
              interleave<double>(context_, Strided{{data, 4, 4, 4}, 16, 8}, blocks, options_);
            }).find("99"),
            std::string::npos);
}

TEST_F(GpuLayout, WithoutJitOnlyPreparedConversionsRun) {
  const TempFolder folder;
  const std::string before = std::getenv("TILEWRIGHT_CACHE");
  setenv("TILEWRIGHT_CACHE", folder.path().c_str(), 1);
  Context context({.notices = false, .no_jit = true});
  setenv("TILEWRIGHT_CACHE", before.c_str(), 1);
  constexpr std::int64_t n = 3, count = 20, block = 8;
  Sides<double> side(*gpu_, n, n, n, count, block, 4);
  const StridedBatch<double, Location::device> from{
      {static_cast<double*>(side.from(false)), n, n, n}, n * n, count};
  const InterleavedBatch<double, Location::device> to{static_cast<double*>(side.to()), n, n, n, block, count};
  EXPECT_THROW(interleave<double>(context, from, to, options_), Error);
  prepare_layout(context, DType::f64, n, n, options_);
  interleave<double>(context, from, to, options_);
  gpu_->synchronize();
  EXPECT_EQ(side.check_in(), "");
}

TEST_F(GpuLayout, ExplainServesTheRuleFromCostsOfThisGpu) {
  const TempFolder folder;
  setenv("TILEWRIGHT_WISDOM", std::string(folder / "w.sqlite").c_str(), 1);
  GemmProblem p = batch_of(DType::f64, Layout::strided, 6, 6, 6, 1000);
  const auto text = [&] { return explain(context_, p, options_); };
  EXPECT_NE(text().find("no costs are recorded"), std::string::npos) << text();
  EXPECT_NE(text().find("--location device"), std::string::npos) << text();
  EXPECT_NE(text().find("so none is considered"), std::string::npos) << text();
  LayoutCosts costs{.m = 6,
                    .n = 6,
                    .k = 6,
                    .block = 32,
                    .residency = Residency::cold,
                    .convert_in_s = 4e-9,
                    .convert_out_s = 2e-9,
                    .direct_s = 5e-9,
                    .interleaved_s = 3e-9};
  const std::string path = kept_path(Environment::read());
  save_layout_costs(path, "another device", costs);
  EXPECT_NE(text().find("no costs are recorded"), std::string::npos)
      << "the other device's serve nobody here";
  save_layout_costs(path, gpu_->limits().name, costs);
  EXPECT_NE(text().find("to blocks of 32 pays if the data are reused at least 3 times"), std::string::npos)
      << text();
  costs.interleaved_s = costs.direct_s;
  save_layout_costs(path, gpu_->limits().name, costs);
  EXPECT_NE(text().find("never pays"), std::string::npos) << text();
  p = interleaved_problem(p, 32);
  EXPECT_NE(text().find("already interleaved"), std::string::npos) << text();
  unsetenv("TILEWRIGHT_WISDOM");
}

}  // namespace
}  // namespace tilewright::testing
