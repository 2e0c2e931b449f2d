// Random problems on the GPU against the CPU reference, batches of small ones and large ones: shapes,
// operations, batches, leading dimensions, strides, broadcasts, scalars, addresses, and configs drawn from
// the whole space. TILEWRIGHT_GPU_FUZZ and TILEWRIGHT_GPU_FUZZ_LARGE are the numbers of problems that run,
// TILEWRIGHT_TEST_SEED the seed, which is printed. Twenty problems share a kernel, because compiling takes a
// thousand times as long as running; all cores take part in both.
#include <omp.h>

#include <chrono>
#include <numeric>
#include <optional>

#include "core/dispatch.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
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

// Problems of the large family, whose sizes and leading dimensions are no part of a kernel: a family shares
// type, operations, whether C is read, alignment and config.
class LargeSource {
 public:
  LargeSource(std::uint64_t seed, const GemmOptions& options, const GpuLimits& limits)
      : random_(seed), options_(options), limits_(limits) {}

  std::vector<Fuzz> family() {
    Fuzz base;
    GemmProblem& p = base.problem;
    base.options = options_;
    base.options.candidate = "gpu_large";
    p.location = Location::device;
    p.dtype = static_cast<DType>(below(4));
    p.op_a = static_cast<Op>(below(3)), p.op_b = static_cast<Op>(below(3));
    p.alpha = below(2) == 0 ? Scalar::one : Scalar::general;
    p.beta = static_cast<Scalar>(below(3));
    p.layout = below(4) == 0 ? Layout::strided : Layout::single;
    const bool aligned = below(2) == 0;  // every column of every operand
    base.draw.offset = !aligned && below(2) == 0 ? 1 + below(3) : 0;
    if (base.draw.offset > 0) base.options.align_bytes = int(size_bytes(p.dtype));
    std::vector<Fuzz> all;
    for (std::int64_t i = 0; i < problems_per_kernel; ++i) all.push_back(variant(base, aligned));
    if (below(4) != 0) give_config(all);
    return all;
  }

 private:
  std::int64_t below(std::int64_t n) { return std::int64_t(random_() % std::uint64_t(n)); }

  // Mostly odd sizes up to some hundreds; now and then a k that is long beside them, or none.
  std::int64_t size() { return 1 + below(below(4) == 0 ? 300 : below(2) == 0 ? 140 : 40); }

  Fuzz variant(Fuzz one, bool aligned) {
    GemmProblem& p = one.problem;
    p.m = size(), p.n = size(), p.k = below(10) == 0 ? 1 + below(2000) : size();
    if (below(20) == 0) p.k = 0, one.options.candidate.clear();  // no product: others serve
    const std::int64_t step = std::max<std::int64_t>(1, 16 / size_bytes(p.dtype));
    const auto leading = [&](std::int64_t rows) {
      rows = std::max<std::int64_t>(rows, 1);
      return aligned ? (rows + step - 1) / step * step + step * below(3) : rows + below(7);
    };
    p.lda = leading(p.a_rows()), p.ldb = leading(p.b_rows()), p.ldc = leading(p.m);
    if (p.layout == Layout::strided) {
      p.batch_count = 2 + below(3);
      p = packed(p);
      const std::int64_t gap = aligned ? step : 1;
      p.stride_a = below(5) == 0 ? 0 : p.stride_a + gap * below(9);
      p.stride_b = below(5) == 0 ? 0 : p.stride_b + gap * below(9);
      p.stride_c += gap * below(9);
    }
    one.draw.alpha = p.alpha == Scalar::one ? 1 : below(8) == 0 ? 0 : -0.5;
    one.draw.beta = p.beta != Scalar::general ? value_of(p.beta) : below(8) == 0 ? 0 : 0.25;
    one.draw.seed = random_();
    return one;
  }

