// Operands of valid calls: three problems of 3 x 4 times 4 x 2 in memory that ends far behind what a call may
// use, so that a spoiled size that is taken does no harm.
#pragma once

#include <algorithm>

#include "golden/messages.hpp"

namespace tilewright::golden {

inline constexpr std::int64_t m = 3, n = 2, k = 4, batch = 3;

struct Operands {
  static constexpr std::size_t room = 512;
  static constexpr double untouched = -7;

  std::vector<double> a = std::vector<double>(room, 1.0);
  std::vector<double> b = std::vector<double>(room, 1.0);
  std::vector<double> c = std::vector<double>(room, untouched);
  // Alpha and beta, as many as there are problems.
  std::vector<double> alphas = std::vector<double>(16, 1.0);
  std::vector<double> betas = std::vector<double>(16, 0.0);

  const double* a_pointers[batch] = {&a[0], &a[m * k], &a[2 * m * k]};
  const double* b_pointers[batch] = {&b[0], &b[k * n], &b[2 * k * n]};
  double* c_pointers[batch] = {&c[0], &c[m * n], &c[2 * m * n]};

  Operands() = default;
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  // "wrote 0 2": the problems whose C has changed, of batches that have one behind the other.
  std::string written() const {
    std::string text = "wrote";
    for (std::int64_t p = 0; p < batch; ++p) {
      const auto first = c.begin() + p * m * n;
      if (std::any_of(first, first + m * n, [](double x) { return x != untouched; }))
        text += " " + std::to_string(p);
    }
    return text == "wrote" ? "wrote nothing" : text;
  }
  std::vector<Area> areas() const {
    return {input("a", a), input("b", b), output("c", c), input("alpha", alphas), input("beta", betas)};
  }
};

}  // namespace tilewright::golden
