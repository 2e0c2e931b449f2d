// Finds the fastest of a plan's best offers from the calls that a program makes anyway. The object keeps no
// clock and runs nothing: its user says how long each call took. Not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

namespace tilewright {

class CallLearner {
 public:
  // After so many calls it has decided. Trials of offers that are slower than the fastest cost at most
  // `most_lost` calls of the fastest in all, as long as no offer takes more than twice as long as expected.
  static constexpr int most_calls = 100;
  static constexpr double most_lost = 0.05 * most_calls;

  // `expected` holds a time for each offer in one unit; the first offer is the plan's choice.
  explicit CallLearner(std::vector<double> expected);

  // Returns the offer that the next call should try: the one that was tried least. Drops those whose next
  // trial would cost too much.
  std::size_t next();
  // Adds what a call took that ran this offer. The first call of each offer counts little: it also loads
  // code.
  void add(std::size_t offer, double seconds);
  bool has_decided() const { return decided_; }
  // The fastest offer as far as is known; the last word once it has decided.
  std::size_t leader() const;
  // A typical time of the offer; 0 if no call ran it.
  double seconds(std::size_t offer) const;
  // Times of the offer in the order of the calls.
  const std::vector<double>& times(std::size_t offer) const { return offers_[offer].times; }
  int calls() const { return calls_; }

 private:
  void decide();  // by what is known

  struct Offered {
    double expected = 1;
    std::vector<double> times{};
    bool dropped = false;
  };

  // Time over that of another offer: of the first calls if one of them was called once.
  double ratio(std::size_t offer, std::size_t to) const;
  double lost() const;
  bool is_slower(std::size_t offer, std::size_t than) const;
  std::vector<std::size_t> remaining() const;

  std::vector<Offered> offers_;
  int calls_ = 0;
  bool decided_ = false;
  std::size_t decision_ = 0;
};

}  // namespace tilewright
