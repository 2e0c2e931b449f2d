// Plans already made, found again by the whole problem and the options.
#pragma once

#include <cstddef>
#include <memory>

#include "core/bounded_map.hpp"
#include "core/fields.hpp"

namespace tilewright {

// Bounded: a program that never repeats a problem must not grow for ever, and a dropped plan is cheap to make
// again because its kernel stays cached. Problems have a field list, both can be compared.
template <class Problem, class Options, class Plan>
class PlanCache {
 public:
  using Shared = std::shared_ptr<const Plan>;

  // Null where there is none.
  Shared find(const Problem& problem, const Options& options) const {
    return plans_.find(View(problem, options));
  }
  // Returns the plan that is there already, else `plan`, which is then kept.
  Shared add(const Problem& problem, const Options& options, Shared plan) {
    return plans_.add(Key{problem, options}, std::move(plan));
  }
  // Takes the place of what is there and makes way for none until it is forgotten, unless as many as the
  // cache holds are kept already.
  void keep(const Problem& problem, const Options& options, Shared plan) {
    plans_.keep(Key{problem, options}, std::move(plan));
  }
  // Forgets those of which f(plan) says so.
  template <class F>
  void forget_if(F&& f) {
    plans_.erase_if(std::forward<F>(f));
  }

 private:
  static constexpr std::size_t largest_count = 4096;
  using Key = std::pair<Problem, Options>;
  using View = std::pair<const Problem&, const Options&>;  // for lookups, so that they copy nothing
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const auto& key) const { return hash_fields(key.first); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& x, const auto& y) const { return x.first == y.first && x.second == y.second; }
  };

  BoundedMap<Key, Plan, Hash, Equal> plans_{largest_count};
};

}  // namespace tilewright
