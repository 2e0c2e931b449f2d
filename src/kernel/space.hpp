// Space<Config>: the legal configs of a kernel family as axes (member + values, which may depend on the axes
// declared before) and named constraints, each checked as soon as the axes it reads are bound.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/fields.hpp"
#include "core/refuse.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

// Counts of a constraint in one walk over the space.
struct Removed {
  std::string reason;
  std::string after;        // the axis whose binding made the check possible; "" = before the first
  std::uint64_t asked = 0;  // branches that reached the constraint
  std::uint64_t cut = 0;    // branches that ended there
};

template <class Config>
class Space {
 public:
  using Predicate = std::function<bool(const Config&)>;

  // Adds an axis whose values do not depend on the other axes.
  template <class M>
  Space& axis(M Config::*member, std::vector<M> values) {
    return axis(member,
                [values = std::move(values)](const Config&) -> const std::vector<M>& { return values; });
  }

  // Adds an axis whose values depend on earlier axes: `values(config)` returns a container or a lazy range.
  template <class M, class F>
  requires std::invocable<const F&, const Config&> Space& axis(M Config::*member, F values) {
    Axis axis;
    axis.each = [member, values](Config& config, const Step& step) {
      for (const auto& value : values(std::as_const(config))) {
        config.*member = static_cast<M>(value);
        if (!step()) return false;
      }
      return true;
    };
    axis.contains = [member, values](const Config& config) {
      for (const auto& value : values(config))
        if (static_cast<M>(value) == config.*member) return true;
      return false;
    };
    return add(member, std::move(axis));
  }

  // Adds a constraint on axes declared before. If members are named it may read only those, and is checked
  // once the last is bound. Throws Error(invalid_argument) for a member without an axis yet.
  template <class... M>
  Space& require(std::string reason, Predicate predicate, M Config::*... reads) {
    std::size_t depth = sizeof...(reads) == 0 ? axes_.size() : 0;
    ((depth = std::max(depth, position(member_name(reads), fmt::format("the constraint '{}'", reason)) + 1)),
     ...);
    checks_.resize(std::max(checks_.size(), depth + 1));
    checks_[depth].push_back(constraints_.size());
    constraints_.push_back({std::move(reason), std::move(predicate), depth});
    return *this;
  }

  // Restricts the axis `name` to values for which keeps(config with that value) is true. Throws
  // Error(invalid_argument) for an unknown name.
  Space& restrict_axis(const std::string& name, Predicate keeps) {
    Axis& axis = axes_[position(name, "a restriction")];
    axis.each = [each = std::move(axis.each), keeps](Config& config, const Step& step) {
      return each(config, [&] { return !keeps(config) || step(); });
    };
    axis.contains = [contains = std::move(axis.contains), keeps](const Config& config) {
      return contains(config) && keeps(config);
    };
    return *this;
  }

  // Returns the reasons why `config` is not a point of the space; empty if it is one.
  std::vector<std::string> explain(const Config& config) const {
    std::vector<std::string> reasons;
    for (const auto& axis : axes_)
      if (!axis.contains(config)) reasons.push_back(outside(axis, config));
    if (!reasons.empty())
      return reasons;  // constraints are written for values of the axes and may divide by them
    for (const auto& constraint : constraints_)
      if (!constraint.accepts(config)) reasons.push_back(constraint.reason);
    return reasons;
  }
  // Like explain(), without its texts, since spaces are searched thousands of times: all axes first.
  bool contains(const Config& config) const {
    return std::ranges::all_of(axes_, [&](const Axis& axis) { return axis.contains(config); }) &&
           std::ranges::all_of(constraints_, [&](const auto& one) { return one.accepts(config); });
  }

  // Calls `visitor` with every legal config, the last axis varying fastest; returning false ends the walk,
  // and visit(). Members without an axis keep their value in `base`. `removed` receives the branches that
  // each constraint cut.
  template <class F>
  bool visit(F&& visitor, const Config& base = {}, std::vector<Removed>* removed = nullptr) const {
    if (removed != nullptr) removed->clear();
    for (const Constraint& one : constraints_)
      if (removed != nullptr)
        removed->push_back({one.reason, one.depth == 0 ? "" : axes_[one.depth - 1].name});
    Config config = base;
    Walk<std::remove_reference_t<F>> walk{*this, config, visitor, removed, {}};
    walk.prepare();
    return walk.from(0);
  }

  std::vector<Config> enumerate(const Config& base = {}) const {
    std::vector<Config> configs;
    visit([&](const Config& config) { configs.push_back(config); }, base);
    return configs;
  }

