// Where records come from, as lookups see it: the user's database (store.hpp) or a file of JSON lines
// (lines.hpp). A source has an index of what may answer a question; wisdom.hpp searches those of several.
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
  // How long whatever follows may wait for other processes that write the file; sqlite::Locked is thrown
  // then.
  virtual void wait_at_most(std::chrono::milliseconds) {}
  // The passed and usable records that share the query's kind and objective, as they are now: the same index
  // again until they change. Null where there are none.
  virtual std::shared_ptr<ShapeIndex> shapes(const WisdomQuery& query) = 0;
  // Nothing where it has gone since its index was made.
  virtual std::optional<WisdomRecord> fetch(std::int64_t number) = 0;
  // Every record, the failed and the stale too, in the order in which they were written.
  virtual void each(const std::function<void(const WisdomRecord&)>& visit) = 0;
  // Those of one family, which are few among many.
  virtual void each_of(const std::string& family, const std::function<void(const WisdomRecord&)>& visit) = 0;
  // Likewise every model.
  virtual void each_model(const std::function<void(const FittedModel&)>& visit) = 0;
};

}  // namespace tilewright
