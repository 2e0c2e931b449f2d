// The records that may answer one question, in memory: a source makes an index of them when it is first
// asked, and lookups search it for the nearest. It is not on disk; whoever made it throws it away when its
// source changes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "wisdom/key.hpp"

namespace tilewright {

struct WisdomRecord;

// A record as searches see it; the other fields of its problem are those of its class.
struct KnownShape {
  std::array<std::int64_t, 3> size{};  // m, n, k
  std::int64_t batch_count = 0;
  std::int64_t number = 0;                     // in its source: a higher one was written later
  std::shared_ptr<const WisdomRecord> record;  // null until it was fetched
};

// The records of one source that share kind_key and objective. The records of one class (a device, and all
// that trait_penalty looks at but the batch) are a k-d tree over m, n and k.
class ShapeIndex {
 public:
  static constexpr std::int64_t unknown_batch = -1;  // as that of whoever asks

  explicit ShapeIndex(std::string architecture) : architecture_(std::move(architecture)) {}
  void add(const std::string& device, const GemmProblem& problem, std::int64_t number);
  void build();  // after the last add, before the first search

 private:
  friend class ShapeSearch;
  struct Class {
    GemmProblem problem;  // without its sizes
    std::vector<KnownShape> shapes;
    std::array<std::int64_t, 3> low{}, high{};  // their smallest and largest sizes
  };
  using Traits = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // packed, block, tail

  std::string architecture_;
  std::map<std::string, std::map<Traits, Class>> devices_;
};

// The four questions of a lookup, in the order in which they are asked: the same problem or a near shape,
// from this device or from another.
enum class WisdomStage : std::uint8_t { exact, near_shape, exact_elsewhere, near_elsewhere };

// Hands out the records of several indexes that answer a question, the nearest first (Hjaltason and Samet
// 1999): a queue holds parts of trees by the least score that a record of theirs can have, and records by
// their score. Of equal ones the first source's come first and, within it, what was written last.
class ShapeSearch {
 public:
  ShapeSearch(const WisdomQuery& query, WisdomStage stage);  // the query must outlive it
  void add(const std::shared_ptr<ShapeIndex>& index, std::size_t source);

  struct Found {
    KnownShape* shape;  // lives as long as the search
    std::size_t source;
  };
  std::optional<Found> next();
  std::size_t seen_count() const { return seen_count_; }  // records whose scores were computed

 private:
  // A part of a tree, or a record of it (`count` is 0).
  struct Part {
    double score = 0;
    std::size_t source = 0;
    const GemmProblem* problem = nullptr;
    double away = 0;     // device_penalty
    double penalty = 0;  // the least of all its records
    KnownShape* first = nullptr;
    std::size_t count = 0, axis = 0;
    std::array<double, 3> gap{};  // from what is asked, along each axis

    bool operator<(const Part& other) const;  // comes later
  };
  void add_part(Part part);
  void add_record(const Part& leaf, KnownShape& shape);

  const WisdomQuery& query_;
  bool near_, elsewhere_;
  std::array<std::int64_t, 3> size_;
  std::vector<std::shared_ptr<ShapeIndex>> indexes_;
  std::priority_queue<Part> parts_;
  std::size_t seen_count_ = 0;
};

}  // namespace tilewright
