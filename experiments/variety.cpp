// Runs random problems through random configs of both GPU families and checks every element; nothing is
// timed. It varies layouts, operations, paddings, shifts, sizes and scalars per problem, bad problems,
// partial tiles. Tests draw plans; this draws kernels from the whole of their spaces.

#include "core/env.hpp"
#include "experiment.hpp"
#include "kernel/gemm_large/loader.hpp"
#include "kernel/gemm_small/loader.hpp"
#include "measure/gpu/check.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::bench {
namespace {

constexpr int unrolled_at_most = 4;    // long pieces of unrolled code take minutes to compile
constexpr double most_products = 3e5;  // of one block
constexpr int largest_large = 260;

class Draw {
 public:
  explicit Draw(unsigned seed) : random(seed) {}
  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  Scalar scalar() { return static_cast<Scalar>(below(3)); }
  Op op() { return static_cast<Op>(below(3)); }

  std::mt19937 random;
};

// Draws a batch of small matrices in any layout.
SmallCase small_case(DType dtype, Draw& draw) {
  static constexpr Layout layouts[] = {Layout::strided,           Layout::strided,
                                       Layout::pointer,           Layout::variable,
                                       Layout::block_interleaved, Layout::block_interleaved};
  const int most = draw.one_in(4) ? static_cast<int>(gemm_small_limit) : 12;
  SmallCase one;
  GemmProblem& p = one.problem;
  p.dtype = dtype, p.layout = layouts[draw.below(6)], p.location = Location::device;
  p.m = 1 + draw.below(most), p.n = 1 + draw.below(most), p.k = 1 + draw.below(most);
  p.op_a = draw.op(), p.op_b = draw.op();
  p.alpha = draw.one_in(8) ? Scalar::zero : draw.one_in(2) ? Scalar::one : Scalar::general;
  p.beta = draw.scalar();
  p.batch_count = 1;
  if (p.layout == Layout::block_interleaved)
    p.block = draw.one_in(4) ? 64 * (1 + draw.below(4)) : 1 + draw.below(16);
  p = packed(p);
  if (draw.one_in(3)) p.lda += draw.below(4), p.ldb += draw.below(4), p.ldc += draw.below(4);
  const bool strided = p.layout == Layout::strided;
  p.stride_a = strided && !draw.one_in(6) ? p.lda * p.a_cols() + (draw.one_in(4) ? draw.below(9) : 0) : 0;
  p.stride_b = strided && !draw.one_in(5) ? p.ldb * p.b_cols() : 0;
  p.stride_c = strided ? p.ldc * p.n + (draw.one_in(4) ? draw.below(9) : 0) : 0;
  if (p.layout == Layout::variable) p.lda = p.ldb = p.ldc = 0;
  p.batch_count = 100000;  // for which kernels are made; fewer problems suffice for the check
  one.scalars_vary = draw.one_in(4);
  if (one.scalars_vary) p.alpha = p.beta = Scalar::general;
  one.smallest = draw.below(3);
  one.any_alignment = draw.one_in(2), one.gaps = draw.one_in(2);
  one.faults = draw.one_in(2) && (p.layout == Layout::pointer || p.layout == Layout::variable);
  one.shift = strided && draw.one_in(3) ? draw.below(5) : 0;
  return one;
}

// Draws one matrix of some hundred rows.
SmallCase large_case(DType dtype, Draw& draw) {
  const auto size = [&] { return 1 + (draw.one_in(3) ? draw.below(40) : draw.below(largest_large)); };
  SmallCase one;
  GemmProblem& p = one.problem;
  p.dtype = dtype, p.location = Location::device;
  p.m = size(), p.n = size(), p.k = draw.one_in(20) ? 0 : size();
  p.op_a = draw.op(), p.op_b = draw.op();
  p.alpha = draw.one_in(2) ? Scalar::one : Scalar::general;
  p.beta = draw.scalar();
  const int kind = draw.below(3);  // aligned, padded at random, shifted
  const int step = std::max(1, 16 / static_cast<int>(size_bytes(dtype)));
  const auto leading = [&](std::int64_t rows) {
    const std::int64_t least = std::max<std::int64_t>(rows, 1);
    return kind == 0 ? (least + step - 1) / step * step + step * draw.below(3) : least + draw.below(6);
  };
  p.lda = leading(p.a_rows()), p.ldb = leading(p.b_rows()), p.ldc = leading(p.m);
  one.shift = kind == 2 ? 1 + draw.below(3) : 0;
  return one;
}

// Returns the alignment of addresses in buffers that begin at multiples of `aligned` bytes.
int alignment_of(const SmallCase& one, int aligned) {
  const int bytes = one.shift * static_cast<int>(size_bytes(one.problem.dtype));
  return bytes == 0 ? aligned : std::min(aligned, bytes & -bytes);
}

class Variety {
 public:
  Variety()
      : gpu_(0),
        current_(gpu_),
        compiler_(share_folder(Environment::read(), "kernel"), kernel_cache(), Environment::read().nvrtc),
        scratch_(gpu_) {}

