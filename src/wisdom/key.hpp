// What records are found by: the keys that an exact match compares, the keys that a neighbour must share, and
// how far apart two shapes are. All of it is computed from problem, family and architecture, and kept beside
// each record in the store, so a change here is a new schema version. Only products have keys so far; records
// of other operations are told apart by the text of their problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/problem.hpp"

namespace tilewright {

// Everything a lookup compares with.
struct WisdomQuery {
  std::string family;
  std::string architecture;
  GemmProblem problem;  // with a residency other than automatic, or nothing matches
  std::string objective = "time";
  std::string device = {};    // "": that of whoever is asked
  std::string math = "full";  // or the name of an emulation: its configs say nothing of full products
  std::string operation = "gemm";
};

// What the text of a record's problem says: operation:...[:math=...]. Batches are of the same operation.
struct WisdomSubject {
  std::string operation;  // "" where the text names none
  std::string math = "full";
  std::optional<GemmProblem> problem;  // empty for an operation that this build has no keys for
};
// Throws Error where the problem of a product cannot be read.
WisdomSubject subject_of(const std::string& text);

// Operation, math mode, dtype, ops (of real types c is t), m, n, k, layout (and block), beta class,
// residency, family and architecture.
std::string exact_key(const WisdomQuery& query);

// What a neighbour must share: a kernel of the same kind, in caches or not, that reads C or does not.
std::string kind_key(const WisdomQuery& query);

// What an exact match passes over and yet makes another record: leading dimensions, strides, alpha, location,
// and on a device the order of magnitude of the batch count. "" for the usual ones.
std::string variant_key(const GemmProblem& problem);

// The fields that ranking needs beyond the shape, in one number.
std::int64_t packed_traits(const GemmProblem& problem);
void unpack_traits(std::int64_t traits, GemmProblem& problem);

// Whether two problems that share a kind_key share their exact_key.
bool is_exact(const GemmProblem& x, const GemmProblem& y);

// Rows beyond the last whole vector; interleaved kernels have none, their vectors lie along the problems.
std::int64_t tail_rows(const GemmProblem& problem, const std::string& architecture);

// Whether blocks of problems fill vectors alike. What is best where they fill whole ones was measured up to
// eight times slower where they fill none, so that such records say nothing of each other.
bool fills_alike(const GemmProblem& wanted, const GemmProblem& known, const std::string& architecture);

// |ln m/m'| + |ln n/n'| + |ln k/k'|.
double shape_distance(const GemmProblem& x, const GemmProblem& y);

// The largest distance at which a neighbour's config is worth trying: a factor of two in one size alone.
// Farther off, the rule-of-thumb config knows more about the problem than the neighbour does.
inline constexpr double shape_radius = 0.7;

// Added to the distance when ranking, for what differs between two problems of one kind.
double trait_penalty(const GemmProblem& wanted, const GemmProblem& known, const std::string& architecture);

// Whether records of `known` are this device's own: of that name, or of one that says less of the generation,
// such as "AMD EPYC (family 26)" for any model and stepping. A brand alone stands for no device.
bool is_same_device(const std::string& wanted, const std::string& known);

// Likewise added for a device of another maker, whose caches and ports differ more than those of a sibling,
// and a little for a name that is less than the wanted one.
double device_penalty(const std::string& wanted, const std::string& known);

}  // namespace tilewright
