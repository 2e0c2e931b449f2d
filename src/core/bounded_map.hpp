// Shared objects found again by a key, by many threads at once, and at most so many of them, or so much of
// what each is said to weigh. It makes none.
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

// Where a new object needs room, one goes that was not asked for lately: in turn each that was asked for
// since its last turn stays for another one, so that a look-up moves nothing. Kept objects have no turn. What
// goes is destroyed when no lock is held, because that may take long: a GPU's module waits for its device.
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class BoundedMap {
 public:
  using Value = std::shared_ptr<const T>;

  // Of what an object weighs; every one weighs 1 where nothing is said.
  using Weigh = std::size_t (*)(const Value& value);

  explicit BoundedMap(std::size_t largest, Weigh weigh = nullptr) : largest_(largest), weigh_(weigh) {}

  // Null where there is none.
  template <class K>
  Value find(const K& key) const {
    const std::shared_lock lock(mutex_);
    const auto it = entries_.find(key);
    if (it == entries_.end()) return nullptr;
    if (!it->second.used.load(std::memory_order_relaxed)) it->second.used = true;
    return it->second.value;
  }

  // What is there already, else `value`, which then is.
  Value add(const Key& key, Value value) {
    std::vector<Value> dropped;
    const std::unique_lock lock(mutex_);
    if (const auto it = entries_.find(key); it != entries_.end()) return it->second.value;
    place(key, value, dropped);
    return value;
  }

  // What is there already, else what make() makes. It is called under no lock, so that no reader waits behind
  // it: two threads may make the same, and the first to finish keeps its place.
  template <class Make>
  Value get(const Key& key, Make&& make) {
    if (Value value = find(key)) return value;
    return add(key, make());
  }

  // Takes the place of what is there. It is kept until erase_if() takes it, while what is kept weighs less
  // than the most.
  void keep(const Key& key, Value value) {
    std::vector<Value> dropped;
    const std::unique_lock lock(mutex_);
    if (const auto it = entries_.find(key); it != entries_.end()) erase(it, dropped);
    Entry& entry = place(key, std::move(value), dropped);
    if (kept_weight_ >= largest_) return;
    entry.kept = true;
    kept_weight_ += entry.weight;
  }

  // Forgets those of which f(value) says so.
  template <class F>
  void erase_if(F&& f) {
    std::vector<Value> dropped;
    const std::unique_lock lock(mutex_);
    std::erase_if(turns_, [&](Node* node) { return node->second.kept || f(*node->second.value); });
    for (auto it = entries_.begin(); it != entries_.end();)
      it = f(*it->second.value) ? forget(it, dropped) : std::next(it);
  }

 private:
  struct Entry {
    Value value;
    std::size_t weight = 0;
    bool kept = false;
    mutable std::atomic<bool> used = false;  // since its last turn
  };
  using Entries = std::unordered_map<Key, Entry, Hash, Equal>;
  using Node = typename Entries::value_type;

  Entry& place(const Key& key, Value value, std::vector<Value>& dropped) {
    const std::size_t weight = weigh_ == nullptr ? 1 : weigh_(value);
    while (!turns_.empty() && weight_ - kept_weight_ + weight > largest_) take_turn(dropped);
    Node& node = *entries_.try_emplace(key).first;
    node.second.value = std::move(value);
    node.second.weight = weight;
    weight_ += weight;
    turns_.push_back(&node);
    return node.second;
  }
  void take_turn(std::vector<Value>& dropped) {
    Node* node = turns_.front();
    turns_.pop_front();
    if (node->second.kept) return;
    if (node->second.used.exchange(false)) return turns_.push_back(node);
    forget(entries_.find(node->first), dropped);
  }
  // That takes no turn.
  typename Entries::iterator forget(typename Entries::iterator it, std::vector<Value>& dropped) {
    weight_ -= it->second.weight;
    if (it->second.kept) kept_weight_ -= it->second.weight;
    dropped.push_back(std::move(it->second.value));
    return entries_.erase(it);
  }
  void erase(typename Entries::iterator it, std::vector<Value>& dropped) {
    std::erase(turns_, &*it);
    forget(it, dropped);
  }

  const std::size_t largest_;
  const Weigh weigh_;
  mutable SharedMutex mutex_;
  Entries entries_;
  std::deque<Node*> turns_;
  std::size_t weight_ = 0, kept_weight_ = 0;  // of all, and of those kept
};

}  // namespace tilewright