  void small(DType dtype, unsigned seed, std::size_t count) {
    Draw draw(seed);
    const SmallCase one = small_case(dtype, draw);
    const GemmSmallShape shape = gemm_small_shape(one.problem, alignment_of(one, 128), one.scalars_vary);
    const auto space = gemm_small_space(shape, dtype, gpu_.limits());
    std::vector<GemmSmallConfig> configs = space.sample(count, draw.random);
    std::erase_if(configs, [&](GemmSmallConfig& config) {
      if (config.k_unroll == 0) config.k_unroll = std::min(unrolled_at_most, shape.k);
      const double products = double(config.matrices_per_block) * shape.m * shape.n * (shape.k + 1);
      return !space.contains(config) || products >= most_products;
    });
    const auto compile = [&](const GemmSmallConfig& config) {
      return compiler_.compile(gemm_small_request(shape, config, dtype, gpu_.limits().compute_capability));
    };
    each(configs, one.problem, compile, [&](const GemmSmallConfig& config, const JitBinary& binary) {
      const GemmSmallKernel kernel(gpu_, binary, shape, config, dtype);
      constexpr unsigned blocks = 2;  // so that each block walks over several tiles
      const std::int64_t tiles = std::int64_t(blocks) * (config.persistent ? config.stages + 2 : 1) + 1;
      const std::int64_t in_block = config.matrices_per_block;
      const std::int64_t problems =
          tiles * in_block - (in_block > 1 ? in_block / 2 : 0) - (in_block > 2 ? 1 : 0);
      return SmallCheck(one, problems).run(GpuMemory(gpu_), [&](const Operands& o) {
        GemmProblem p = one.problem;
        p.batch_count = problems;
        const auto to = gemm_small_operands(p, o, one.scalars_vary);
        kernel.launch(to, nullptr, config.persistent ? blocks : 0);
      });
    });
  }

  void large(DType dtype, unsigned seed, std::size_t count) {
    Draw draw(seed);
    const SmallCase one = large_case(dtype, draw);
    const GemmProblem& p = one.problem;
    const int align = alignment_of(one, 256);
    const GemmLargeShape shape = gemm_large_shape(p, {align, align, align});
    auto configs = gemm_large_space(p, shape, gpu_.limits()).sample(count, draw.random);
    for (const auto& config : gemm_large_promising(p, shape, known_, count / 2)) configs.push_back(config);
    const SmallCheck check(one, 1, seed);
    const auto compile = [&](const GemmLargeConfig& config) {
      return compiler_.compile(gemm_large_request(shape, config, dtype, gpu_.limits().compute_capability));
    };
    each(configs, p, compile, [&](const GemmLargeConfig& config, const JitBinary& binary) {
      CheckResult result;
      if (!gemm_large_refusal(binary, config, gpu_.limits()).empty()) return result;  // no plan would run it
      const GemmLargeKernel kernel(gpu_, binary, shape, config, dtype);
      return check.run(GpuMemory(gpu_), [&](const Operands& o) {
        GemmLargeOperands to{o.a, o.b, o.c, o.alpha, o.beta};
        scratch_.provide(kernel, p, to);
        kernel.launch(p, to, nullptr);
      });
    });
  }

