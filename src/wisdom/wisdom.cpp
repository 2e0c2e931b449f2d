// Asks the sources stage by stage and ranks their answers.
#include "wisdom/wisdom.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "core/share.hpp"
#include "wisdom/lines.hpp"
#include "wisdom/store.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t hit_limit = 8;

struct Ranked {
  WisdomFinding finding;
  std::size_t source;
};

WisdomMatch match_of(WisdomStage stage) {
  return stage == WisdomStage::exact        ? WisdomMatch::exact
         : stage == WisdomStage::near_shape ? WisdomMatch::near_shape
                                            : WisdomMatch::near_device;
}

}  // namespace

struct Wisdom::Impl {
  std::vector<WisdomFile> files;
  std::string device;
  std::function<void(const std::string&)> report;
  std::recursive_mutex mutex;                          // who is offered a record may ask for a model
  std::vector<std::unique_ptr<WisdomSource>> sources;  // null before the first use of a file
  std::vector<bool> given_up;
  std::vector<std::optional<std::vector<FittedModel>>> known_models;  // of each file, once it was asked
  std::map<ModelQuery, std::shared_ptr<const FoundModel>> models;
  std::map<std::string, std::shared_ptr<const std::vector<WisdomRecord>>> families;  // asked for whole

  // Lines are read whole, which takes a second and more where there are very many.
  void open(std::size_t i) {
    constexpr double mebibyte = 1 << 20, many = 32;
    const std::string& path = files[i].path;
    std::error_code error;
    const double size = double(fs::file_size(path, error)) / mebibyte;
    sources[i] = open_wisdom(path);
    if (!error && size > many && report && is_lines_file(path))
      report(fmt::format("reading the {:.0f} MiB of '{}'", size, path));
  }

  // Calls `use` with the source of the file; a file that was not named is given up when that throws.
  template <class Use>
  void with_source(std::size_t i, Use&& use) {
    if (given_up[i]) return;
    try {
      if (sources[i] == nullptr) open(i);
      use(*sources[i]);
    } catch (const Error& error) {
      if (files[i].named || error.code() != ErrorCode::io) throw;
      given_up[i] = true;
      if (report) report(fmt::format("going on without the user's wisdom: {}", error.what()));
    }
  }

  const std::vector<FittedModel>& models_of(std::size_t i, WisdomSource& source) {
    if (!known_models[i]) {
      std::vector<FittedModel> all;
      source.each_model([&](const FittedModel& model) { all.push_back(model); });
      known_models[i] = std::move(all);
    }
    return *known_models[i];
  }

  template <class Use>
  void each_source(Use&& use) {
    std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < files.size(); ++i) with_source(i, use);
  }

  // The answers of sources first ... last - 1, best first: of equal ones the first file wins and, within it,
  // what was written last.
  std::vector<Ranked> rank(const WisdomQuery& query, WisdomStage stage, std::size_t first, std::size_t last) {
    std::vector<Ranked> ranked;
    for (std::size_t i = first; i < last; ++i)
      with_source(i, [&](WisdomSource& source) {
        for (const WisdomFinding& finding : source.find(query, stage)) ranked.push_back({finding, i});
      });
    std::sort(ranked.begin(), ranked.end(), [](const Ranked& x, const Ranked& y) {
      if (x.finding.score != y.finding.score) return x.finding.score < y.finding.score;
      if (x.source != y.source) return x.source < y.source;
      return x.finding.record > y.finding.record;
    });
    return ranked;
  }
};

Wisdom::Wisdom(std::vector<WisdomFile> files, std::string device,
               std::function<void(const std::string&)> report)
    : impl_(std::make_unique<Impl>()) {
  impl_->files = std::move(files);
  impl_->device = std::move(device);
  impl_->report = std::move(report);
  impl_->sources.resize(impl_->files.size());
  impl_->given_up.resize(impl_->files.size());
  impl_->known_models.resize(impl_->files.size());
}
Wisdom::~Wisdom() = default;

namespace {

// Whatever way a lookup ends, its sources are told.
struct Ending {
  const std::vector<std::unique_ptr<WisdomSource>>& sources;
  ~Ending() {
    for (const auto& source : sources)
      if (source != nullptr) source->done();
  }
};

}  // namespace

bool Wisdom::offer(WisdomQuery query, const Take& take) const {
  if (query.device.empty()) query.device = impl_->device;
  std::lock_guard lock(impl_->mutex);
  const Ending ending{impl_->sources};
  std::vector<nlohmann::json> offered;
  const auto offer_all = [&](WisdomStage stage, std::size_t first, std::size_t last) {
    for (const Ranked& one : impl_->rank(query, stage, first, last)) {
      if (offered.size() == hit_limit) return false;
      bool taken = false;
      impl_->with_source(one.source, [&](WisdomSource& source) {
        WisdomConfig record = source.fetch(one.finding.record);
        if (std::find(offered.begin(), offered.end(), record.config) != offered.end()) return;
        taken = take(
            {record.config, match_of(stage), record.source, record.recorded, record.problem, record.device});
        offered.push_back(std::move(record.config));
      });
      if (taken) return true;
    }
    return false;
  };
  const std::size_t count = impl_->files.size();
  // One file after the other: what the user's own records answer opens no other file.
  for (std::size_t i = 0; i < count; ++i)
    if (offer_all(WisdomStage::exact, i, i + 1)) return true;
  for (const WisdomStage stage :
       {WisdomStage::near_shape, WisdomStage::exact_elsewhere, WisdomStage::near_elsewhere})
    if (offered.size() < hit_limit && offer_all(stage, 0, count)) return true;
  return false;
}

