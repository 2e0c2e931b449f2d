// Values of a field, what they need, and which of many are taken.
#include "gemm_small_axis.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace tilewright::bench {
namespace {

using C = GemmSmallConfig;

constexpr int warp = 32;
constexpr int largest_value = 1024;  // of the axes whose values nothing else lists

template <class M>
inline constexpr bool is_number = std::is_same_v<M, int> || std::is_same_v<M, bool>;

// Hands the member named `axis`, where it is a number, to `f`.
template <class F>
void with_member(const std::string& axis, F&& f) {
  for_each_field<C>([&](const auto& field) {
    using M = std::remove_cvref_t<decltype(C{}.*(field.member))>;
    if constexpr (is_number<M>)
      if (axis == field.name) f(field.member);
  });
}

std::vector<int> values_of(const std::string& axis, const GemmSmallShape& shape) {
  if (axis == "matrices_per_block") return gemm_small_tile_counts(shape);
  std::vector<int> values(largest_value + 1);
  std::iota(values.begin(), values.end(), 0);
  with_member(axis, [&]<class M>(M C::*) {
    if (std::is_same_v<M, bool>) values = {0, 1};
  });
  return values;
}

std::optional<C> legal(C config, const std::string& axis, const Space<C>& space) {
  if (space.contains(config)) return config;
  if (axis == "threads") return std::nullopt;
  while ((config.threads -= warp) >= warp)
    if (space.contains(config)) return config;
  return std::nullopt;
}

// Positions of `most` among `count`, evenly spread, the first, the last and `own` among them.
std::vector<std::size_t> spread(std::size_t count, std::size_t most, std::size_t own) {
  std::vector<std::size_t> positions(std::min(count, most));
  for (std::size_t i = 0; i < positions.size(); ++i)
    positions[i] = count <= most ? i : (i * (count - 1) + (most - 1) / 2) / (most - 1);
  const auto distance = [&](std::size_t at) { return at > own ? at - own : own - at; };
  if (positions.size() > 2 && own > 0 && own + 1 < count)
    *std::min_element(positions.begin() + 1, positions.end() - 1,
                      [&](auto x, auto y) { return distance(x) < distance(y); }) = own;
  return positions;
}

}  // namespace

void refuse_unknown_axis(const std::string& axis) {
  bool known = false;
  with_member(axis, [&](auto) { known = true; });
  if (known) return;
  std::string names;
  for_each_field<C>([&](const auto& field) {
    if constexpr (is_number<std::remove_cvref_t<decltype(C{}.*(field.member))>>)
      names += (names.empty() ? "" : ", ") + std::string(field.name);
  });
  throw Error(ErrorCode::invalid_argument, "--vary",
              fmt::format("--vary '{}' is not one of {}", axis, names));
}

int axis_value(const C& config, const std::string& axis) {
  int value = 0;
  with_member(axis, [&](auto member) { value = static_cast<int>(config.*member); });
  return value;
}

std::vector<C> configs_along(const std::string& axis, const C& base, const GemmSmallShape& shape,
                             const Space<C>& space, std::size_t most) {
  std::vector<C> all;
  std::size_t own = 0;
  for (const int value : values_of(axis, shape)) {
    C config = base;
    with_member(axis, [&]<class M>(M C::*member) { config.*member = static_cast<M>(value); });
    const auto found = legal(config, axis, space);
    if (!found) continue;
    if (value == axis_value(base, axis)) own = all.size();
    all.push_back(*found);
  }
  std::vector<C> some;
  for (const std::size_t position : spread(all.size(), most, own)) some.push_back(all[position]);
  return some;
}

}  // namespace tilewright::bench
