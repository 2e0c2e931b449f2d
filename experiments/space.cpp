// bench_space: measures how fast a declared space is walked, that of tests/support/kepler_space.hpp: the time
// to find all configs that satisfy its constraints. `bench_space FILE` prints the table and writes it as JSON
// lines.
#include <fmt/format.h>

#include <cstdint>
#include <fstream>

#include "device/cpu.hpp"
#include "measure/ceilings.hpp"
#include "measure/clock.hpp"
#include "people/refusal.hpp"
#include "program.hpp"
#include "support/kepler_space.hpp"

namespace tilewright {
namespace {

// Formats one line per constraint: how many branches it cut of those it checked, where, and why.
std::string to_text(const std::vector<Removed>& removed) {
  std::string text;
  for (const Removed& r : removed)
    text += fmt::format("{:>14} of {:>14} branches cut {}: {}\n", r.cut, r.asked,
                        r.after.empty() ? "at the start" : "after " + r.after, r.reason);
  return text;
}

nlohmann::json walk(const KeplerLimits& limits) {
  const auto space = kepler::stencil(limits);
  std::vector<Removed> removed;
  std::uint64_t survivors = 0;
  const double begin = wall_seconds();
  space.visit([&](const KeplerConfig&) { ++survivors; });
  const double seconds = wall_seconds() - begin;
  space.visit([](const KeplerConfig&) {}, {}, &removed);
  fmt::print("{} axes, tiles to {}, depth to {}: {:.3g} raw points, {} survivors in {:.3f} s\n{}\n",
             space.axis_names().size(), limits.tile, limits.depth, kepler::raw_points(limits), survivors,
             seconds, to_text(removed));
  nlohmann::json line{{"family", "space"},
                      {"axes", space.axis_names().size()},
                      {"largest_tile", limits.tile},
                      {"largest_depth", limits.depth},
                      {"raw_points", kepler::raw_points(limits)},
                      {"survivors", survivors},
                      {"seconds", seconds},
                      {"device", cpu_info().device},
                      {"time", time_now()}};
  for (const Removed& r : removed)
    line["removed"].push_back({{"reason", r.reason}, {"after", r.after}, {"asked", r.asked}, {"cut", r.cut}});
  return line;
}

int run(const char* path) {
  std::ofstream file(path);
  file << nlohmann::json{{"command", fmt::format("bench_space {}", path)}}.dump() << '\n';
  for (const KeplerLimits& limits : {KeplerLimits{64, 8}, KeplerLimits{128, 16}, KeplerLimits{256, 64}})
    file << walk(limits).dump() << '\n';
  if (!file.flush()) io_fault("FILE", "FILE = '{}' cannot be written", path);
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_space", argc, 1, "FILE",
                                        [&] { return tilewright::run(argv[1]); });
}