  std::size_t right = 0, wrong = 0;

 private:
  // Compiles concurrently, checks one after the other.
  template <class Config, class Compile, class Check>
  void each(const std::vector<Config>& configs, const GemmProblem& p, Compile&& compile, Check&& check) {
    std::vector<JitBinary> binaries(configs.size());
    std::vector<std::string> faults(configs.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < configs.size(); ++i) try {
        binaries[i] = compile(configs[i]);
      } catch (const std::exception& error) {
        faults[i] = error.what();
      }
    for (std::size_t i = 0; i < configs.size(); ++i) {
      if (faults[i].empty()) try {
          faults[i] = check(configs[i], binaries[i]).fault;
        } catch (const Error& error) {
          faults[i] = error.what();
        }
      (faults[i].empty() ? right : wrong) += 1;
      if (!faults[i].empty())
        std::printf("WRONG %s | %s: %s\n", to_string(p).c_str(), describe(configs[i]).c_str(),
                    faults[i].substr(0, 600).c_str());
    }
  }

  Gpu gpu_;
  const GemmLargeDevice known_ = gemm_large_device(
      gpu_.limits(), fitted_coefficients(nullptr, gpu_.limits().name, architecture_of(gpu_.limits())));
  Gpu::Current current_;
  StencilCompiler compiler_;
  GemmLargeScratch scratch_;
};

int run(int argc, char** argv) {
  std::vector<std::string> dtypes = {"f64", "f32", "c64", "c128"}, families = {"gemm_small", "gemm"};
  int problems = 40;
  std::size_t configs = 8;
  unsigned seed = 0;
  double seconds = 1e9;
  std::string file;
  CLI::App app(
      "Random problems through random configs of the GPU's kernels, all elements checked. Ends with 1 where "
      "one is wrong.");
  app.option_defaults()->always_capture_default();
  app.add_option("--family", families, "gemm_small, gemm")
      ->delimiter(',')
      ->check(CLI::IsMember({"gemm_small", "gemm"}));
  app.add_option("--dtype", dtypes, "of both")->delimiter(',');
  app.add_option("--problems", problems, "of each family and type")->check(CLI::Range(1, 1000000));
  app.add_option("--configs", configs, "of each problem")->check(CLI::Range(1, 1000));
  app.add_option("--seed", seed, "of the draws");
  app.add_option("--seconds", seconds, "after which nothing new is begun");
  app.add_option("--json", file, "how many were right");
  return parse_and_run(app, argc, argv, [&] {
    Variety variety;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < problems; ++i)
      for (const std::string& text : dtypes) {
        if (std::chrono::steady_clock::now() - begin >= std::chrono::duration<double>(seconds)) break;
        const auto dtype = enum_from_string<DType>(text, "--dtype");
        const unsigned draw = (seed + static_cast<unsigned>(i)) * 4 + static_cast<unsigned>(dtype);
        for (const std::string& family : families)
          family == "gemm" ? variety.large(dtype, draw, configs) : variety.small(dtype, draw, configs);
      }
    std::printf("variety: %zu right, %zu wrong\n", variety.right, variety.wrong);
    if (!file.empty()) {
      LineLog log(file, LineLogRules{"json", "command"});
      log.write({{"command", command_line()}});
      log.write({{"phase", "variety"}, {"right", variety.right}, {"wrong", variety.wrong}});
    }
    return variety.wrong > 0 ? 1 : 0;
  });
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_variety", [&] { return tilewright::bench::run(argc, argv); });
}
