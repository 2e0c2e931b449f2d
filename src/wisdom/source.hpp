// A source of wisdom as lookups see it: the user's database (store.hpp) or a file of JSON lines (lines.cpp).
// A source has indexes of its usable records; wisdom.hpp searches those of several sources.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "wisdom/index.hpp"
#include "wisdom/model.hpp"
#include "wisdom/record.hpp"

namespace tilewright {

class WisdomSource {
 public:
  virtual ~WisdomSource() = default;
  virtual const std::string& path() const = 0;
  // Limits how long later calls wait for other processes that write the file before they throw
  // sqlite::Locked.
  virtual void wait_at_most(std::chrono::milliseconds) {}
  // The current passed and usable records of the query's kind and objective. The index stays the same until
  // they change. Null without records.
  virtual std::shared_ptr<ShapeIndex> shapes(const WisdomQuery& query) = 0;
  // Nullopt if the record is gone since its index was made.
  virtual std::optional<WisdomRecord> fetch(std::int64_t number) = 0;
  // All records, failed and stale ones too, in the order of writing.
  virtual void each(const std::function<void(const WisdomRecord&)>& visit) = 0;
  // The records of one family.
  virtual void each_of(const std::string& family, const std::function<void(const WisdomRecord&)>& visit) = 0;
  virtual void each_model(const std::function<void(const FittedModel&)>& visit) = 0;
};

// The source of a file of JSON lines. A missing file has no lines; a malformed line throws Error(io) with
// file and line when it is read. Source hashes are not compared: lines are defaults, and lookups skip configs
// that the kernels no longer have.
std::unique_ptr<WisdomSource> open_lines(const std::string& path);

}  // namespace tilewright