  // The alignment of every matrix of the batch.
  GemmLargeShape shape_of(const Fuzz& one) const {
    const GemmProblem& p = one.problem;
    const auto aligned = [&](std::int64_t stride) {
      const std::int64_t distance = p.batch_count > 1 ? stride * size_bytes(p.dtype) : 0;
      return int(std::gcd(std::int64_t(one.draw.offset > 0 ? size_bytes(p.dtype) : 16), distance));
    };
    return gemm_large_shape(p, {aligned(p.stride_a), aligned(p.stride_b), aligned(p.stride_c)});
  }
  void give_config(std::vector<Fuzz>& all) {
    const auto space_of = [&](const Fuzz& one) {
      return gemm_large_space(one.problem, shape_of(one), limits_);
    };
    const auto drawn = space_of(all[0]).sample(1, random_);
    if (drawn.empty()) return;
    for (Fuzz& one : all)
      if (!one.options.candidate.empty() && space_of(one).contains(drawn[0]))
        one.options.config = to_json(drawn[0]).dump();
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

// Returns the fault, "" for none. A drawn config whose block does not fit the device, or for which the
// compiler spills, is refused, never wrong; nothing then, for nothing ran.
std::optional<std::string> check(const Gpu& gpu, Context& context, const Fuzz& one) {
  try {
    return dispatch(one.problem.dtype, [&]<class T>() { return run<T>(gpu, context, one); });
  } catch (const Error& error) {
    const std::string what = error.what();
    const bool refused = what.find("no block fits") != std::string::npos || error.argument() == "config";
    if (refused && !one.options.config.empty()) return std::nullopt;
    return what;
  }
}

class GpuFuzz : public GpuTest {
 protected:
  // `count` problems of families that the source draws, as many as `variable` says.
  template <class Draws>
  void fuzz(const char* variable, std::int64_t standard) {
    const auto clock = std::chrono::steady_clock::now().time_since_epoch().count();
    const auto seed = static_cast<std::uint64_t>(number_from("TILEWRIGHT_TEST_SEED", clock));
    const std::int64_t count = number_from(variable, standard);
    std::printf("TILEWRIGHT_TEST_SEED=%llu %s=%lld\n", static_cast<unsigned long long>(seed), variable,
                static_cast<long long>(count));
    RecordProperty("seed", std::to_string(seed));
    Draws source(seed, options_, gpu_->limits());
    Context context;
    Failures failures;
    std::int64_t refused = 0;
    while (std::int64_t(failures.case_count()) < count && !failures.too_many()) {
      std::vector<std::vector<Fuzz>> families;
      for (int i = 0; i < family_count(count); ++i) families.push_back(source.family());
      std::vector<std::vector<std::optional<std::string>>> wrong(families.size());
#pragma omp parallel for schedule(dynamic)
      for (std::size_t f = 0; f < families.size(); ++f)
        for (const Fuzz& one : families[f]) wrong[f].push_back(check(*gpu_, context, one));
      for (std::size_t f = 0; f < families.size(); ++f)
        for (std::size_t i = 0; i < families[f].size(); ++i) {
          const Fuzz& one = families[f][i];
          if (wrong[f][i])
            failures.note(to_string(one.problem) + " " + one.options.config, *wrong[f][i]);
          else
            ++refused;
        }
    }
    std::printf("%zu problems, and %lld configs refused\n", failures.case_count(),
                static_cast<long long>(refused));
  }

 private:
  static int family_count(std::int64_t count) {
    const std::int64_t wanted = (count + problems_per_kernel - 1) / problems_per_kernel;
    return int(std::clamp<std::int64_t>(wanted, 1, 8 * omp_get_max_threads()));
  }
};

TEST_F(GpuFuzz, RandomProblemsAreRight) { fuzz<Source>("TILEWRIGHT_GPU_FUZZ", 300); }
TEST_F(GpuFuzz, RandomLargeProblemsAreRight) { fuzz<LargeSource>("TILEWRIGHT_GPU_FUZZ_LARGE", 300); }

}  // namespace
}  // namespace tilewright::testing
