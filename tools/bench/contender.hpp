// The implementations that are timed on one case: tilewright, the peers that support it, and the loops that
// bound it. All are timed in alternation in the same rounds, so one struct describes them; the machine
// provides what they run on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/accuracy.hpp"
#include "measure/estimate.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::bench {

// A peer that runs a strided batch where tilewright has another layout is judged separately. Loops of the
// last kind are reported, but bound nothing.
enum class Role { ours, peer, strided_peer, memory_loop, l2_loop, compute_loop, other_loop };

struct Contender {
  Role role = Role::peer;
  std::string impl;
  std::string version{};
  std::string variant{};  // the call, if a peer has several; the config, if several are tried
  std::string what{};     // the part that is timed, in a family that times several
  Layout stored = Layout::strided;
  // Runs once on a batch: with cold operands, any of the ring, with all threads; with hot operands, the
  // calling thread's batch, on that thread alone.
  std::function<void(std::int64_t batch)> run{};
  std::function<Accuracy()> check{};       // runs it on the first batch; empty for loops
  std::shared_ptr<const GemmPlan> plan{};  // tilewright only
  double work = 0;                         // for a loop: bytes or operations of one run
  std::int64_t runs = 0;                   // in a sample; 0 before the first sample
  std::vector<double> rounds{};            // seconds of one run; hot with several threads: of one run on each
  Estimate seconds{};                      // estimated from `rounds`
  Accuracy accuracy{};
  std::vector<double> weighings{};  // joules of one run, by windows under steady load
  std::optional<double> joules{};   // median of `weighings`
  double watts = 0;                 // under that load
  std::string energy_note = "bench weighs no case of this kind";  // why there are no joules
  int moved = 0;  // runs of several that gave other bits than the first

  bool is_loop() const { return role >= Role::memory_loop; }
  double rate() const { return work / seconds.centre; }  // for a loop
};

// An implementation that does not take part, and the reason.
struct Absence {
  std::string impl;
  std::string reason;
  bool wrong = false;  // it ran and its result was wrong
};

}  // namespace tilewright::bench
