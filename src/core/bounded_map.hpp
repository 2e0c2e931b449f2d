// A cache of shared objects by key, for many threads, bounded by number or by the sum of weights.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/host/fork_gate.hpp"

namespace tilewright {

// Eviction is by the clock algorithm (second chance), so that a look-up moves nothing. Entries added by
// keep() are not evicted. Evicted objects die outside the lock: a GPU's module waits for its device.
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class BoundedMap {
 public:
  using Value = std::shared_ptr<const T>;

  // Returns the weight of an object. Without such a function each object weighs 1.
  using Weigh = std::size_t (*)(const Value& value);

  explicit BoundedMap(std::size_t largest, Weigh weigh = nullptr) : largest_(largest), weigh_(weigh) {}

  // Returns null if the key is absent.
  template <class K>
  Value find(const K& key) const {
    const std::shared_lock lock(mutex_);
    const auto it = entries_.find(key);
    if (it == entries_.end()) return nullptr;
    if (!it->second.used.load(std::memory_order_relaxed)) it->second.used = true;
    return it->second.value;
  }

  // Returns the object under `key`; if there is none, adds `value` and returns it.
  Value add(const Key& key, Value value) {
    std::vector<Value> dropped;
    const std::unique_lock lock(mutex_);
    if (const auto it = entries_.find(key); it != entries_.end()) return it->second.value;
    place(key, value, dropped);
    return value;
  }

  // Returns the object under `key`; if there is none, adds the result of make(). make() is called without a
  // lock: two threads may make the same object, and the first to finish is kept.
  template <class Make>
  Value get(const Key& key, Make&& make) {
    if (Value value = find(key)) return value;
    return add(key, make());
  }

  // Adds or replaces an object that stays until erase_if(), while kept ones weigh less than the limit.
  void keep(const Key& key, Value value) {
    std::vector<Value> dropped;
    const std::unique_lock lock(mutex_);
    if (const auto it = entries_.find(key); it != entries_.end()) erase(it, dropped);
    Entry& entry = place(key, std::move(value), dropped);
    if (kept_weight_ >= largest_) return;
    entry.kept = true;
    kept_weight_ += entry.weight;
  }

  // Removes the objects for which f(value) is true.
  template <class F>
  void erase_if(F&& f) {
    std::vector<Value> dropped;
    const std::unique_lock lock(mutex_);
    std::erase_if(clock_, [&](Node* node) { return node->second.kept || f(*node->second.value); });
    for (auto it = entries_.begin(); it != entries_.end();)
      it = f(*it->second.value) ? forget(it, dropped) : std::next(it);
  }

 private:
  struct Entry {
    Value value;
    std::size_t weight = 0;
    bool kept = false;
    mutable std::atomic<bool> used = false;  // since the clock hand last passed this entry
  };
  using Entries = std::unordered_map<Key, Entry, Hash, Equal>;
  using Node = typename Entries::value_type;

  Entry& place(const Key& key, Value value, std::vector<Value>& dropped) {
    const std::size_t weight = weigh_ == nullptr ? 1 : weigh_(value);
    while (!clock_.empty() && weight_ - kept_weight_ + weight > largest_) move_hand(dropped);
    Node& node = *entries_.try_emplace(key).first;
    node.second.value = std::move(value);
    node.second.weight = weight;
    weight_ += weight;
    clock_.push_back(&node);
    return node.second;
  }
  void move_hand(std::vector<Value>& dropped) {
    Node* node = clock_.front();
    clock_.pop_front();
    if (node->second.kept) return;
    if (node->second.used.exchange(false)) return clock_.push_back(node);
    forget(entries_.find(node->first), dropped);
  }
  // Removes an entry that is not, or no longer, in clock_.
  typename Entries::iterator forget(typename Entries::iterator it, std::vector<Value>& dropped) {
    weight_ -= it->second.weight;
    if (it->second.kept) kept_weight_ -= it->second.weight;
    dropped.push_back(std::move(it->second.value));
    return entries_.erase(it);
  }
  void erase(typename Entries::iterator it, std::vector<Value>& dropped) {
    std::erase(clock_, &*it);
    forget(it, dropped);
  }

  const std::size_t largest_;
  const Weigh weigh_;
  mutable SharedMutex mutex_;
  Entries entries_;
  std::deque<Node*> clock_;
  std::size_t weight_ = 0, kept_weight_ = 0;  // of all entries, and of the kept ones
};

}  // namespace tilewright
