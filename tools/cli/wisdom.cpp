// The verb wisdom: the user's records and fitted models, with --shipped all that lookups see, listed and
// exported as JSON lines, and those of others taken into the user's database or compared with it. Files may
// be databases or JSON lines.
#include "wisdom/wisdom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>

#include "core/input/json_text.hpp"
#include "core/new_file.hpp"
#include "core/quantity.hpp"
#include "gemm/context_impl.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "people/refusal.hpp"
#include "report/wisdom_table.hpp"
#include "tilewright/context.hpp"
#include "tune_flags.hpp"
#include "verbs.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright::cli {

namespace {

constexpr std::size_t records_between_words = 4096;

struct WisdomFlags {
  std::string filter, file, output, json, into, device;
  bool shipped = false;
  std::vector<std::string> files;
};

void require_file(const std::string& argument, const std::string& path) {
  require_readable(argument, path);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    wrong_use(argument, "{} = '{}' cannot be opened: it is not a regular file", argument, path);
}

struct Known {
  std::vector<WisdomRecord> records;
  std::vector<FittedModel> models;
};

// Returns "2 records and 1 fitted model".
std::string counts_text(const Known& known) {
  const std::string models =
      known.models.empty() ? "" : " and " + counted(std::ssize(known.models), "fitted model");
  return counted(std::ssize(known.records), "record") + models;
}

Known known_to(const Wisdom& wisdom) { return {wisdom.records(), wisdom.models()}; }

Known known_of(const std::string& argument, const std::string& path) {
  require_file(argument, path);
  return known_to(Wisdom(
      {path}, "", [](const std::string& message) { fmt::print(stderr, "tilewright: {}\n", message); }));
}

// The user's own records, and with --shipped those of tilewright.
Known known_here(const WisdomFlags& flags) {
  const Context context;
  if (flags.shipped) return known_to(*Access::impl(context).wisdom());
  const std::string& own = Access::impl(context).own_wisdom;
  return own.empty() ? Known() : known_to(Wisdom({own}, ""));
}

bool contains_anycase(const std::string& text, const std::string& part) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

// Reads the named file, else the user's wisdom.
Known read_known(const WisdomFlags& flags) {
  if (flags.shipped && !flags.file.empty()) wrong_use("--shipped", "--shipped does not apply to --file");
  Known known = flags.file.empty() ? known_here(flags) : known_of("file", flags.file);
  const auto is_elsewhere = [&](const auto& one) { return !contains_anycase(one.device, flags.device); };
  std::erase_if(known.records, is_elsewhere);
  std::erase_if(known.models, is_elsewhere);
  const auto differs = [&](const std::string& text) { return text.find(flags.filter) == std::string::npos; };
  std::erase_if(known.records, [&](const WisdomRecord& record) { return differs(record.problem); });
  std::erase_if(known.models, [&](const FittedModel& model) { return differs(model.model); });
  return known;
}

nlohmann::json line_of(const WisdomRecord& record) {
  auto line = to_json(record);
  line["state"] = state_of(record);
  line["measured"] = record.recorded().quality();
  line["well_measured"] = record.recorded().well_measured();
  line["source"] = record.source;
  return line;
}

nlohmann::json line_of(const FittedModel& model) {
  auto line = to_json(model);
  line["state"] = model.dropped ? "stale" : "current";
  line["source"] = model.source;
  return line;
}

void list(const WisdomFlags& flags) {
  keep_files_apart({{"file", flags.file}}, {{"json", flags.json}});
  const Known known = read_known(flags);
  JsonLines json(flags.json);
  for (const auto& record : known.records) json.write(line_of(record));
  for (const auto& model : known.models) json.write(line_of(model));
  if (json.people() == stdout) {
    print_records(stdout, known.records);
    print_models(stdout, known.models);
  }
  fmt::print(
      json.people(), "{}{}\n", counts_text(known),
      flags.file.empty() && !flags.shipped ? " of your own; --shipped shows those of tilewright too" : "");
}

void export_lines(const WisdomFlags& flags) {
  keep_files_apart({{"file", flags.file}}, {{"output", flags.output}});
  // Whoever has a database open would go on writing to the file that was replaced.
  if (sqlite::is_database(flags.output))
    refuse_value("output", flags.output, "is a database, but JSON lines are written: name another file");
  const Known known = read_known(flags);
  std::string lines;
  for (const auto& record : known.records) lines += json_line(to_json(record)) + '\n';
  for (const auto& model : known.models) lines += json_line(to_json(model)) + '\n';
  if (flags.output.empty() || flags.output == "-") {
    fmt::print("{}", lines);
    return;
  }
  std::fflush(stdout);
  OutputFile file({"output", flags.output});
  std::FILE* const people = file.is_stdout() ? stderr : stdout;
  file.write(lines);
  fmt::print(people, "{} written to {}\n", counts_text(known), flags.output);
}

// Rows of a database that somebody else made must be what lines of a file must be.
void check_rows(const std::string& path, const std::vector<WisdomRecord>& records) {
  if (!sqlite::is_database(path)) return;
  for (const WisdomRecord& record : records) try {
      check(record);
    } catch (const Error& error) {
      io_fault("FILE", "FILE = '{}': record {}: {}", path, record.source, error.what());
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
    if (files[i].records.empty() && files[i].models.empty()) fmt::print("'{}' is empty\n", flags.files[i]);
  fmt::print("{} of {} imported into {}, which had {} and now has {}\n", taken,
             counted(std::int64_t(records), "record"), store->path(), before, store->count());
  if (models > 0) fmt::print("{} of {} taken\n", models_taken, counted(std::int64_t(models), "fitted model"));
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
  std::vector<DifferenceRow> rows;  // for people
};

template <class S>
void compare(std::vector<S> firsts, std::vector<S> seconds, JsonLines& json, Differences& count) {
  const auto first = identified(std::move(firsts)), second = identified(std::move(seconds));
  for (const auto& [identity, one] : first) {
    const auto other = second.find(identity);
    if (other == second.end()) {
      json.write({{"diff", "only_first"}, {"first", to_json(one)}});
      count.rows.push_back(difference_row(&one, nullptr, ""));
      ++count.only_first;
    } else if (to_json(one) != to_json(other->second)) {
      const char* better = is_better(one, other->second)   ? "first"
                           : is_better(other->second, one) ? "second"
                                                           : "neither";
      json.write({{"diff", "differs"},
                  {"first", to_json(one)},
                  {"second", to_json(other->second)},
                  {"better", better}});
      count.rows.push_back(difference_row(&one, &other->second, better));
      ++count.differ;
    } else {
      ++count.same;
    }
  }
  for (const auto& [identity, one] : second)
    if (!first.contains(identity)) {
      json.write({{"diff", "only_second"}, {"second", to_json(one)}});
      count.rows.push_back(difference_row(nullptr, &one, ""));
      ++count.only_second;
    }
}

void diff(const WisdomFlags& flags) {
  if (flags.files.size() > 2) refuse_value("FILE", flags.files[2], "is a third file, but diff compares two");
  const bool own = flags.files.size() == 1;
  const std::string first_path = own ? user_wisdom_path(Environment::read()) : flags.files[0];
  const bool two = !flags.output.empty() && !flags.json.empty();
  if (two) wrong_use("--json", "--json and --output name the same lines");
  const NamedFile lines =
      flags.json.empty() ? NamedFile{"output", flags.output} : NamedFile{"json", flags.json};
  keep_files_apart({{"FILE", first_path}, {"FILE", flags.files.back()}}, {lines});
  // The user may have no records yet.
  Known first = own ? known_to(Wisdom({first_path}, "")) : known_of("FILE", first_path);
  Known second = known_of("FILE", flags.files.back());
  JsonLines json(lines.path);
  Differences count;
  compare(std::move(first.records), std::move(second.records), json, count);
  compare(std::move(first.models), std::move(second.models), json, count);
  if (json.people() == stdout) print_differences(stdout, count.rows);
  fmt::print(json.people(), "{} only in {}, {} only in {}, {} differ, {} are the same\n", count.only_first,
             first_path, count.only_second, flags.files.back(), count.differ, count.same);
}

using Flags = std::shared_ptr<WisdomFlags>;

void add_reading(CLI::App& verb, const Flags& flags) {
  CLI::App* listing =
      verb.add_subcommand("list", "List your records and fitted models, and whether lookups use them");
  CLI::App* exporting = verb.add_subcommand("export", "Write the records and fitted models as JSON lines");
  for (CLI::App* one : {listing, exporting}) {
    one->add_option("PROBLEM", flags->filter,
                    "only problems whose canonical text, and models whose name, contain this");
    one->add_option("--file", flags->file, "read this file instead of the user's own wisdom");
    one->add_flag("--shipped", flags->shipped, "read the records that tilewright comes with as well");
    one->add_option("--device", flags->device, "only records of devices whose name contains this");
  }
  listing->add_option("--json", flags->json,
                      "write the records with their state as JSON lines (- is stdout)");
  exporting->add_option("-o,--output", flags->output, "write this file (default stdout)");
  listing->footer("Example: tilewright wisdom list f64:nn:m=8");
  exporting->footer("Example: tilewright wisdom export f32 -o f32.jsonl");
  listing->callback([flags] { list(*flags); });
  exporting->callback([flags] { export_lines(*flags); });

  CLI::App* comparing = verb.add_subcommand("diff", "Show the differences of two files");
  comparing->add_option("FILE", flags->files, "one file, compared with the user's wisdom, or two")
      ->required();
  comparing->add_option("-o,--output", flags->output, "write the differences as JSON lines to this file");
  comparing->add_option("--json", flags->json, "the same (- is stdout)");
  comparing->footer("Example: tilewright wisdom diff colleague.jsonl");
  comparing->callback([flags] { diff(*flags); });
}

void add_writing(CLI::App& verb, const Flags& flags) {
  CLI::App* importing = verb.add_subcommand(
      "import", "Import records and models into the user's database; they replace those of the same problem");
  CLI::App* merging = verb.add_subcommand(
      "merge", "Import likewise, but keep the better measured one of two records of a problem");
  for (CLI::App* one : {importing, merging}) {
    one->add_option("FILE", flags->files, "JSON lines or databases")->required();
    one->add_option("--into", flags->into, "use this database instead of the user's");
  }
  importing->footer("Example: tilewright wisdom import f32.jsonl");
  merging->footer("Example: tilewright wisdom merge node1.sqlite node2.sqlite");
  importing->callback([flags] { take_in(*flags, false); });
  merging->callback([flags] { take_in(*flags, true); });
}

}  // namespace

void add_wisdom(CLI::App& app) {
  CLI::App* verb = app.add_subcommand(
      "wisdom", "List, export, import, merge or compare the records of the best config of each problem");
  verb->require_subcommand(1);
  verb->footer("Example: tilewright wisdom list f64:nn:m=8");
  const auto flags = std::make_shared<WisdomFlags>();
  add_reading(*verb, flags);
  add_writing(*verb, flags);
}

}  // namespace tilewright::cli