  // Returns `count` legal configs drawn at random; fewer if they are hard to hit.
  template <class Random>
  std::vector<Config> sample(std::size_t count, Random& random, const Config& base = {}) const {
    std::vector<Config> configs;
    for (std::size_t tries = 0; tries < count * 1000 && configs.size() < count; ++tries) {
      Config config = base;
      if (draw(config, random)) configs.push_back(config);
    }
    return configs;
  }

  std::vector<std::string> axis_names() const {
    std::vector<std::string> names;
    for (const Axis& axis : axes_) names.push_back(axis.name);
    return names;
  }

 private:
  using Step = std::function<bool()>;
  struct Axis {
    std::string name;
    // Sets the member to each value in order and calls the step; returns false if the step ended the walk.
    std::function<bool(Config&, const Step&)> each;
    std::function<bool(const Config&)> contains;
  };
  struct Constraint {
    std::string reason;
    Predicate accepts;
    std::size_t depth = 0;  // axes bound when it is checked
  };

  template <class F>
  struct Walk {
    const Space& space;
    Config& config;
    F& visitor;
    std::vector<Removed>* removed;
    std::vector<Step> steps;  // one per depth, made once instead of at every node

    void prepare() {
      while (steps.size() < space.axes_.size())
        steps.push_back([this, next = steps.size() + 1] { return from(next); });
    }
    bool from(std::size_t depth) {
      if (space.refused(depth, config, removed)) return true;
      if (depth < space.axes_.size()) return space.axes_[depth].each(config, steps[depth]);
      if constexpr (std::is_void_v<std::invoke_result_t<F&, const Config&>>) {
        visitor(std::as_const(config));
        return true;
      } else {
        return visitor(std::as_const(config));
      }
    }
  };

  template <class M>
  static std::string member_name(M Config::*member) {
    std::string name;
    for_each_field<Config>([&](const auto& f) {
      if constexpr (std::is_same_v<decltype(f.member), M Config::*>)
        if (f.member == member) name = std::string(f.name);
    });
    return name;
  }

  // Returns a text that lists the values of the axis for the given values of the axes before it.
  static std::string outside(const Axis& axis, const Config& config) {
    constexpr std::size_t most = 20;
    const auto text = [&](const Config& one) {
      const auto json = field_to_json(one, axis.name);
      return json.is_string() ? json.template get<std::string>() : json.dump();
    };
    std::string values;
    std::size_t count = 0;
    Config probe = config;
    axis.each(probe, [&] {
      values += (count == 0 ? "" : ", ") + (count < most ? text(probe) : "...");
      return count++ < most;
    });
    return count == 0
               ? fmt::format("{} = {}: no value is legal with the values before it", axis.name, text(config))
               : fmt::format("{} = {} is not one of {}", axis.name, text(config), values);
  }

  template <class M>
  Space& add(M Config::*member, Axis axis) {
    axis.name = member_name(member);
    axes_.push_back(std::move(axis));
    return *this;
  }

  std::size_t position(const std::string& name, const std::string& reader) const {
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (axes_[i].name == name) return i;
    refuse_argument(name, fmt::format("{} reads {}, which has no axis before it", reader, name));
  }

  // True if a constraint on exactly the first `depth` axes refuses `config`.
  bool refused(std::size_t depth, const Config& config, std::vector<Removed>* removed = nullptr) const {
    if (depth >= checks_.size()) return false;
    for (const std::size_t i : checks_[depth]) {
      const bool accepted = constraints_[i].accepts(config);
      if (removed != nullptr) {
        ++(*removed)[i].asked;
        (*removed)[i].cut += accepted ? 0 : 1;
      }
      if (!accepted) return true;
    }
    return false;
  }

  // Draws a value for each axis in order; returns false if a value had no legal continuation.
  template <class Random>
  bool draw(Config& config, Random& random) const {
    for (std::size_t depth = 0; depth <= axes_.size(); ++depth) {
      if (refused(depth, config)) return false;
      if (depth == axes_.size()) break;
      Config probe = config;
      std::size_t count = 0;
      axes_[depth].each(probe, [&] { return ++count > 0; });
      if (count == 0) return false;
      auto chosen = std::size_t(random() % count);
      axes_[depth].each(config, [&] { return chosen-- > 0; });
    }
    return true;
  }

  std::vector<Axis> axes_;
  std::vector<Constraint> constraints_;
  std::vector<std::vector<std::size_t>> checks_;  // by depth: the constraints to check there
};

}  // namespace tilewright
