// Records the program's calls by shape: who served each, how often and in which time. Calls are recorded if
// TILEWRIGHT_VERBOSE or TILEWRIGHT_RECORD ask for it, up to a number of shapes; safe with threads and forks.
// The log is written at growing intervals and when the process ends.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "blas/counterpart.hpp"
#include "tilewright/problem.hpp"

namespace tilewright::blas {

// The implementation that served a call.
enum class Server : std::uint8_t { here, counterpart, nobody };

// One running call; it is recorded when it ends. Time and operations of calls that it makes on the same
// thread are counted for those calls and not for this one.
class Observed {
 public:
  Observed(const Counterpart& routine, const Found& found);
  ~Observed();
  Observed& operator=(Observed&&) = delete;

  // Sets the computation: products or batches, which go to the record, or another computation in words. A
  // call without a computation is not recorded.
  void computes(const GemmProblem& problem) { problems_.push_back(problem); }
  void computes(std::string text, double flops) {
    text_ = std::move(text);
    flops_ = flops;
  }
  void served(Server server) { server_ = server; }
  // Returns the call's products whose shapes were not noted before.
  std::vector<GemmProblem> new_problems() const;
  // Restarts the clock.
  void starts() { begin_ = std::chrono::steady_clock::now(); }

 private:
  const Counterpart& routine_;
  const Found& found_;
  Observed* const outer_;
  Server server_ = Server::nobody;
  std::vector<GemmProblem> problems_;
  std::string text_;
  double flops_ = 0;
  double inner_s_ = 0, inner_flops_ = 0;  // time and operations of calls that this one made
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace tilewright::blas
