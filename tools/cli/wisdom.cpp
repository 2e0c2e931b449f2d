// The verb wisdom: the records and fitted models that lookups see, listed and exported as JSON lines, and
// those of others taken into the user's database or compared with it. Files may be databases or JSON lines.
#include "wisdom/wisdom.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "bench/report.hpp"
#include "core/input/json_text.hpp"
#include "core/input/printable.hpp"
#include "core/new_file.hpp"
#include "gemm/context_impl.hpp"
#include "output/files_apart.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "own_wisdom.hpp"
#include "tilewright/context.hpp"
#include "verbs.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright::cli {

namespace {

constexpr std::size_t records_between_words = 4096;

struct WisdomFlags {
  std::string filter, file, output, json, into;
  std::vector<std::string> files;
};

void require_file(const std::string& argument, const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw Error(ErrorCode::invalid_argument, argument,
                fmt::format("{} = '{}' cannot be opened", argument, path));
}

struct Known {
  std::vector<WisdomRecord> records;
  std::vector<FittedModel> models;
};

Known known_to(const Wisdom& wisdom) { return {wisdom.records(), wisdom.models()}; }

Known known_of(const std::string& argument, const std::string& path) {
  require_file(argument, path);
  return known_to(Wisdom(
      {path}, "", [](const std::string& message) { fmt::print(stderr, "tilewright: {}\n", message); }));
}

// What one file holds when it is named, else the user's wisdom and the shipped files.
Known read_known(const WisdomFlags& flags) {
  Known known =
      flags.file.empty() ? known_to(*Access::impl(Context()).wisdom()) : known_of("file", flags.file);
  const auto differs = [&](const std::string& text) { return text.find(flags.filter) == std::string::npos; };
  std::erase_if(known.records, [&](const WisdomRecord& record) { return differs(record.problem); });
  std::erase_if(known.models, [&](const FittedModel& model) { return differs(model.model); });
  return known;
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Whether lookups use a record, and why not.
std::string state_of(const WisdomRecord& record) {
  if (!record.passed()) return record.verdict;
  return record.dropped ? "stale" : "current";
}

std::string remark(const WisdomRecord& record) {
  if (!record.passed())
    return fmt::format("  [{}{}]", record.verdict, record.reason.empty() ? "" : ": " + record.reason);
  return record.dropped ? "  [stale: measured with other kernel sources, not used]" : "";
}

// A line of what others may have written.
void tell(const std::string& line) { fmt::print("{}\n", printable(line)); }

// What the record was searched for, where that is not time.
std::string aim(const WisdomRecord& record) {
  const std::string energy =
      record.energy_j ? fmt::format(", {:.4g} J per problem", *record.energy_j) : std::string();
  return (record.objective == "time" ? "" : "  for " + record.objective) + energy;
}

void list_record(const WisdomRecord& record, JsonLines& json, bool for_people) {
  auto line = to_json(record);
  line["state"] = state_of(record);
  line["measured"] = record.recorded().quality();
  line["well_measured"] = record.recorded().well_measured();
  line["source"] = record.source;
  json.write(line);
  if (for_people)
    tell(fmt::format("{}  {:.4g} s per problem ({}){}  {}  {}{}{}", record.problem, record.seconds,
                     record.recorded().quality(), aim(record), record.device, record.family,
                     bench::config_text(record.config), remark(record)));
}

void list_model(const FittedModel& model, JsonLines& json, bool for_people) {
  auto line = to_json(model);
  line["state"] = model.dropped ? "stale" : "current";
  line["source"] = model.source;
  json.write(line);
  if (!for_people) return;
  const std::string of =
      fmt::format("{}{}{}", model.library, model.library.empty() ? "" : " ", model.library_version);
  const std::string residual = model.residual ? fmt::format(", residual {:.3g}", *model.residual) : "";
  tell(fmt::format("model {} of {}{}{}  {}  {}{}{}", model.model, model.operation,
                   model.dtype.empty() ? "" : " ", model.dtype, model.device,
                   counted(std::size_t(model.samples), "sample"), residual,
                   (of.empty() ? "" : "  " + of) +
                       (model.dropped ? "  [stale: fitted to other kernel sources, not used]" : "")));
}

void list(const WisdomFlags& flags) {
  keep_files_apart({{"file", flags.file}}, {{"json", flags.json}});
  const Known known = read_known(flags);
  JsonLines json(flags.json);
  const bool for_people = json.people() == stdout;
  for (const auto& record : known.records) list_record(record, json, for_people);
  for (const auto& model : known.models) list_model(model, json, for_people);
  const std::string models =
      known.models.empty() ? "" : " and " + counted(known.models.size(), "fitted model");
  fmt::print(json.people(), "{}{}\n", counted(known.records.size(), "record"), models);
}

void export_lines(const WisdomFlags& flags) {
  keep_files_apart({{"file", flags.file}}, {{"output", flags.output}});
  // Whoever has a database open would go on writing to the file that was replaced.
  if (sqlite::is_database(flags.output))
    throw Error(ErrorCode::invalid_argument, "output",
                fmt::format("output = '{}' is a database, and JSON lines are written: name another file",
                            flags.output));
  const Known known = read_known(flags);
  std::string lines;
  for (const auto& record : known.records) lines += json_line(to_json(record)) + '\n';
  for (const auto& model : known.models) lines += json_line(to_json(model)) + '\n';
  if (flags.output.empty() || flags.output == "-") {
    fmt::print("{}", lines);
    return;
  }
  std::fflush(stdout);
  write_file({"output", flags.output}, lines);
}

// Rows of a database that somebody else made must be what lines of a file must be.
void check_rows(const std::string& path, const std::vector<WisdomRecord>& records) {
  if (!sqlite::is_database(path)) return;
  for (const WisdomRecord& record : records) try {
      check(record);
    } catch (const Error& error) {
      throw Error(ErrorCode::io, "FILE",
                  fmt::format("FILE = '{}': record {}: {}", path, record.source, error.what()));
    }
}

// All files or none; each is read before anything is written. Newer records stay; `merging`: those that are
// better measured do.
void take_in(const WisdomFlags& flags, bool merging) {
  std::vector<Known> files;
  for (const std::string& file : flags.files) {
    files.push_back(known_of("FILE", file));
    check_rows(file, files.back().records);
  }
  const auto store = open_own_wisdom("into", flags.into);
  const std::int64_t before = store->count();
  std::size_t records = 0, taken = 0, models = 0, models_taken = 0;
  const auto take = [&](const auto& one) { return merging ? store->merge(one) : store->add_found(one); };
  store->at_once([&] {
    for (const Known& known : files) {
      records += known.records.size(), models += known.models.size();
      Progress progress("taking in records", std::ssize(known.records));
      for (std::size_t i = 0; i < known.records.size(); ++i) {
        if (i % records_between_words == 0) progress.show(std::int64_t(i));
        taken += take(known.records[i]) ? 1 : 0;
      }
      for (const FittedModel& model : known.models) models_taken += take(model) ? 1 : 0;
    }
  });
  for (std::size_t i = 0; i < files.size(); ++i)
    if (files[i].records.empty() && files[i].models.empty())
      fmt::print("'{}' holds nothing\n", flags.files[i]);
  fmt::print("{} of {} records taken into {}, which held {} and holds {}\n", taken, records, store->path(),
             before, store->count());
  if (models > 0) fmt::print("{} of {} taken\n", models_taken, counted(models, "fitted model"));
}

// Records or models by what only one of them is kept for.
template <class S>
std::map<std::string, S> identified(std::vector<S> found) {
  std::map<std::string, S> known;
  for (S& one : found) {
    const std::string identity = identity_of(one);
    known.insert_or_assign(identity, std::move(one));
  }
  return known;
}

struct Differences {
  std::size_t only_first = 0, only_second = 0, differ = 0, same = 0;
};

template <class S>
void compare(std::vector<S> firsts, std::vector<S> seconds, JsonLines& json, Differences& count) {
  const auto first = identified(std::move(firsts)), second = identified(std::move(seconds));
  for (const auto& [identity, one] : first) {
    const auto other = second.find(identity);
    if (other == second.end()) {
      json.write({{"diff", "only_first"}, {"first", to_json(one)}});
      ++count.only_first;
    } else if (to_json(one) != to_json(other->second)) {
      const char* better = is_better(one, other->second)   ? "first"
                           : is_better(other->second, one) ? "second"
                                                           : "neither";
      json.write({{"diff", "differs"},
                  {"first", to_json(one)},
                  {"second", to_json(other->second)},
                  {"better", better}});
      ++count.differ;
    } else {
      ++count.same;
    }
  }
  for (const auto& [identity, one] : second)
    if (!first.contains(identity)) {
      json.write({{"diff", "only_second"}, {"second", to_json(one)}});
      ++count.only_second;
    }
}

void diff(const WisdomFlags& flags) {
  if (flags.files.size() > 2)
    throw Error(ErrorCode::invalid_argument, "FILE",
                fmt::format("FILE = '{}' is a third file: two are compared", flags.files[2]));
  const bool own = flags.files.size() == 1;
  const std::string first_path = own ? user_wisdom_path(Environment::read()) : flags.files[0];
  keep_files_apart({{"FILE", first_path}, {"FILE", flags.files.back()}}, {{"output", flags.output}});
  // The user may have no records yet.
  Known first = own ? known_to(Wisdom({first_path}, "")) : known_of("FILE", first_path);
  Known second = known_of("FILE", flags.files.back());
  JsonLines json(flags.output.empty() ? "-" : flags.output);
  Differences count;
  compare(std::move(first.records), std::move(second.records), json, count);
  compare(std::move(first.models), std::move(second.models), json, count);
  fmt::print(json.people(), "{} only in {}, {} only in {}, {} differ, {} are the same\n", count.only_first,
             first_path, count.only_second, flags.files.back(), count.differ, count.same);
}

using Flags = std::shared_ptr<WisdomFlags>;

void add_reading(CLI::App& verb, const Flags& flags) {
  CLI::App* listing =
      verb.add_subcommand("list", "one line for each record and fitted model, and whether lookups use it");
  CLI::App* exporting = verb.add_subcommand("export", "the records and fitted models as JSON lines");
  for (CLI::App* one : {listing, exporting}) {
    one->add_option("PROBLEM", flags->filter,
                    "only problems whose canonical text, and models whose name, contains this");
    one->add_option("--file", flags->file,
                    "reads this file instead of the user's wisdom and the shipped files");
  }
  listing->add_option("--json", flags->json,
                      "writes the records with their state as JSON lines (- is stdout)");
  exporting->add_option("-o,--output", flags->output, "writes this file (default stdout)");
  listing->footer("Example: tilewright wisdom list f64:nn:m=8");
  exporting->footer("Example: tilewright wisdom export f32 -o f32.jsonl");
  listing->callback([flags] { list(*flags); });
  exporting->callback([flags] { export_lines(*flags); });

  CLI::App* comparing = verb.add_subcommand("diff", "what two files know differently, as JSON lines");
  comparing->add_option("FILE", flags->files, "one file, compared with the user's wisdom, or two")
      ->required();
  comparing->add_option("-o,--output", flags->output, "writes this file (default stdout)");
  comparing->footer("Example: tilewright wisdom diff colleague.jsonl");
  comparing->callback([flags] { diff(*flags); });
}

void add_writing(CLI::App& verb, const Flags& flags) {
  CLI::App* importing = verb.add_subcommand(
      "import", "takes records and models into the user's database; they replace those of the same problem");
  CLI::App* merging =
      verb.add_subcommand("merge", "the same, but of two records of a problem the better measured one stays");
  for (CLI::App* one : {importing, merging}) {
    one->add_option("FILE", flags->files, "JSON lines or databases")->required();
    one->add_option("--into", flags->into, "this database instead of the user's");
  }
  importing->footer("Example: tilewright wisdom import f32.jsonl");
  merging->footer("Example: tilewright wisdom merge node1.sqlite node2.sqlite");
  importing->callback([flags] { take_in(*flags, false); });
  merging->callback([flags] { take_in(*flags, true); });
}

}  // namespace

void add_wisdom(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("wisdom", "the records of which config was measured best for which problem");
  verb->require_subcommand(1);
  verb->footer("Example: tilewright wisdom list f64:nn:m=8");
  const auto flags = std::make_shared<WisdomFlags>();
  add_reading(*verb, flags);
  add_writing(*verb, flags);
}

}  // namespace tilewright::cli
