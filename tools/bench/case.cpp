// Describes cases in words and keys.
#include "bench/case.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/input/checked.hpp"

namespace tilewright::bench {

bool Plan::wants(const std::string& peer) const {
  return all_peers || std::find(peers.begin(), peers.end(), peer) != peers.end();
}

std::string problem_text(const Case& c) {
  if (c.form != nullptr) return c.form->problem(c);
  GemmProblem problem = c.problem;
  problem.layout = c.layout;
  return to_string(problem);
}

std::string size_text(const GemmProblem& p) {
  return p.m == p.n && p.n == p.k ? fmt::format("{}", p.m) : fmt::format("{}x{}x{}", p.m, p.n, p.k);
}

std::string case_text(const Case& c) {
  std::string text = fmt::format("{} {} {} {} b{:g}", to_string(c.problem.dtype), op_pair(c.problem),
                                 size_text(c.problem), to_string(c.problem.residency), c.beta);
  if (c.problem.arrival != Arrival::back_to_back) text += " " + to_string(c.problem.arrival);
  if (c.layout != Layout::strided) text += fmt::format(" {}", to_string(c.layout));
  if (c.pointer_order == PointerOrder::random) text += " random";
  if (!c.on_device() && c.threads != 1) text += fmt::format(" t{}", c.threads);
  if (!c.numa.empty()) text += fmt::format(" {}", c.numa);
  return text;
}

nlohmann::json product_keys(const GemmProblem& p) {
  nlohmann::json keys{{"dtype", to_string(p.dtype)}, {"op", op_pair(p)}, {"layout", to_string(p.layout)}};
  keys["m"] = p.m, keys["n"] = p.n, keys["k"] = p.k;
  keys["lda"] = p.lda, keys["ldb"] = p.ldb, keys["ldc"] = p.ldc;
  keys["batch_count"] = p.batch_count;
  keys["residency"] = to_string(p.residency), keys["location"] = to_string(p.location);
  keys["arrival"] = to_string(p.arrival);
  keys["memory"] = p.location == Location::host ? nlohmann::json("pageable") : nlohmann::json();
  keys["pointer_order"] = "sequential", keys["numa"] = nullptr;
  return keys;
}

nlohmann::json case_keys(const Case& c) {
  using nlohmann::json;
  if (c.form != nullptr) return c.form->keys(c);
  json object = product_keys(c.problem);
  object["family"] = c.family;
  object["problem"] = problem_text(c);
  object["layout"] = to_string(c.layout);
  object["alpha"] = c.alpha, object["beta"] = c.beta;
  object["pointer_order"] = to_string(c.pointer_order);
  object["numa"] = c.numa.empty() ? json() : json(c.numa);
  object["threads"] = c.on_device() ? json() : json(c.threads);
  object["target"] = c.target;
  object["data"] = to_string(c.data);
  return object;
}

GemmProblem planned_problem(const Case& c) {
  GemmProblem p = c.problem;
  if (c.layout != Layout::variable || !c.on_device()) return p;
  p.layout = Layout::variable;
  p.lda = p.ldb = p.ldc = p.stride_a = p.stride_b = p.stride_c = 0;
  return packed(p);
}

std::int64_t device_batch_count(const GemmProblem& p, std::size_t operand_bytes) {
  std::int64_t largest = 1;  // elements between two problems
  for (const std::int64_t elements : {std::max(p.stride_a, saturating_product(p.lda, p.a_cols())),
                                      std::max(p.stride_b, saturating_product(p.ldb, p.b_cols())),
                                      std::max(p.stride_c, saturating_product(p.ldc, p.n))})
    largest = std::max(largest, elements);
  std::int64_t bytes = saturating_product(largest, size_bytes(p.dtype));
  if (p.layout == Layout::pointer)
    bytes = saturating_sum((bytes - 1) / 32 * 32, 32);  // each matrix begins in its own sector
  const std::int64_t count = std::int64_t(operand_bytes) / bytes;
  const std::int64_t in_block = std::max<std::int64_t>(1, p.block);
  return std::max(in_block, count / in_block * in_block);
}

}  // namespace tilewright::bench
