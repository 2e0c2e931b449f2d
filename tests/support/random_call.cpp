// Draws choices, bounded in work so that a run meets many calls instead of a few large ones. It checks
// nothing.
#include "support/random_call.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace tilewright::testing {
namespace {

class Draw {
 public:
  explicit Draw(std::mt19937_64& random) : random_(random) {}

  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class Levels>
  auto of(const Levels& levels) {
    return levels[static_cast<std::size_t>(below(static_cast<std::int64_t>(levels.size())))];
  }
  std::int64_t length(std::int64_t longest) {
    const std::int64_t edge = of(cases::edge_lengths);
    if (one_in(3) && edge <= longest) return edge;
    return one_in(2) ? below(std::min<std::int64_t>(longest, 12) + 1) : below(longest + 1);
  }

 private:
  std::mt19937_64& random_;
};

}  // namespace

Call random_call(std::mt19937_64& random, std::int64_t longest) {
  Draw draw(random);
  Choices x;
  x.dtype = draw.of(cases::dtypes);
  x.layout = draw.of(cases::layouts);
  x.op_a = draw.of(cases::ops);
  x.op_b = draw.of(cases::ops);
  x.size = {draw.length(longest), draw.length(longest), draw.length(longest)};
  x.ld_padding = draw.one_in(2) ? 0 : draw.below(20);
  x.stride_padding = draw.one_in(2) ? 0 : draw.below(100);
  x.broadcast_a = draw.one_in(5);
  x.broadcast_b = draw.one_in(5);
  x.row_bands = draw.one_in(6);
  x.block = draw.one_in(2) ? draw.of(cases::block_sizes) : 1 + draw.below(70);
  x.batch_count = draw.one_in(2) ? draw.of(cases::batch_counts) : draw.below(200);
  const std::int64_t work = std::max<std::int64_t>(1, x.size.m * x.size.n * x.size.k);
  x.batch_count = std::min(x.batch_count, std::max<std::int64_t>(1, 400000 / work));
  if (x.layout == Layout::strided && x.batch_count > 0 && draw.one_in(2)) {
    x.outer_count = 1 + draw.below(5), x.outermost_count = draw.one_in(2) ? 1 : 1 + draw.below(4);
    x.batch_count = std::max<std::int64_t>(1, x.batch_count / (x.outer_count * x.outermost_count));
    x.level_order = static_cast<int>(draw.below(6));
    x.shared_a = static_cast<unsigned>(draw.one_in(2) ? draw.below(8) : 0);
    x.shared_b = static_cast<unsigned>(draw.one_in(2) ? draw.below(8) : 0);
  }
  x.alpha = draw.of(scalar_choices);
  x.beta = draw.of(scalar_choices);
  x.data = draw.one_in(2) ? Data::exact : Data::random;
  x.edge = draw.one_in(3) ? Edge::begin : Edge::end;
  x.seed = random();
  Call call = make_call(x);
  call.options.threads = static_cast<int>(draw.below(3));
  call.options.checked = draw.one_in(4);
  call.through_plan = draw.one_in(3) && x.layout != Layout::grouped && x.layout != Layout::variable;
  call.prepared = draw.one_in(2);
  // A fixed residency is the same for several batches together as for each of them.
  if (call.prepared) call.options.residency = Residency::l2;
  return call;
}

std::uint64_t random_seed() {
  if (const char* text = std::getenv("TILEWRIGHT_TEST_SEED")) return std::strtoull(text, nullptr, 10);
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

std::size_t random_calls() {
  const char* text = std::getenv("TILEWRIGHT_TEST_CALLS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
}

}  // namespace tilewright::testing
