// Where records come from, as lookups see it: the user's database (store.hpp) or a file of JSON lines
// (lines.hpp). A source ranks its own records; wisdom.hpp asks several in order and believes the first.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wisdom/key.hpp"
#include "wisdom/model.hpp"
#include "wisdom/record.hpp"

namespace tilewright {

// The four questions of a lookup, in the order in which they are asked: the same problem or a near shape,
// from this device or from another.
enum class WisdomStage : std::uint8_t { exact, near_shape, exact_elsewhere, near_elsewhere };

// One answer: how far it is from what was asked (0 is the best) and which record of the source it is.
struct WisdomFinding {
  double score = 0;
  std::int64_t record = 0;  // of two that are equally far, the higher number was written later
};

struct WisdomConfig {
  nlohmann::json config;
  std::string source;  // for people
  RecordedTime recorded;
  std::string problem, device;  // that it was measured for and on
};

class WisdomSource {
 public:
  virtual ~WisdomSource() = default;
  virtual const std::string& path() const = 0;
  // How long whatever follows may wait for other processes that write the file; sqlite::Locked is thrown
  // then.
  virtual void wait_at_most(std::chrono::milliseconds) {}
  // Passed and usable records only, in no order.
  virtual std::vector<WisdomFinding> find(const WisdomQuery& query, WisdomStage stage) = 0;
  // Nothing where it has gone since it was found.
  virtual std::optional<WisdomConfig> fetch(std::int64_t record) = 0;
  // Ends a lookup, which the first find began: what its finds and fetches saw may change now.
  virtual void done() noexcept {}
  // Every record, the failed and the stale too, in the order in which they were written.
  virtual void each(const std::function<void(const WisdomRecord&)>& visit) = 0;
  // Those of one family, which are few among many.
  virtual void each_of(const std::string& family, const std::function<void(const WisdomRecord&)>& visit) = 0;
  // Likewise every model.
  virtual void each_model(const std::function<void(const FittedModel&)>& visit) = 0;
};

}  // namespace tilewright
