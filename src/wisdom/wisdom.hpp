// Wisdom: which config was measured best for which problem, and which models were fitted to a device. It asks
// its files in turn, the user's database before the shipped JSON lines, and says how well what it found fits.
// Nothing is opened before the first lookup, and no shipped file while the user's own records answer. Files
// are written by store.hpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/env.hpp"
#include "core/problem.hpp"
#include "wisdom/source.hpp"

namespace tilewright {

// How well a record fits the problem that asked.
enum class WisdomMatch : std::uint8_t { exact, near_shape, near_device, none };  // none prints as "default"
template <>
struct EnumNames<WisdomMatch> {
  static constexpr std::array value{
      std::pair{WisdomMatch::exact, "exact"}, std::pair{WisdomMatch::near_shape, "near_shape"},
      std::pair{WisdomMatch::near_device, "near_device"}, std::pair{WisdomMatch::none, "default"}};
};

// A found config of any family.
struct WisdomAnswer {
  nlohmann::json config;
  WisdomMatch match = WisdomMatch::none;
  std::string source;  // "file:line" or "file#record"
  RecordedTime recorded;
  std::string problem, device;  // that it was measured for and on
};

// A model that serves a device, its own or another's of the same architecture.
struct FoundModel {
  FittedModel model;
  WisdomMatch match = WisdomMatch::none;  // exact or near_device
};

class Wisdom;

// Coefficients of the model of that name and type for a device, null where there is none: for kernels, which
// know no wisdom. Null: asks what is shipped. `wisdom` must outlive it.
std::function<nlohmann::json(const std::string& model, DType dtype)> fitted_coefficients(
    const Wisdom* wisdom, std::string device, std::string architecture);

struct WisdomFile {
  std::string path;
  // Whether trouble with the file is thrown, or reported and the file done without: a program that never
  // named it should not fail because of it.
  bool named = true;

  WisdomFile(std::string file, bool is_named = true) : path(std::move(file)), named(is_named) {}
};

class Wisdom {
 public:
  // The files in the order in which they are believed; a missing one is no error. Queries that name no device
  // are for `device`. `report` is told of files that were not named and cannot be used, and of lines so many
  // that reading them takes long.
  Wisdom(std::vector<WisdomFile> files, std::string device,
         std::function<void(const std::string&)> report = {});
  ~Wisdom();

  // Offers at most eight distinct configs, best first, until one is taken; false when none was. In this
  // order:
  //   exact: same dtype, ops, m, n, k, layout (and block), beta class and residency, recorded on this device;
  //     strides, batch_count and leading dimensions may differ.
  //   near_shape: nearest m, n, k with the rest equal, or where l1 stands for l2, beta one for general, or a
  //     strided batch for a single problem or a pointer batch (and the reverse of each).
  //   near_device: both of these from records of another device with the same architecture.
  // The caller checks that a config is legal. Throws Error(io) for named files that cannot be used. A file
  // that another process keeps locked costs a call at most 50 ms; it is reported and done without for a
  // second, named or not. What was looked up before in a file that has not changed is answered from memory.
  // Nothing is locked and no file open while a record is offered.
  using Take = std::function<bool(const WisdomAnswer& answer)>;
  bool offer(WisdomQuery query, const Take& take) const;

  // The model that fits best (fit_of), of equally good ones the first file's; null where there is none. What
  // one query found is kept, so that asking again costs next to nothing and opens no file.
  std::shared_ptr<const FoundModel> model(const ModelQuery& query) const;

  // Of a family that lookups do not search by keys: the passed and current records, in the order in which
  // files are believed, the newest of a file first. Kept once they were asked for.
  std::shared_ptr<const std::vector<WisdomRecord>> records_of(const std::string& family) const;

  // Everything the files hold, the failed and the stale too; waits ten seconds for files that are locked.
  std::vector<WisdomRecord> records() const;
  std::vector<FittedModel> models() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The user's file: TILEWRIGHT_WISDOM, else tilewright/wisdom.sqlite in $XDG_DATA_HOME or ~/.local/share; ""
// where there is no such folder, as where these are no absolute paths.
std::string user_wisdom_path(const Environment& environment);

// The *.jsonl files of the shipped wisdom, sorted by name; empty where none is installed.
std::vector<std::string> shipped_wisdom(const Environment& environment);

// So long a call waits for a file that another process keeps locked.
inline constexpr std::chrono::milliseconds wait_of_calls{50};

// What lookups ask: the user's file, unless its path is empty, and then what is shipped.
std::vector<WisdomFile> wisdom_in_use(const WisdomFile& own, const Environment& environment);

// Whether a file is read as JSON lines (by its content, or by its name while it does not exist) and not as a
// database. Another connection of the process to a database keeps its locks.
bool is_lines_file(const std::string& path);

// The file as a source to read from, whichever of the two it is; it waits so long for other processes.
std::unique_ptr<WisdomSource> open_wisdom(const std::string& path, std::chrono::milliseconds wait);

}  // namespace tilewright
