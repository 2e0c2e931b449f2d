// Random problems on the GPU against the CPU reference: shapes, operations, batches, leading dimensions,
// strides, broadcasts, scalars, addresses, and configs drawn from the whole space. TILEWRIGHT_GPU_FUZZ is the
// number of problems, TILEWRIGHT_TEST_SEED the seed, which is printed. Twenty problems share a kernel,
// because compiling takes a thousand times as long as running; all cores take part in both.
#include <omp.h>

#include <chrono>

#include "core/dispatch.hpp"
#include "kernel/gemm_small.hpp"
#include "support/failures.hpp"
#include "support/gpu_fixture.hpp"

namespace tilewright::testing {
namespace {

constexpr std::int64_t problems_per_kernel = 20;

struct Fuzz {
  GemmProblem problem;
  GemmOptions options;
  GpuDraw draw;
};

class Source {
 public:
  Source(std::uint64_t seed, const GemmOptions& options, const GpuLimits& limits)
      : random_(seed), options_(options), limits_(limits) {}

  // Problems of one kernel: what enters the code is the same for all, except for whether C is read.
  std::vector<Fuzz> family() {
    Fuzz base;
    GemmProblem& p = base.problem;
    base.options = options_;
    p.dtype = static_cast<DType>(below(4));
    const std::int64_t longest = below(6) == 0 ? 64 : below(2) == 0 ? 32 : 10;
    p.m = 1 + below(longest), p.n = 1 + below(longest), p.k = 1 + below(longest);
    p.op_a = static_cast<Op>(below(3)), p.op_b = static_cast<Op>(below(3));
    const std::int64_t kind = below(8);
    p.layout = kind == 0 ? Layout::pointer : kind == 1 ? Layout::block_interleaved : Layout::strided;
    if (kind == 1) p.block = std::int64_t(1) << below(9);
    p.location = Location::device;
    p.beta = static_cast<Scalar>(below(3));
    p.alpha = below(2) == 0 ? Scalar::one : Scalar::general;
    const bool strides = p.layout == Layout::strided;
    Form form;
    form.broadcast_a = strides && below(6) == 0, form.broadcast_b = strides && below(5) == 0;
    form.any_stride = strides && below(4) == 0;
    const bool padded = below(3) == 0;
    for (std::int64_t& pad : form.pads) pad = padded ? 1 + below(5) : 0;
    base.draw.offset = strides && p.dtype != DType::c128 && below(5) == 0 ? 1 : 0;
    base.options.align_bytes =
        base.draw.offset == 0 ? (below(2) == 0 ? 16 : 128) : static_cast<int>(size_bytes(p.dtype));
    std::vector<Fuzz> all;
    for (std::int64_t i = 0; i < problems_per_kernel; ++i) all.push_back(variant(base, form));
    if (below(2) == 0) give_config(all);
    return all;
  }

 private:
  // How operands lie, as far as it enters the code: gaps that all problems share, or any at run time.
  struct Form {
    bool broadcast_a = false, broadcast_b = false, any_stride = false;
    std::int64_t pads[3] = {};
  };

  std::int64_t below(std::int64_t n) { return std::int64_t(random_() % std::uint64_t(n)); }

  Fuzz variant(Fuzz one, const Form& form) {
    GemmProblem& p = one.problem;
    const std::int64_t most = std::max<std::int64_t>(2, 20000 / (p.m * p.n + p.k * (p.m + p.n)));
    p.batch_count = 2 + below(below(3) == 0 ? most : std::min<std::int64_t>(most, 40));
    const auto pad = [&](int operand) { return form.any_stride ? below(6) : form.pads[operand]; };
    p.lda = p.a_rows() + pad(0), p.ldb = p.b_rows() + pad(1), p.ldc = p.m + pad(2);
    p = packed(p);
    if (form.any_stride)
      p.stride_a += 1 + below(20), p.stride_b += 1 + below(20), p.stride_c += 1 + below(20);
    if (form.broadcast_a) p.stride_a = 0;
    if (form.broadcast_b) p.stride_b = 0;
    one.draw.alpha = p.alpha == Scalar::one ? 1 : below(8) == 0 ? 0 : -0.5;
    one.draw.beta = p.beta != Scalar::general ? value_of(p.beta) : below(8) == 0 ? 0 : 0.25;
    one.draw.seed = random_();
    return one;
  }

