// The user's wisdom: a SQLite database that many processes may read and write at once. It keeps one record
// per identity (family, architecture, problem without batch count, objective, device), configs that failed
// the gate, and fitted models. Configs and coefficients are JSON text.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "wisdom/source.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright {

class WisdomStore : public WisdomSource {
 public:
  // Mode::write makes a missing file and folder. Both modes upgrade an older schema, readers of a file that
  // cannot be written in memory. The file is open only within calls. Throws Error(io) with the reason for a
  // file that is not a wisdom database, which stays as it is.
  WisdomStore(std::string path, sqlite::Mode mode, std::chrono::milliseconds wait = sqlite::Limits().wait);
  ~WisdomStore() override;

  // Each call is a transaction, on disk when it returns. put() replaces the record of equal identity, merge()
  // unless that is_better(), add_found(), for results of tuning, if the new one supersedes() it; they return
  // true if the record was kept.
  void put(const WisdomRecord& record);
  bool merge(const WisdomRecord& record);
  bool add_found(const WisdomRecord& record);
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
