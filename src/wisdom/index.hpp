// Indexes in memory of the records that may answer a query, searched for the nearest. A source makes one on
// the first query of a kind and drops it when the source changes.
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

// A record in an index; its class has the other fields of its problem.
struct KnownShape {
  std::array<std::int64_t, 3> size{};  // m, n, k
  std::int64_t batch_count = 0;
  std::int64_t number = 0;                     // in its source, in the order of writing
  std::shared_ptr<const WisdomRecord> record;  // null until it is fetched
};

// The records of one source that share kind_key and objective. Those of one class (of equal device and equal
// traits but the batch) are a k-d tree over m, n and k.
class ShapeIndex {
 public:
  static constexpr std::int64_t unknown_batch = -1;  // equals that of any query

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

// The stages of a lookup in order: the same problem or a near shape, of this device or of another.
enum class WisdomStage : std::uint8_t { exact, near_shape, exact_elsewhere, near_elsewhere };

// Returns the records of several indexes for one stage, the nearest first (Hjaltason and Samet 1999): a queue
// holds records by their score and parts of trees by the least score of their records. Ties go to the first
// source, then to the latest record.
class ShapeSearch {
 public:
  ShapeSearch(const WisdomQuery& query, WisdomStage stage);  // the query must outlive it
  void add(const std::shared_ptr<ShapeIndex>& index, std::size_t source);

  struct Found {
    KnownShape* shape;  // lives as long as the search
    std::size_t source;
    double score;  // the distance, and penalties
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
