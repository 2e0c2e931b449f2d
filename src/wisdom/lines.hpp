// A file of JSON lines as a source of wisdom: what is shipped, and what others hand out. Read-only. The first
// lookup sorts lines by family, architecture, type and operations; those of one such group are read when one
// of them is asked for, and the JSON of a line is parsed when the line is wanted.
#pragma once

#include <memory>
#include <string>

#include "wisdom/source.hpp"

namespace tilewright {

class WisdomLines : public WisdomSource {
 public:
  // Nothing is read before it is needed. A missing file has no lines; a malformed line throws Error(io) with
  // file and line. Lines are believed whatever their source hash: they are defaults, and a config that the
  // kernels no longer have is passed over by whoever asked.
  explicit WisdomLines(std::string path);
  ~WisdomLines() override;

  const std::string& path() const override;
  std::shared_ptr<ShapeIndex> shapes(const WisdomQuery& query) override;
  std::optional<WisdomRecord> fetch(std::int64_t number) override;
  void each(const std::function<void(const WisdomRecord&)>& visit) override;
  void each_of(const std::string& family, const std::function<void(const WisdomRecord&)>& visit) override;
  void each_model(const std::function<void(const FittedModel&)>& visit) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright
