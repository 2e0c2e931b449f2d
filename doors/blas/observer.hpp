// What the program calls, by shape: who served it, how often and in which time. Kept where TILEWRIGHT_VERBOSE
// or TILEWRIGHT_RECORD ask for it, up to a number of shapes; safe with threads and forks. The log is written
// at growing intervals and when the process ends.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "blas/counterpart.hpp"
#include "tilewright/problem.hpp"

namespace tilewright::blas {

// Who served a call.
enum class Server : std::uint8_t { here, counterpart, nobody };

// One call while it runs: notes it when it ends. Of calls that it makes on the same thread, time and
// operations are theirs and not its own.
class Observed {
 public:
  Observed(const Counterpart& routine, const Found& found);
  ~Observed();
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

  // What is computed: products or batches of them, which go to the record, or something else in words.
  // Nothing is noted of a call without.
  void computes(const GemmProblem& problem) { problems_.push_back(problem); }
  void computes(std::string text, double flops) {
    text_ = std::move(text);
    flops_ = flops;
  }
  void served(Server server) { server_ = server; }
  // Its products of shapes that were not noted before.
  std::vector<GemmProblem> new_problems() const;
  // The clock begins anew.
  void starts() { begin_ = std::chrono::steady_clock::now(); }

 private:
  const Counterpart& routine_;
  const Found& found_;
  Observed* const outer_;
  Server server_ = Server::nobody;
  std::vector<GemmProblem> problems_;
  std::string text_;
  double flops_ = 0;
  double inner_s_ = 0, inner_flops_ = 0;  // of calls that this one made
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace tilewright::blas
