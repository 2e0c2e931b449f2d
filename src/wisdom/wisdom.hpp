// Wisdom: the best measured configs of problems, and the fitted models of devices. Lookups ask the user's
// database before the shipped JSON lines and report how well the answer fits. Files are opened on the first
// lookup, shipped ones only if the user's records do not answer. store.hpp writes them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/env.hpp"
#include "core/problem.hpp"
#include "wisdom/source.hpp"

namespace tilewright {

// The quality of a record for the problem of the query.
enum class WisdomMatch : std::uint8_t { exact, near_shape, near_device, none };  // none prints as "default"
TILEWRIGHT_NAMES(WisdomMatch, "exact", "near_shape", "near_device", "default");

// A found config of any family.
struct WisdomAnswer {
  nlohmann::json config;
  WisdomMatch match = WisdomMatch::none;
  std::string source;  // "file:line" or "file#record"
  RecordedTime recorded;
  std::string problem, device;  // of the measurement
  double distance = 0;          // of that problem from the one asked for: logarithms of ratios, and penalties
};

// A model of a device, or of another one of the same architecture.
struct FoundModel {
  FittedModel model;
  WisdomMatch match = WisdomMatch::none;  // exact or near_device
};

class Wisdom;

// Returns a function, for kernels, that finds the coefficients of a model by name and type; null if there is
// none. Without `wisdom`, which must outlive it, it asks the shipped files.
std::function<nlohmann::json(const std::string& model, DType dtype)> fitted_coefficients(
    const Wisdom* wisdom, std::string device, std::string architecture);

struct WisdomFile {
  std::string path;
  // True: a faulty file throws. False: it is reported and skipped, because the program never named it.
  bool named = true;

  WisdomFile(std::string file, bool is_named = true) : path(std::move(file)), named(is_named) {}
};

class Wisdom {
 public:
  // The first file has precedence; a missing one is no error. `device` is the default of queries. `report`
  // receives notes on unnamed files that cannot be used, and on files that take long to read.
  Wisdom(std::vector<WisdomFile> files, std::string device,
         std::function<void(const std::string&)> report = {});
  ~Wisdom();

  // Offers at most eight distinct configs, best first, until one is taken; false if none was. In this order:
  //   exact: same dtype, ops, m, n, k, layout (and block), beta class and residency, recorded on this device;
  //     strides, batch_count and leading dimensions may differ.
  //   near_shape: nearest m, n, k with the rest equal, or with l1 for l2, beta one for general, or a strided
  //     batch for a single problem or a pointer batch (and the reverse of each).
  //   near_device: both of these from records of another device with the same architecture.
  // Isolated calls (Arrival::idle) are then offered records of calls back to back, in the same order.
  // The caller checks that a config is legal. Throws Error(io) for named files that cannot be used. A file
  // locked by another process costs at most 50 ms; it is reported and skipped for a second, named or not.
  // Repeated lookups in an unchanged file are answered from memory. No lock or file is held during an offer.
  using Take = std::function<bool(const WisdomAnswer& answer)>;
  bool offer(WisdomQuery query, const Take& take) const;

  // The model with the greatest fit_of(), of equals the first file's, or null. Answers are cached.
  std::shared_ptr<const FoundModel> model(const ModelQuery& query) const;

  // The passed and current records of a family without keys, in the order of the files, the newest of a file
  // first. Cached.
  std::shared_ptr<const std::vector<WisdomRecord>> records_of(const std::string& family) const;

  // All records and models, failed and stale ones too. Wait ten seconds for locked files.
  std::vector<WisdomRecord> records() const;
  std::vector<FittedModel> models() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The user's file: TILEWRIGHT_WISDOM, else tilewright/wisdom.sqlite in $XDG_DATA_HOME or ~/.local/share; ""
// without such a folder, or if these are not absolute paths.
std::string user_wisdom_path(const Environment& environment);

// The *.jsonl files of the shipped wisdom, sorted by name.
std::vector<std::string> shipped_wisdom(const Environment& environment);

// Longest wait of a call for a locked file.
inline constexpr std::chrono::milliseconds wait_of_calls{50};

// The files of lookups: the user's file, unless its path is empty, then the shipped ones.
std::vector<WisdomFile> wisdom_in_use(const WisdomFile& own, const Environment& environment);

// True if a file is read as JSON lines and not as a database: by its content, or by its name if it is
// missing. Keeps the locks of the process's other connections to a database.
bool is_lines_file(const std::string& path);

// Opens either kind of file to read from; `wait` limits waiting for other processes.
std::unique_ptr<WisdomSource> open_wisdom(const std::string& path, std::chrono::milliseconds wait);

}  // namespace tilewright
