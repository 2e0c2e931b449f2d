// Turns of the loops and their best.
#include "gpu_ceiling.hpp"

#include "measure/estimate.hpp"

namespace tilewright::cli {

void GpuCeiling::turn() {
  const GpuStreamMix mix = mix_.as_long_as(double(m_.arena.operand_bytes()));
  const auto& loops = m_.streams.loops(mix.reads_c);
  samples_.resize(loops.size());
  for (std::size_t i = 0; i < loops.size(); ++i) {
    double moved = 0;
    const double seconds = m_.timer.seconds([&] {
      moved = GpuStreams::launch(loops[i], mix, m_.arena.a(), m_.arena.b(), m_.arena.streamed_c(),
                                 m_.stream.get());
    });
    samples_[i].push_back(moved / seconds * 1e-9);
  }
}

GpuCeiling::Best GpuCeiling::best() const {
  Best best;
  for (std::size_t i = 0; i < samples_.size(); ++i)
    if (const double rate = estimate(samples_[i]).centre; rate > best.gbytes)
      best = {m_.streams.loops(mix_.reads_c)[i].name, rate};
  return best;
}

nlohmann::json GpuCeiling::rates() const {
  nlohmann::json rates = nlohmann::json::object();
  for (std::size_t i = 0; i < samples_.size(); ++i)
    rates[m_.streams.loops(mix_.reads_c)[i].name] = estimate(samples_[i]).centre;
  return rates;
}

}  // namespace tilewright::cli
