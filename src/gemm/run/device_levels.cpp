// Which level is launched, and the launches.
#include "gemm/run/device_levels.hpp"

#include <numeric>

#include "gemm/device/operands.hpp"

namespace tilewright {
namespace {

class LevelsRunner : public Runner {
 public:
  LevelsRunner(const GemmProblem& problem, const std::array<BatchLevel, 2>& others,
               const std::array<std::int64_t, 2>& strides, std::shared_ptr<const Runner> launched)
      : size_(size_bytes(problem.dtype)),
        others_(others),
        strides_(strides),
        launched_(std::move(launched)) {}

  // The places at both ends have the least and the largest addresses.
  void check(const Operands& o) const override {
    launched_->check(o);
    launched_->check(at(o, others_[0].count - 1, others_[1].count - 1));
  }
  void run(const Operands& o) const override {
    for (std::int64_t j = 0; j < others_[1].count; ++j)
      for (std::int64_t i = 0; i < others_[0].count; ++i) launched_->run(at(o, i, j));
  }

  std::string device() const override { return launched_->device(); }
  std::string threads_text() const override { return launched_->threads_text(); }
  std::string library() const override { return launched_->library(); }
  nlohmann::json config() const override { return launched_->config(); }
  std::string config_text() const override { return launched_->config_text(); }
  std::string kernel() const override {
    return fmt::format("{} launches, one for each place in the other levels; {}",
                       others_[0].count * others_[1].count, launched_->kernel());
  }
  nlohmann::json metrics() const override { return launched_->metrics(); }
  std::string prediction(double least_s) const override { return launched_->prediction(least_s); }
  std::optional<double> predicted_s(double least_s) const override {
    const auto launch_s = launched_->predicted_s(least_s);
    if (!launch_s) return launch_s;
    return *launch_s * double(others_[0].count * others_[1].count);
  }

 private:
  Operands at(const Operands& o, std::int64_t i, std::int64_t j) const {
    const auto offset = [&](std::int64_t BatchLevel::*stride) {
      return (i * (others_[0].*stride) + j * (others_[1].*stride)) * size_;
    };
    const std::int64_t problem = i * strides_[0] + j * strides_[1];
    const auto advance = [](const void* base, std::int64_t bytes) -> const void* {
      return base == nullptr ? nullptr : static_cast<const char*>(base) + bytes;
    };
    Operands part = o;
    part.a = advance(o.a, offset(&BatchLevel::a));
    part.b = advance(o.b, offset(&BatchLevel::b));
    part.c = const_cast<void*>(advance(o.c, offset(&BatchLevel::c)));
    part.alpha = advance(o.alpha, problem * o.alpha_stride * size_);
    part.beta = advance(o.beta, problem * o.beta_stride * size_);
    return part;
  }

  std::int64_t size_;
  std::array<BatchLevel, 2> others_;
  std::array<std::int64_t, 2> strides_;
  std::shared_ptr<const Runner> launched_;
};

}  // namespace

DeviceLevels::DeviceLevels(const GemmProblem& problem, const GemmOptions& options)
    : problem_(problem), launched_(without_levels(problem)), options_(options) {
  const auto levels = batch_levels(problem);
  std::size_t most = 0;
  const bool values = options.alpha_varies || options.beta_varies;
  for (std::size_t i = 1; i < levels.size() && !values; ++i)
    if (levels[i].count > levels[most].count) most = i;
  launched_.batch_count = levels[most].count;
  launched_.stride_a = levels[most].a, launched_.stride_b = levels[most].b,
  launched_.stride_c = levels[most].c;

  const std::int64_t size = size_bytes(problem.dtype);
  std::int64_t align = options.align_bytes == 0 ? usual_alignment(problem) : options.align_bytes;
  std::int64_t problems = 1;
  std::size_t other = 0;
  for (std::size_t i = 0; i < levels.size(); problems *= levels[i++].count) {
    if (i == most) continue;
    others_[other] = levels[i];
    strides_[other++] = problems;
    if (levels[i].count > 1)
      for (const std::int64_t stride : {levels[i].a, levels[i].b, levels[i].c})
        align = std::gcd(align, stride * size);
  }
  if (options.align_bytes >= 0) options_.align_bytes = static_cast<int>(align);  // else it is refused
}

std::shared_ptr<const Runner> DeviceLevels::runner(std::shared_ptr<const Runner> launched) const {
  return std::make_shared<const LevelsRunner>(problem_, others_, strides_, std::move(launched));
}

}  // namespace tilewright
