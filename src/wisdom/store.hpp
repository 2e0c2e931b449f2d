// The user's wisdom: a SQLite database that many processes may read and write at once. One record is kept per
// identity (family, architecture, problem without its batch count, objective, device); configs that failed
// the gate are kept beside it. Fitted models have a table of their own. It knows configs and coefficients
// only as JSON text.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "wisdom/source.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright {

class WisdomStore : public WisdomSource {
 public:
  // Mode::write makes the file and its folder when they are missing, and both modes bring an older schema up
  // to date, readers of a file that cannot be written in memory. The file is open only within calls. Throws
  // Error(io) with the reason for what is no wisdom database; nothing is written to it.
  WisdomStore(std::string path, sqlite::Mode mode, std::chrono::milliseconds wait = sqlite::Limits().wait);
  ~WisdomStore() override;

  // Each in a transaction of its own, which is on the disk when the call returns.
  void put(const WisdomRecord& record);    // replaces the record of the same identity
  bool merge(const WisdomRecord& record);  // unless that is better measured; true when it was kept
  // What tuning has found, now or in a run that is resumed: unless that is newer, or well measured and this
  // is not; true when it was kept.
  bool add_found(const WisdomRecord& record);
  // Likewise of models.
  void put(const FittedModel& model);
  bool merge(const FittedModel& model);
  bool add_found(const FittedModel& model);

  // All puts and merges within `work`, or none of them.
  void at_once(const std::function<void()>& work);

  const std::string& path() const override;
  void wait_at_most(std::chrono::milliseconds time) override;
  std::shared_ptr<ShapeIndex> shapes(const WisdomQuery& query) override;
  std::optional<WisdomRecord> fetch(std::int64_t number) override;
  void each(const std::function<void(const WisdomRecord&)>& visit) override;
  void each_of(const std::string& family, const std::function<void(const WisdomRecord&)>& visit) override;
  void each_model(const std::function<void(const FittedModel&)>& visit) override;

  std::int64_t count();            // of records
  std::int64_t rows_read() const;  // for indexes so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright
