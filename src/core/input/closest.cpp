// Measures similarity by edits: insertions, deletions, substitutions, and exchanges of neighbours.
#include "core/input/closest.hpp"

#include <algorithm>

namespace tilewright {
namespace {

std::string without_capitals(std::string_view word) {
  std::string all(word);
  for (char& c : all)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return all;
}

std::size_t count_edits(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> cost(from.size() + 1, std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= to.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i)
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = cost[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[from.size()][to.size()];
}

bool shortens(std::string_view brief, std::string_view word) {
  std::size_t found = 0;
  for (const char c : word)
    if (found < brief.size() && c == brief[found]) ++found;
  return found == brief.size() && brief.front() == word.front();
}

}  // namespace

std::string closest(std::string_view word, const std::vector<std::string>& words) {
  constexpr std::size_t longest = 64, least_letters_in_order = 4;
  if (word.size() < 3 || word.size() > longest) return "";
  const std::string asked = without_capitals(word);
  std::string best;
  std::size_t least = word.size() <= 3 ? 2 : word.size() <= 7 ? 3 : 4;  // fewer edits than this
  for (const std::string& one : words)
    if (const std::size_t count = count_edits(asked, without_capitals(one));
        count < least && count < one.size())
      least = count, best = one;
  if (!best.empty() || word.size() < least_letters_in_order) return best;
  const auto it = std::find_if(words.begin(), words.end(), [&](const std::string& one) {
    return !one.empty() && shortens(asked, without_capitals(one));
  });
  return it == words.end() ? "" : *it;
}

}  // namespace tilewright
