// What a plan whose operands lie on a GPU runs with, as the rest of the plan sees it: one call that queues
// the work. No part of it needs a GPU, so builds without the GPU sources have it too.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/problem.hpp"

namespace tilewright {

class GpuRunner {
 public:
  virtual ~GpuRunner() = default;
  // Throws Error(invalid_argument) for addresses that cannot be right and for alpha or beta that come
  // otherwise than the plan was made for: one for all, or a value per problem. Queues nothing.
  virtual void check(const Operands& operands) const = 0;
  // Queues the whole batch on operands.stream, of operands that check() let pass. alpha and beta are of the
  // problem's classes, on the host unless they come as a value per problem. Never waits, allocates or
  // compiles.
  virtual void queue(const Operands& operands) const = 0;
  // Whether queue() fills operands.info; else it must be null where there is something to report.
  virtual bool reports() const { return false; }

  virtual std::string device() const = 0;     // its name
  virtual nlohmann::json config() const = 0;  // null where there is nothing to choose
  virtual std::string kernel() const = 0;     // registers, shared memory and the like in words; may be ""
  // The same as numbers by name, as far as the runner has any.
  virtual nlohmann::json metrics() const { return nlohmann::json::object(); }
  virtual std::string prediction() const { return ""; }  // of a cost model in words; "" where there is none
};

}  // namespace tilewright
