// Reads elements of an arena and of buffers.
#include "measure/gpu/check.hpp"

#include "core/dispatch.hpp"
#include "measure/typed_values.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t most_interleaved = 6;  // problems whose elements are copied one by one

class ArenaOperands : public CheckedOperands {
 public:
  ArenaOperands(const GpuArena& arena, const GemmProblem& p)
      : arena_(arena),
        dtype_(p.dtype),
        stored_{gpu_stored_operand(p, 0), gpu_stored_operand(p, 1), gpu_stored_operand(p, 2)} {}

  void before(const Stretch& s, void* to) const override {
    dispatch(dtype_, [&]<class T>() {
      constexpr std::int64_t reals = is_pair<T> ? 2 : 1;
      for (std::int64_t e = 0; e < s.count; ++e) {
        const std::int64_t at = reals * (begin(s) + e * step(s));
        static_cast<T*>(to)[e] =
            value_from<T>(arena_.real_at(s.operand, at), is_pair<T> ? arena_.real_at(s.operand, at + 1) : 0);
      }
    });
  }
  void read(const Stretch& s, void* to) const override {
    each_piece(s, [&](std::size_t offset, void* device, std::size_t bytes) {
      arena_.gpu().read(static_cast<std::byte*>(to) + offset, device, bytes);
    });
  }
  void write(const Stretch& s, const void* from) const override {
    each_piece(s, [&](std::size_t offset, void* device, std::size_t bytes) {
      arena_.gpu().write(device, static_cast<const std::byte*>(from) + offset, bytes);
    });
  }
  void synchronize() const override { arena_.gpu().synchronize(); }

 private:
  std::int64_t begin(const Stretch& s) const { return stored_[s.operand].at(s.q, s.i, s.j); }
  std::int64_t step(const Stretch& s) const {
    return s.across ? stored_[s.operand].column_step : stored_[s.operand].row_step;
  }
  // Copies the stretch at once, or element by element if the elements lie apart.
  template <class F>
  void each_piece(const Stretch& s, F&& copy) const {
    const auto size = std::size_t(size_bytes(dtype_)), count = std::size_t(s.count);
    std::byte* const device = static_cast<std::byte*>(arena_.c()) + std::size_t(begin(s)) * size;
    if (step(s) == 1) return copy(0, device, count * size);
    for (std::size_t e = 0; e < count; ++e) copy(e * size, device + e * std::size_t(step(s)) * size, size);
  }

  const GpuArena& arena_;
  DType dtype_;
  StoredOperand stored_[3];
};

}  // namespace

SampledCheck sampled_check(const GpuArena& arena, const GemmProblem& problem, std::complex<double> alpha,
                           std::complex<double> beta) {
  const Sample sample =
      is_interleaved(problem.layout) ? sample_of(problem, most_interleaved) : sample_of(problem);
  return {problem, std::make_unique<ArenaOperands>(arena, problem), sample, alpha, beta};
}

std::shared_ptr<std::byte> GpuMemory::place(const void* from, std::size_t bytes) const {
  const auto buffer = std::make_shared<GpuBuffer>(gpu_, std::max<std::size_t>(bytes, 1));
  if (bytes > 0) buffer->write(from, bytes);
  gpu_.synchronize();
  return {buffer, buffer->as<std::byte>()};
}

void GpuMemory::read(void* to, const std::byte* from, std::size_t bytes) const {
  gpu_.synchronize();
  gpu_.read(to, from, bytes);
}

}  // namespace tilewright
