// Classes, their trees, and the search for the nearest.
#include "wisdom/index.hpp"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

constexpr std::size_t leaf_size = 8;
// Bounds (differences of logarithms) and distances (logarithms of ratios) round differently.
constexpr double bound_slack = 1e-9;

double logarithm(std::int64_t size) { return std::log(double(std::max<std::int64_t>(1, size))); }

// The middle element divides a part: before it are none larger along the axis, after it none smaller.
void make_tree(KnownShape* first, std::size_t count, std::size_t axis) {
  if (count <= leaf_size) return;
  const std::size_t middle = count / 2, next = (axis + 1) % 3;
  std::nth_element(first, first + middle, first + count,
                   [axis](const KnownShape& x, const KnownShape& y) { return x.size[axis] < y.size[axis]; });
  make_tree(first, middle, next);
  make_tree(first + middle + 1, count - middle - 1, next);
}

void set_shape(GemmProblem& problem, const std::array<std::int64_t, 3>& size) {
  problem.m = size[0], problem.n = size[1], problem.k = size[2];
}

}  // namespace

void ShapeIndex::add(const std::string& device, const GemmProblem& problem, std::int64_t number) {
  const std::int64_t traits = packed_traits(problem);
  const auto [at, is_new] = devices_[device].try_emplace(
      {traits, problem.block, tail_rows(problem, architecture_)}, Class{problem, {}, {}, {}});
  if (is_new) unpack_traits(traits, at->second.problem);
  at->second.shapes.push_back({{problem.m, problem.n, problem.k}, problem.batch_count, number, nullptr});
}

void ShapeIndex::build() {
  for (auto& [device, classes] : devices_)
    for (auto& [traits, one] : classes) {
      one.low = one.high = one.shapes.front().size;
      for (const KnownShape& shape : one.shapes)
        for (std::size_t axis = 0; axis < 3; ++axis) {
          one.low[axis] = std::min(one.low[axis], shape.size[axis]);
          one.high[axis] = std::max(one.high[axis], shape.size[axis]);
        }
      make_tree(one.shapes.data(), one.shapes.size(), 0);
    }
}

bool ShapeSearch::Part::operator<(const Part& other) const {
  if (score != other.score) return score > other.score;
  if ((count == 0) != (other.count == 0)) return count == 0;  // a part may hold an equal record
  if (source != other.source) return source > other.source;
  return count == 0 && first->number < other.first->number;
}

ShapeSearch::ShapeSearch(const WisdomQuery& query, WisdomStage stage)
    : query_(query),
      near_(stage == WisdomStage::near_shape || stage == WisdomStage::near_elsewhere),
      elsewhere_(stage == WisdomStage::exact_elsewhere || stage == WisdomStage::near_elsewhere),
      size_{query.problem.m, query.problem.n, query.problem.k} {}

void ShapeSearch::add(const std::shared_ptr<ShapeIndex>& index, std::size_t source) {
  if (index == nullptr) return;
  indexes_.push_back(index);
  const GemmProblem& asked = query_.problem;
  for (auto& [device, classes] : index->devices_) {
    if (is_same_device(query_.device, device) == elsewhere_) continue;
    const double away = device_penalty(query_.device, device);
    for (auto& [traits, one] : classes) {
      GemmProblem same = one.problem;
      set_shape(same, size_);
      if (near_ ? !fills_alike(asked, same, query_.architecture) : !is_exact(asked, same)) continue;
      same = one.problem, same.batch_count = asked.batch_count;  // the nearest batch
      const double penalty = trait_penalty(asked, same, query_.architecture) + away;
      Part all{0, source, &one.problem, away, penalty, one.shapes.data(), one.shapes.size(), 0, {}};
      for (std::size_t axis = 0; axis < 3; ++axis)
        all.gap[axis] = std::max({0.0, logarithm(one.low[axis]) - logarithm(size_[axis]),
                                  logarithm(size_[axis]) - logarithm(one.high[axis])});
      add_part(all);
    }
  }
}

void ShapeSearch::add_part(Part part) {
  const double distance = part.gap[0] + part.gap[1] + part.gap[2] - bound_slack;
  if (part.count == 0 || distance > (near_ ? shape_radius : 0)) return;
  part.score = std::max(0.0, distance) + part.penalty - bound_slack;
  parts_.push(part);
}

void ShapeSearch::add_record(const Part& leaf, KnownShape& shape) {
  ++seen_count_;
  const GemmProblem& asked = query_.problem;
  GemmProblem known = *leaf.problem;
  set_shape(known, shape.size);
  known.batch_count = shape.batch_count == ShapeIndex::unknown_batch ? asked.batch_count : shape.batch_count;
  const double distance = shape_distance(asked, known);
  if (is_exact(asked, known) ? near_ : (!near_ || distance > shape_radius)) return;
  Part record = leaf;
  record.score = distance + trait_penalty(asked, known, query_.architecture) + leaf.away;
  record.first = &shape, record.count = 0;
  parts_.push(record);
}

std::optional<ShapeSearch::Found> ShapeSearch::next() {
  while (!parts_.empty()) {
    const Part part = parts_.top();
    parts_.pop();
    if (part.count == 0) return Found{part.first, part.source, part.score};
    if (part.count <= leaf_size) {
      for (std::size_t i = 0; i < part.count; ++i) add_record(part, part.first[i]);
      continue;
    }
    const std::size_t middle = part.count / 2, axis = part.axis;
    add_record(part, part.first[middle]);
    const double from = logarithm(part.first[middle].size[axis]) - logarithm(size_[axis]);
    Part below = part, above = part;
    below.axis = above.axis = (axis + 1) % 3;
    below.count = middle, below.gap[axis] = std::max(part.gap[axis], -from);
    above.first += middle + 1, above.count -= middle + 1, above.gap[axis] = std::max(part.gap[axis], from);
    add_part(below), add_part(above);
  }
  return std::nullopt;
}

}  // namespace tilewright
