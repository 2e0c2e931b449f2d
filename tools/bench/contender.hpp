// Who is timed on one case: ours, the peers that take it, and the loops that bound it. All are timed in turn
// in the same rounds, so one struct describes them; what they run on is a machine's.
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

// A peer that is given a strided batch where ours has another layout is judged apart. Loops of the last kind
// are told, but bound nothing.
enum class Role { ours, peer, strided_peer, memory_loop, l2_loop, compute_loop, other_loop };

struct Contender {
  Role role = Role::peer;
  std::string impl;
  std::string version{};
  std::string variant{};  // of several ways of being called; of ours the config, where several are tried
  std::string what{};     // of a family that times several parts: which
  Layout stored = Layout::strided;
  // Runs once on a batch. Cold: any of the ring, with all threads. Hot: that of the calling thread, on it
  // alone.
  std::function<void(std::int64_t batch)> run{};
  std::function<Accuracy()> check{};       // runs it on the first batch; empty for loops
  std::shared_ptr<const GemmPlan> plan{};  // ours only
  double work = 0;                         // of a loop: bytes or operations of one run
  std::int64_t runs = 0;                   // in a turn; 0 until the first turn has told
  std::vector<double> rounds{};            // seconds of one run; hot with several threads: of one on each
  Estimate seconds{};                      // of these
  Accuracy accuracy{};
  std::vector<double> weighings{};  // joules of one run, by windows under steady load
  std::optional<double> joules{};   // their median
  double watts = 0;                 // of that load
  std::string energy_note = "bench weighs no case of this kind";  // why there are no joules
  int moved = 0;  // how many of several runs gave other bits than the first

  bool is_loop() const { return role >= Role::memory_loop; }
  double rate() const { return work / seconds.centre; }  // of a loop
};

// An implementation that does not take part, and why.
struct Absence {
  std::string impl;
  std::string reason;
  bool wrong = false;  // it ran and its result was wrong
};

}  // namespace tilewright::bench