  // One config from the whole space, for those whose space it is: how an interleaved batch is cut depends on
  // its count. Loops that are unrolled whole take minutes to compile for large sizes.
  void give_config(std::vector<Fuzz>& all) {
    const GemmProblem& p = all[0].problem;
    const bool pointers = p.layout == Layout::pointer;  // whose matrices may begin anywhere
    const int align_bytes = pointers ? int(size_bytes(p.dtype)) : all[0].options.align_bytes;
    const auto space_of = [&](const Fuzz& one) {
      return gemm_small_space(gemm_small_shape(one.problem, align_bytes), p.dtype, limits_);
    };
    auto drawn = space_of(all[0]).sample(1, random_);
    if (drawn.empty()) return;
    if (p.m * p.n * p.k > 4096 && drawn[0].k_unroll == 0) drawn[0].k_unroll = 4;
    for (Fuzz& one : all)
      if (space_of(one).contains(drawn[0])) one.options.config = to_json(drawn[0]).dump();
  }

  std::mt19937_64 random_;
  GemmOptions options_;
  GpuLimits limits_;
};

template <class T>
std::string run(const Gpu& gpu, Context& context, const Fuzz& one) {
  GpuBatch<T> batch(gpu, one.problem, one.draw);
  batch.run(plan(context, one.problem, one.options));
  gpu.synchronize();
  return batch.check();
}

// What is wrong with it, "" = nothing. A drawn config whose block does not fit the device is refused, never
// wrong.
std::string check(const Gpu& gpu, Context& context, const Fuzz& one) {
  try {
    return dispatch(one.problem.dtype, [&]<class T>() { return run<T>(gpu, context, one); });
  } catch (const Error& error) {
    const std::string what = error.what();
    const bool too_large = what.find("no block fits") != std::string::npos && !one.options.config.empty();
    return too_large ? "" : what;
  }
}

using GpuFuzz = GpuTest;

TEST_F(GpuFuzz, RandomProblemsAreRight) {
  const auto clock = std::chrono::steady_clock::now().time_since_epoch().count();
  const auto seed = static_cast<std::uint64_t>(number_from("TILEWRIGHT_TEST_SEED", clock));
  const std::int64_t count = number_from("TILEWRIGHT_GPU_FUZZ", 300);
  std::printf("TILEWRIGHT_TEST_SEED=%llu TILEWRIGHT_GPU_FUZZ=%lld\n", static_cast<unsigned long long>(seed),
              static_cast<long long>(count));
  RecordProperty("seed", std::to_string(seed));
  Source source(seed, options_, gpu_->limits());
  Context context;
  Failures failures;
  while (std::int64_t(failures.case_count()) < count && !failures.too_many()) {
    std::vector<std::vector<Fuzz>> families;
    for (int i = 0; i < 8 * omp_get_max_threads(); ++i) families.push_back(source.family());
    std::vector<std::vector<std::string>> wrong(families.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t f = 0; f < families.size(); ++f)
      for (const Fuzz& one : families[f]) wrong[f].push_back(check(*gpu_, context, one));
    for (std::size_t f = 0; f < families.size(); ++f)
      for (std::size_t i = 0; i < families[f].size(); ++i) {
        const Fuzz& one = families[f][i];
        failures.note(to_string(one.problem) + " " + one.options.config, wrong[f][i]);
      }
  }
  std::printf("%zu problems\n", failures.case_count());
}

}  // namespace
}  // namespace tilewright::testing
