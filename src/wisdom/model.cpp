// Models read and written, and the order in which they are believed.
#include "wisdom/model.hpp"

#include <tuple>

#include "wisdom/families.hpp"
#include "wisdom/key.hpp"
#include "wisdom/record.hpp"

namespace tilewright {

std::optional<FittedModel> model_of_line(const nlohmann::json& line) {
  if (!line.contains("model")) return std::nullopt;
  auto model = from_line<FittedModel>(line);
  columns::require_measured("residual", model.residual), columns::require_measured("spread", model.spread);
  columns::require_measured("samples", model.samples);
  columns::require_date("time", model.time);
  return model;
}

nlohmann::json to_json(const FittedModel& model) { return line_of(model); }

std::string identity_of(const FittedModel& m) {
  return fmt::format("model|{}|{}|{}|{}|{}|{}|{}|{}", m.model, m.operation, m.device, m.driver, m.library,
                     m.library_version, m.dtype, m.variant);
}

bool is_stale(const FittedModel& model) {
  return !model.source_hash.empty() && !is_current_source_hash(model.source_hash);
}

bool is_better(const FittedModel& x, const FittedModel& y) {
  const auto rank = [](const FittedModel& m) { return std::tuple(!is_stale(m), m.samples); };
  return rank(x) != rank(y) ? rank(x) > rank(y) : is_later(x.time, y.time);
}

bool supersedes(const FittedModel& found, const FittedModel& known) {
  return (is_stale(known) && !is_stale(found)) || !is_later(known.time, found.time);
}

std::optional<ModelFit> fit_of(const FittedModel& m, const ModelQuery& query) {
  const bool same_device = is_same_device(query.device, m.device);
  if (m.model != query.model || m.operation != query.operation) return std::nullopt;
  if (!m.dtype.empty() && m.dtype != query.dtype) return std::nullopt;
  if (!same_device && (m.architecture.empty() || m.architecture != query.architecture)) return std::nullopt;
  const auto agrees = [](const std::string& asked, const std::string& known) {
    return asked.empty() || asked == known;
  };
  const bool same_library =
      agrees(query.library, m.library) && agrees(query.library_version, m.library_version);
  return ModelFit{same_device, same_library, agrees(query.driver, m.driver), !m.dtype.empty(), m.time};
}

}  // namespace tilewright
