// Strided batches of several levels in device memory: a launch per place in all levels but one.
#include <numeric>

#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/device/operands.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

struct OtherLevels {
  std::array<BatchLevel, 2> levels;     // the inner one first
  std::array<std::int64_t, 2> strides;  // from part to part, in values of alpha and beta
  std::int64_t size = 0;                // of an element in bytes
};

class LevelsRunner : public Runner {
 public:
  LevelsRunner(const OtherLevels& others, std::shared_ptr<const Runner> launched)
      : others_(others), launched_(std::move(launched)) {}

  // The first and the last place have the lowest and the highest addresses.
  void check(const Operands& o) const override {
    launched_->check(o);
    launched_->check(at(o, others_.levels[0].count - 1, others_.levels[1].count - 1));
  }
  void run(const Operands& o) const override {
    for (std::int64_t j = 0; j < others_.levels[1].count; ++j)
      for (std::int64_t i = 0; i < others_.levels[0].count; ++i) launched_->run(at(o, i, j));
  }

  std::string device() const override { return launched_->device(); }
  std::string threads_text() const override { return launched_->threads_text(); }
  std::string library() const override { return launched_->library(); }
  nlohmann::json config() const override { return launched_->config(); }
  std::string config_text() const override { return launched_->config_text(); }
  std::string kernel() const override {
    return fmt::format("{} launches, one for each place in the other levels; {}", places(),
                       launched_->kernel());
  }
  nlohmann::json metrics() const override { return launched_->metrics(); }
  std::string prediction(double least_s) const override { return launched_->prediction(least_s); }
  std::optional<double> predicted_s(double least_s) const override {
    const auto launch_s = launched_->predicted_s(least_s);
    if (!launch_s) return launch_s;
    return *launch_s * double(places());
  }

 private:
  std::int64_t places() const { return others_.levels[0].count * others_.levels[1].count; }
  Operands at(const Operands& o, std::int64_t i, std::int64_t j) const {
    const auto& [within, around] = others_.levels;
    const std::int64_t problem = i * others_.strides[0] + j * others_.strides[1], size = others_.size;
    Operands part = o;
    part.a = advanced(o.a, (i * within.a + j * around.a) * size);
    part.b = advanced(o.b, (i * within.b + j * around.b) * size);
    part.c = const_cast<void*>(advanced(o.c, (i * within.c + j * around.c) * size));
    part.alpha = advanced(o.alpha, problem * o.alpha_stride * size);
    part.beta = advanced(o.beta, problem * o.beta_stride * size);
    return part;
  }

  OtherLevels others_;
  std::shared_ptr<const Runner> launched_;
};

}  // namespace

// A launch computes the level with most problems, or the innermost if alpha or beta varies by problem.
Ranking<GemmOperation> rank_levels(const PlanRequest& r) {
  GemmProblem launched = without_levels(r.problem);
  GemmOptions options = r.options;
  const auto levels = batch_levels(r.problem);
  std::size_t most = 0;
  for (std::size_t i = 1; i < levels.size() && !r.vary.any(); ++i)
    if (levels[i].count > levels[most].count) most = i;
  launched.batch_count = levels[most].count;
  launched.stride_a = levels[most].a, launched.stride_b = levels[most].b, launched.stride_c = levels[most].c;

  OtherLevels others;
  others.size = size_bytes(r.problem.dtype);
  std::int64_t align = r.options.align_bytes == 0 ? default_alignment(r.problem) : r.options.align_bytes;
  std::int64_t problems = 1;
  std::size_t other = 0;
  for (std::size_t i = 0; i < levels.size(); problems *= levels[i++].count) {
    if (i == most) continue;
    others.levels[other] = levels[i];
    others.strides[other++] = problems;
    if (levels[i].count > 1)
      for (const std::int64_t stride : {levels[i].a, levels[i].b, levels[i].c})
        align = std::gcd(align, stride * others.size);
  }
  if (r.options.align_bytes >= 0)
    options.align_bytes = static_cast<int>(align);  // candidates refuse a negative one
  Ranking<GemmOperation> ranking =
      rank({r.context, launched, options, r.may_compile, false, r.vary}, r.context.candidates);
  if (ranking.winner != nullptr)
    ranking.made.runner = std::make_shared<const LevelsRunner>(others, std::move(ranking.made.runner));
  return ranking;
}

}  // namespace tilewright