std::shared_ptr<const FoundModel> Wisdom::model(const ModelQuery& query) const {
  std::lock_guard lock(impl_->mutex);
  const auto [at, is_new] = impl_->models.try_emplace(query);
  if (!is_new) return at->second;
  std::optional<ModelFit> best;
  FittedModel found;
  try {
    for (std::size_t i = 0; i < impl_->files.size() && !(best && best->same_device); ++i)
      impl_->with_source(i, [&](WisdomSource& source) {
        for (const FittedModel& model : impl_->models_of(i, source)) {
          const auto fit = model.dropped ? std::nullopt : fit_of(model, query);
          if (fit && (!best || *fit > *best)) best = fit, found = model;
        }
      });
  } catch (...) {
    impl_->models.erase(at);  // a file that could not be read is not taken for one without models later
    throw;
  }
  if (best)
    at->second = std::make_shared<const FoundModel>(
        FoundModel{std::move(found), best->same_device ? WisdomMatch::exact : WisdomMatch::near_device});
  return at->second;
}

std::shared_ptr<const std::vector<WisdomRecord>> Wisdom::records_of(const std::string& family) const {
  std::lock_guard lock(impl_->mutex);
  auto& known = impl_->families[family];
  if (known != nullptr) return known;
  auto all = std::make_shared<std::vector<WisdomRecord>>();
  impl_->each_source([&](WisdomSource& source) {
    const auto first = std::ssize(*all);
    source.each_of(family, [&](const WisdomRecord& record) {
      if (record.passed() && !record.dropped) all->push_back(record);
    });
    std::reverse(all->begin() + first, all->end());
  });
  return known = std::move(all);
}

std::vector<WisdomRecord> Wisdom::records() const {
  std::vector<WisdomRecord> all;
  impl_->each_source(
      [&](WisdomSource& source) { source.each([&](const WisdomRecord& record) { all.push_back(record); }); });
  return all;
}

std::vector<FittedModel> Wisdom::models() const {
  std::vector<FittedModel> all;
  impl_->each_source([&](WisdomSource& source) {
    source.each_model([&](const FittedModel& model) { all.push_back(model); });
  });
  return all;
}

std::function<nlohmann::json(const std::string&, DType)> fitted_coefficients(const Wisdom* wisdom,
                                                                             std::string device,
                                                                             std::string architecture) {
  std::shared_ptr<const Wisdom> shipped;
  if (wisdom == nullptr) {
    shipped = std::make_shared<const Wisdom>(wisdom_in_use({"", false}, Environment::read()), device);
    wisdom = shipped.get();
  }
  return [wisdom, shipped, device = std::move(device), architecture = std::move(architecture)](
             const std::string& model, DType dtype) {
    ModelQuery query;
    query.model = model, query.device = device, query.architecture = architecture;
    query.dtype = to_string(dtype);
    const auto found = wisdom->model(query);
    return found == nullptr ? nlohmann::json() : found->model.coefficients;
  };
}

std::string user_wisdom_path(const Environment& environment) {
  if (!environment.wisdom.empty()) return environment.wisdom;
  const std::string folder = data_folder();
  return folder.empty() ? "" : (fs::path(folder) / "wisdom.sqlite").string();
}

std::vector<std::string> shipped_wisdom(const Environment& environment) {
  std::vector<std::string> files;
  std::error_code error;
  const fs::path folder = fs::path(share_folder(environment, "wisdom")) / "wisdom";
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".jsonl") files.push_back(it->path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<WisdomFile> wisdom_in_use(const WisdomFile& own, const Environment& environment) {
  std::vector<WisdomFile> files;
  if (!own.path.empty()) files.push_back(own);
  // A program that never named them should not fail because one of them is damaged.
  for (std::string& shipped : shipped_wisdom(environment)) files.emplace_back(std::move(shipped), false);
  return files;
}

bool is_lines_file(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  const bool by_name = extension == ".jsonl" || extension == ".json";
  std::ifstream file(path, std::ios::binary);
  std::string start(16, '\0');
  if (!file.read(start.data(), std::streamsize(start.size())) && file.gcount() == 0) return by_name;
  if (start.starts_with("SQLite format 3")) return false;
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return by_name || (first != std::string::npos && start[first] == '{');
}

std::unique_ptr<WisdomSource> open_wisdom(const std::string& path) {
  if (is_lines_file(path)) return std::make_unique<WisdomLines>(path);
  return std::make_unique<WisdomStore>(path, sqlite::Mode::read);
}

}  // namespace tilewright
