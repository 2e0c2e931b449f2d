// Counts what each filter cuts off the search space of Anzt 2015 (Fig. 3 and section 2.3.2): of the branches
// of the walk that reach it, those that it refuses. No kernel and no GPU is needed.
#include "program.hpp"
#include "support/kepler_space.hpp"

namespace tilewright::bench {
namespace {

int run() {
  const KeplerLimits limits{256, 64};
  std::uint64_t survivors = 0;
  std::vector<Removed> removed;
  const Space<KeplerConfig> space = kepler::stencil(limits);
  space.visit([&](const KeplerConfig&) { ++survivors; }, {}, &removed);
  int number = 0;
  for (const Removed& one : removed) {
    const nlohmann::json line{{"family", "space"},
                              {"number", ++number},
                              {"filter", one.reason},
                              {"after", one.after},
                              {"asked", one.asked},
                              {"cut", one.cut},
                              {"axes", space.axis_names().size()},
                              {"points", kepler::raw_points(limits)},
                              {"survivors", survivors},
                              {"cut_percent", one.asked > 0 ? 100 * double(one.cut) / double(one.asked) : 0}};
    std::printf("%s\n", line.dump().c_str());
  }
  return 0;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  tilewright::bench::print_command(argc, argv);
  return tilewright::bench::run_program("bench_pruning", tilewright::bench::run);
}
