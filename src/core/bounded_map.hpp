// Shared objects found again by a key, by many threads at once, and at most so many of them. It makes none.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright {

// Where a new object needs room, one goes that was not asked for lately: in turn each that was asked for
// since its last turn stays for another one, so that a look-up moves nothing. Kept objects have no turn. What
// goes is destroyed when no lock is held, because that may take long: a GPU's module waits for its device.
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class BoundedMap {
 public:
  using Value = std::shared_ptr<const T>;

  explicit BoundedMap(std::size_t largest_count) : largest_count_(largest_count) {}

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
    Value dropped;
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

  // Takes the place of what is there. It is kept until erase_if() takes it, while fewer than the largest
  // count are.
  void keep(const Key& key, Value value) {
    Value dropped;
    const std::unique_lock lock(mutex_);
    const auto it = entries_.find(key);
    Entry& entry = it == entries_.end() ? place(key, nullptr, dropped) : it->second;
    entry.value.swap(value);
    if (entry.kept || kept_count_ >= largest_count_) return;
    entry.kept = true;
    ++kept_count_;
  }

  // Forgets those of which f(value) says so.
  template <class F>
  void erase_if(F&& f) {
    std::vector<Value> dropped;
    const std::unique_lock lock(mutex_);
    std::deque<Node*> turns;
    for (Node* node : turns_)
      if (!node->second.kept && !f(*node->second.value)) turns.push_back(node);
    turns_.swap(turns);
    for (auto it = entries_.begin(); it != entries_.end();) {
      if (!f(*it->second.value)) {
        ++it;
        continue;
      }
      if (it->second.kept) --kept_count_;
      dropped.push_back(std::move(it->second.value));
      it = entries_.erase(it);
    }
  }

 private:
  struct Entry {
    Value value;
    bool kept = false;
    mutable std::atomic<bool> used = false;  // since its last turn
  };
  using Entries = std::unordered_map<Key, Entry, Hash, Equal>;
  using Node = typename Entries::value_type;

  Entry& place(const Key& key, Value value, Value& dropped) {
    while (turns_.size() >= largest_count_ && dropped == nullptr) take_turn(dropped);
    Node& node = *entries_.try_emplace(key).first;
    node.second.value = std::move(value);
    turns_.push_back(&node);
    return node.second;
  }
  void take_turn(Value& dropped) {
    Node* node = turns_.front();
    turns_.pop_front();
    if (node->second.kept) return;
    if (node->second.used.exchange(false)) return turns_.push_back(node);
    dropped = std::move(node->second.value);
    entries_.erase(entries_.find(node->first));
  }

  const std::size_t largest_count_;
  mutable std::shared_mutex mutex_;
  Entries entries_;
  std::deque<Node*> turns_;
  std::size_t kept_count_ = 0;
};

}  // namespace tilewright
