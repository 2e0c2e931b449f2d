// A bounded cache of plans by problem and options.
#pragma once

#include <cstddef>
#include <memory>

#include "core/bounded_map.hpp"
#include "core/fields.hpp"

namespace tilewright {

// Bounded, since a program may never repeat a problem; an evicted plan is cheap: its kernel stays cached.
template <class Problem, class Options, class Plan>
class PlanCache {
 public:
  using Shared = std::shared_ptr<const Plan>;

  // Returns null if the plan is absent.
  Shared find(const Problem& problem, const Options& options) const {
    return plans_.find(View(problem, options));
  }
  // Returns the cached plan; if there is none, adds `plan` and returns it.
  Shared add(const Problem& problem, const Options& options, Shared plan) {
    return plans_.add(Key{problem, options}, std::move(plan));
  }
  // Adds or replaces the plan. It is not evicted, as long as fewer plans are kept than the cache holds.
  void keep(const Problem& problem, const Options& options, Shared plan) {
    plans_.keep(Key{problem, options}, std::move(plan));
  }
  // Removes the plans for which f(plan) is true.
  template <class F>
  void forget_if(F&& f) {
    plans_.erase_if(std::forward<F>(f));
  }

 private:
  static constexpr std::size_t largest_count = 4096;
  using Key = std::pair<Problem, Options>;
  using View = std::pair<const Problem&, const Options&>;  // lookups copy nothing
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
