// The only include of nlohmann's JSON. The destructor of a JSON value allocates and ends the process if there
// is no memory; here such a request is served from a reserve.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <nlohmann/json_fwd.hpp>
#include <type_traits>

namespace tilewright::json_reserve {

// Blocks are cut off one after the other; when all have been returned, the whole reserve is free again.
inline constexpr std::uint32_t reserve_bytes = 1 << 18;
alignas(16) inline constinit std::byte reserve[reserve_bytes]{};
// The number of blocks in use (upper half) and the bytes that were cut off (lower half).
inline constinit std::atomic<std::uint64_t> state{0};

// Returns null if the reserve is exhausted.
inline void* take(std::size_t bytes) noexcept {
  const std::uint64_t rounded = (bytes + 15) / 16 * 16;
  std::uint64_t before = state.load();
  for (;;) {
    const std::uint64_t used = before & 0xffffffff;
    if (rounded > reserve_bytes - used) return nullptr;
    if (state.compare_exchange_weak(before, before + (std::uint64_t(1) << 32) + rounded))
      return reserve + used;
  }
}
inline bool owns(const void* block) noexcept { return block >= reserve && block < reserve + reserve_bytes; }
inline void give_back() noexcept {
  std::uint64_t before = state.load();
  std::uint64_t after = 0;
  do after = before >> 32 == 1 ? 0 : before - (std::uint64_t(1) << 32);
  while (!state.compare_exchange_weak(before, after));
}

}  // namespace tilewright::json_reserve

// The allocator of vectors of JSON values, those that the destructor makes included.
template <>
class std::allocator<nlohmann::json> {
 public:
  using value_type = nlohmann::json;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;

  constexpr allocator() noexcept = default;
  template <class U>
  constexpr allocator(const allocator<U>&) noexcept {}  // NOLINT: as the general one

  [[nodiscard]] value_type* allocate(size_type count);
  void deallocate(value_type* values, size_type count) noexcept;

  friend constexpr bool operator==(const allocator&, const allocator&) noexcept { return true; }
};

#include <nlohmann/json.hpp>

inline nlohmann::json* std::allocator<nlohmann::json>::allocate(size_type count) {
  if (count > std::size_t(-1) / 2 / sizeof(value_type)) throw std::bad_array_new_length();
  const size_type bytes = count * sizeof(value_type);
  if (void* block = ::operator new(bytes, std::nothrow)) return static_cast<value_type*>(block);
  if (void* block = tilewright::json_reserve::take(bytes)) return static_cast<value_type*>(block);
  throw std::bad_alloc();
}

inline void std::allocator<nlohmann::json>::deallocate(value_type* values, size_type) noexcept {
  if (tilewright::json_reserve::owns(values))
    tilewright::json_reserve::give_back();
  else
    ::operator delete(values);
}
