// Keys and distances of records: the keys of an exact match, the keys that a neighbour must share, and the
// distance of two shapes, computed from problem, family and architecture. The store keeps keys beside each
// record: a change here needs a new schema version. Records of other operations than products have no keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/problem.hpp"

namespace tilewright {

struct WisdomQuery {
  std::string family;
  std::string architecture;
  GemmProblem problem;  // with a residency other than automatic, or nothing matches
  std::string objective = "time";
  std::string device = {};    // "": the device of the Wisdom
  std::string math = "full";  // or an emulation, whose configs do not suit full products
  std::string operation = "gemm";
};

// The parts of a record's problem: operation:...[:math=...]. Batches are of the same operation.
struct WisdomSubject {
  std::string operation;  // "" if the text names none
  std::string math = "full";
  std::optional<GemmProblem> problem;  // empty for an operation without keys
};
// Throws Error if the problem of a product cannot be read.
WisdomSubject subject_of(const std::string& text);

// Operation, math mode, dtype, ops (of real types c is t), m, n, k, layout (and block), beta class,
// residency, family and architecture; and the arrival, where it is not back_to_back.
std::string exact_key(const WisdomQuery& query);

// A neighbour must share it: a kernel of the same kind, in caches or not, that reads C or not, with calls
// that arrive alike.
std::string kind_key(const WisdomQuery& query);

// Differences that make another record, but are ignored by an exact match: leading dimensions, strides,
// alpha, location, and on a device the order of magnitude of the batch count. "" for the default ones.
std::string variant_key(const GemmProblem& problem);

// The fields besides the shape that ranking needs, in one number.
std::int64_t packed_traits(const GemmProblem& problem);
void unpack_traits(std::int64_t traits, GemmProblem& problem);

// True if two problems of equal kind_key have equal exact_key.
bool is_exact(const GemmProblem& x, const GemmProblem& y);

// Rows beyond the last whole vector; none in interleaved layouts, whose vectors run across problems.
std::int64_t tail_rows(const GemmProblem& problem, const std::string& architecture);

// True if both blocks fill whole vectors, or are equal: configs for whole ones were up to 8x slower else.
bool fills_alike(const GemmProblem& wanted, const GemmProblem& known, const std::string& architecture);

// |ln m/m'| + |ln n/n'| + |ln k/k'|.
double shape_distance(const GemmProblem& x, const GemmProblem& y);

// The largest distance of a neighbour: a factor of two in one size. Beyond it the default config is better.
inline constexpr double shape_radius = 0.7;

// Added to the distance when ranking, for other differences between problems of one kind.
double trait_penalty(const GemmProblem& wanted, const GemmProblem& known, const std::string& architecture);

// True if records of `known` are of this device: the same name, or a less specific one such as "AMD EPYC
// (family 26)" for any model and stepping, but not a brand alone.
bool is_same_device(const std::string& wanted, const std::string& known);

// Added for a device of another maker, whose caches and ports differ more, and a little for a less specific
// name.
double device_penalty(const std::string& wanted, const std::string& known);

}  // namespace tilewright
