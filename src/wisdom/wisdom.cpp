// Lookups in the sources, stage by stage.
#include "wisdom/wisdom.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "core/folder.hpp"
#include "core/host/fork_gate.hpp"
#include "wisdom/sqlite.hpp"
#include "wisdom/store.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

constexpr std::size_t hit_limit = 8;
constexpr auto without_locked = std::chrono::seconds(1);

// Foreign rows may hold any text.
bool is_problem(const std::string& text) {
  try {
    (void)subject_of(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

WisdomMatch match_of(WisdomStage stage) {
  return stage == WisdomStage::exact        ? WisdomMatch::exact
         : stage == WisdomStage::near_shape ? WisdomMatch::near_shape
                                            : WisdomMatch::near_device;
}

}  // namespace

struct Wisdom::Impl {
  // One file; its source is null before the first use.
  struct File {
    WisdomFile named;
    std::unique_ptr<WisdomSource> source;
    bool given_up = false;
    Clock::time_point again{};                       // not before
    std::optional<std::vector<FittedModel>> models;  // cached
  };

  std::vector<File> files;
  std::string device;
  std::function<void(const std::string&)> report;
  // Guards the files and the members below; never held while a caller visits a record.
  Mutex mutex;
  std::map<ModelQuery, std::shared_ptr<const FoundModel>> models;
  std::map<std::string, std::shared_ptr<const std::vector<WisdomRecord>>> families;  // whole families, cached

  // Reports a large file of lines, which takes a second or more to read.
  void open(File& file, std::chrono::milliseconds wait) {
    constexpr double mebibyte = 1 << 20, many = 32;
    const std::string& path = file.named.path;
    std::error_code error;
    const double size = double(fs::file_size(path, error)) / mebibyte;
    file.source = open_wisdom(path, wait);
    if (!error && size > many && report && is_lines_file(path))
      report(fmt::format("reading the {:.0f} MiB of '{}'", size, path));
  }

  // Calls `use` with the file's source; an unnamed file is given up if that throws. False if it is locked.
  template <class Use>
  bool with_source(File& file, Use&& use, std::chrono::milliseconds wait = wait_of_calls) {
    if (file.given_up) return true;
    if (file.again > Clock::now()) return false;
    try {
      if (file.source == nullptr) open(file, wait);
      use(*file.source);
    } catch (const sqlite::Locked& error) {
      file.again = Clock::now() + without_locked;
      if (report) report(fmt::format("continuing without it for now: {}", error.what()));
      return false;
    } catch (const Error& error) {
      if (file.named.named || error.code() != ErrorCode::io) throw;
      file.given_up = true;
      if (report) report(fmt::format("continuing without the user's wisdom: {}", error.what()));
    }
    return true;
  }

  const std::vector<FittedModel>& models_of(File& file, WisdomSource& source) {
    if (!file.models) {
      std::vector<FittedModel> all;
      source.each_model([&](const FittedModel& model) { all.push_back(model); });
      file.models = std::move(all);
    }
    return *file.models;
  }

  // For commands: waits for locked files.
  template <class Use>
  void each_whole(Use&& use) {
    std::lock_guard lock(mutex);
    for (File& file : files) {
      file.again = {};
      const auto patiently = [&](WisdomSource& source) {
        source.wait_at_most(sqlite::Limits().wait);
        const struct Again {
          WisdomSource& source;
          ~Again() { source.wait_at_most(wait_of_calls); }
        } again{source};
        use(source);
      };
      if (!with_source(file, patiently, sqlite::Limits().wait))
        throw Error(ErrorCode::io, "wisdom",
                    fmt::format("wisdom = '{}': it is locked by another process", file.named.path));
    }
  }

  // A lookup: its stage and the configs offered so far.
  struct Search {
    WisdomQuery query;
    std::size_t step = 0;
    WisdomStage stage = WisdomStage::exact;
    std::optional<ShapeSearch> found;
    std::map<std::size_t, std::shared_ptr<ShapeIndex>> indexes;  // of the files asked
    std::vector<nlohmann::json> configs;
    bool repeated = false;

    bool is_new(const nlohmann::json& config) const {
      return std::find(configs.begin(), configs.end(), config) == configs.end();
    }
  };

  std::shared_ptr<ShapeIndex> index_of(Search& search, std::size_t file) {
    const auto [at, is_new] = search.indexes.try_emplace(file);
    if (is_new)
      with_source(files[file], [&](WisdomSource& source) { at->second = source.shapes(search.query); });
    return at->second;
  }

  // Asks each file in turn for the exact problem, so that the user's records open no other file, then all
  // files for each later stage. False at the end.
  bool advance(Search& search) {
    constexpr std::array later{WisdomStage::near_shape, WisdomStage::exact_elsewhere,
                               WisdomStage::near_elsewhere};
    const std::size_t i = search.step++, count = files.size();
    if (i >= count + later.size()) return false;
    search.stage = i < count ? WisdomStage::exact : later[i - count];
    search.found.emplace(search.query, search.stage);
    for (std::size_t file = i < count ? i : 0; file < (i < count ? i + 1 : count); ++file)
      search.found->add(index_of(search, file), file);
    return true;
  }

  std::optional<WisdomAnswer> next_answer(Search& search) {
    std::lock_guard lock(mutex);
    while (search.configs.size() < hit_limit) {
      const auto one = search.found ? search.found->next() : std::nullopt;
      if (!one && !advance(search)) break;
      if (!one) continue;
      auto& record = one->shape->record;
      bool is_gone = false;  // replaced by another process
      if (record == nullptr)
        with_source(files[one->source], [&](WisdomSource& source) {
          auto fetched = source.fetch(one->shape->number);
          is_gone = !fetched;
          if (fetched) record = std::make_shared<const WisdomRecord>(std::move(*fetched));
        });
      if (is_gone && !std::exchange(search.repeated, true)) {
        search.step = 0, search.found.reset(), search.indexes.clear();
        continue;
      }
      // An unreadable config was read as an empty one.
      if (record == nullptr || record->config.empty() || !search.is_new(record->config) ||
          !is_problem(record->problem))
        continue;
      search.configs.push_back(record->config);
      return WisdomAnswer{record->config,  match_of(search.stage), record->source, record->recorded(),
                          record->problem, record->device,         one->score};
    }
    return std::nullopt;
  }
};

Wisdom::Wisdom(std::vector<WisdomFile> files, std::string device,
               std::function<void(const std::string&)> report)
    : impl_(std::make_unique<Impl>()) {
  for (WisdomFile& file : files) impl_->files.push_back({std::move(file), nullptr, false, {}, {}});
  impl_->device = std::move(device);
  impl_->report = std::move(report);
}
Wisdom::~Wisdom() = default;

bool Wisdom::offer(WisdomQuery query, const Take& take) const {
  if (query.device.empty()) query.device = impl_->device;
  Impl::Search search;
  search.query = std::move(query);
  while (const auto answer = impl_->next_answer(search))
    if (take(*answer)) return true;
  if (search.query.problem.arrival == Arrival::back_to_back) return false;
  search.query.problem.arrival = Arrival::back_to_back;
  return offer(std::move(search.query), take);
}

std::shared_ptr<const FoundModel> Wisdom::model(const ModelQuery& query) const {
  std::lock_guard lock(impl_->mutex);
  if (const auto known = impl_->models.find(query); known != impl_->models.end()) return known->second;
  std::optional<ModelFit> best;
  FittedModel found;
  bool all = true;
  for (auto file = impl_->files.begin(); file != impl_->files.end() && !(best && best->same_device); ++file)
    all &= impl_->with_source(*file, [&](WisdomSource& source) {
      for (const FittedModel& model : impl_->models_of(*file, source)) {
        const auto fit = model.dropped ? std::nullopt : fit_of(model, query);
        if (fit && (!best || *fit > *best)) best = fit, found = model;
      }
    });
  std::shared_ptr<const FoundModel> answer;
  if (best)
    answer = std::make_shared<const FoundModel>(
        FoundModel{std::move(found), best->same_device ? WisdomMatch::exact : WisdomMatch::near_device});
  // A file that could not be read is asked again.
  if (all) impl_->models.emplace(query, answer);
  return answer;
}

std::shared_ptr<const std::vector<WisdomRecord>> Wisdom::records_of(const std::string& family) const {
  std::lock_guard lock(impl_->mutex);
  if (const auto known = impl_->families.find(family); known != impl_->families.end()) return known->second;
  auto found = std::make_shared<std::vector<WisdomRecord>>();
  bool all = true;
  for (Impl::File& file : impl_->files) {
    const auto first = std::ssize(*found);
    all &= impl_->with_source(file, [&](WisdomSource& source) {
      source.each_of(family, [&](const WisdomRecord& record) {
        if (record.passed() && !record.dropped) found->push_back(record);
      });
    });
    std::reverse(found->begin() + first, found->end());
  }
  if (all) impl_->families.emplace(family, found);
  return found;
}

std::vector<WisdomRecord> Wisdom::records() const {
  std::vector<WisdomRecord> all;
  impl_->each_whole(
      [&](WisdomSource& source) { source.each([&](const WisdomRecord& record) { all.push_back(record); }); });
  return all;
}

std::vector<FittedModel> Wisdom::models() const {
  std::vector<FittedModel> all;
  impl_->each_whole([&](WisdomSource& source) {
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
  const fs::path folder = fs::path(share_folder(environment, "wisdom")) / "wisdom";
  for (std::string& file : entries_of(folder.string()))
    if (file.ends_with(".jsonl")) files.push_back(std::move(file));
  return files;
}

std::vector<WisdomFile> wisdom_in_use(const WisdomFile& own, const Environment& environment) {
  std::vector<WisdomFile> files;
  if (!own.path.empty()) files.push_back(own);
  // A damaged shipped file must not fail the program.
  for (std::string& shipped : shipped_wisdom(environment)) files.emplace_back(std::move(shipped), false);
  return files;
}

bool is_lines_file(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  const bool by_name = extension == ".jsonl" || extension == ".json";
  const std::string start = sqlite::first_bytes(path, 16);
  if (start.empty()) return by_name;
  if (start.starts_with("SQLite format 3")) return false;
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return by_name || (first != std::string::npos && start[first] == '{');
}

std::unique_ptr<WisdomSource> open_wisdom(const std::string& path, std::chrono::milliseconds wait) {
  if (is_lines_file(path)) return open_lines(path);
  return std::make_unique<WisdomStore>(path, sqlite::Mode::read, wait);
}

}  // namespace tilewright
