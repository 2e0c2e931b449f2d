// The verb wisdom: the records that lookups see, listed and exported as JSON lines, and records of others
// taken into the user's database or compared with it. Files may be databases or JSON lines.
#include "wisdom/wisdom.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "gemm/context_impl.hpp"
#include "json_lines.hpp"
#include "own_wisdom.hpp"
#include "tilewright/context.hpp"
#include "verbs.hpp"

namespace tilewright::cli {

namespace {

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

std::vector<WisdomRecord> records_of(const std::string& argument, const std::string& path) {
  require_file(argument, path);
  return Wisdom({path}, "").records();
}

// The records of one file when it is named, else those of the user's wisdom and the shipped files.
std::vector<WisdomRecord> read_records(const WisdomFlags& flags) {
  std::vector<WisdomRecord> found =
      flags.file.empty() ? Context().impl().wisdom()->records() : records_of("file", flags.file);
  std::erase_if(found, [&](const WisdomRecord& record) {
    return record.problem.find(flags.filter) == std::string::npos;
  });
  return found;
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

// What the record was searched for, where that is not time.
std::string aim(const WisdomRecord& record) {
  const std::string energy =
      record.energy_j ? fmt::format(", {:.4g} J per problem", *record.energy_j) : std::string();
  return (record.objective == "time" ? "" : "  for " + record.objective) + energy;
}

std::string config_text(const nlohmann::json& config) {
  std::string text;
  for (const auto& [name, value] : config.items())
    text += fmt::format(" {}={}", name, value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

void list(const WisdomFlags& flags) {
  const auto records = read_records(flags);
  JsonLines json(flags.json);
  for (const auto& record : records) {
    auto line = to_json(record);
    line["state"] = state_of(record);
    line["measured"] = record.recorded().quality();
    line["well_measured"] = record.recorded().well_measured();
    line["source"] = record.source;
    json.write(line);
    if (flags.json == "-") continue;
    fmt::print("{}  {:.4g} s per problem ({}){}  {}  {}{}{}\n", record.problem, record.seconds,
               record.recorded().quality(), aim(record), record.device, record.family,
               config_text(record.config), remark(record));
  }
  fmt::print(json.people(), "{} record{}\n", records.size(), records.size() == 1 ? "" : "s");
}

void export_lines(const WisdomFlags& flags) {
  std::string lines;
  for (const auto& record : read_records(flags)) lines += record.text + '\n';
  if (flags.output.empty() || flags.output == "-") {
    fmt::print("{}", lines);
    return;
  }
  std::FILE* file = std::fopen(flags.output.c_str(), "w");
  if (file == nullptr)
    throw Error(ErrorCode::invalid_argument, "output",
                fmt::format("output = '{}' cannot be opened", flags.output));
  const bool written = std::fwrite(lines.data(), 1, lines.size(), file) == lines.size();
  if (std::fclose(file) != 0 || !written)
    throw Error(ErrorCode::io, "output", fmt::format("output = '{}' cannot be written", flags.output));
}

// All files or none; each is read before anything is written. Newer records stay; `merging`: those that are
// better measured do.
void take_in(const WisdomFlags& flags, bool merging) {
  std::vector<WisdomRecord> records;
  for (const std::string& file : flags.files)
    for (WisdomRecord& record : records_of("FILE", file)) records.push_back(std::move(record));
  const auto store = open_own_wisdom("into", flags.into);
  const std::int64_t before = store->count();
  std::size_t taken = 0;
  store->at_once([&] {
    for (const WisdomRecord& record : records) {
      if (merging ? store->merge(record) : store->add_found(record)) ++taken;
    }
  });
  fmt::print("{} of {} records taken into {}, which held {} and holds {}\n", taken, records.size(),
             store->path(), before, store->count());
}

using Identified = std::map<std::string, WisdomRecord>;

Identified identified(std::vector<WisdomRecord> found) {
  Identified records;
  for (WisdomRecord& record : found) {
    const std::string identity = identity_of(record);
    records.insert_or_assign(identity, std::move(record));
  }
  return records;
}

void diff(const WisdomFlags& flags) {
  const bool own = flags.files.size() == 1;
  const std::string first_path = own ? user_wisdom_path(Environment::read()) : flags.files[0];
  // The user may have no records yet.
  const Identified first =
      identified(own ? Wisdom({first_path}, "").records() : records_of("FILE", first_path));
  const Identified second = identified(records_of("FILE", flags.files.back()));
  JsonLines json(flags.output.empty() ? "-" : flags.output);
  std::size_t only_first = 0, only_second = 0, differ = 0;
  for (const auto& [identity, record] : first) {
    const auto other = second.find(identity);
    if (other == second.end()) {
      json.write({{"diff", "only_first"}, {"first", to_json(record)}});
      ++only_first;
    } else if (to_json(record) != to_json(other->second)) {
      const char* better = is_better(record, other->second)   ? "first"
                           : is_better(other->second, record) ? "second"
                                                              : "neither";
      json.write({{"diff", "differs"},
                  {"first", to_json(record)},
                  {"second", to_json(other->second)},
                  {"better", better}});
      ++differ;
    }
  }
  for (const auto& [identity, record] : second)
    if (!first.contains(identity)) {
      json.write({{"diff", "only_second"}, {"second", to_json(record)}});
      ++only_second;
    }
  fmt::print(json.people(), "{} only in {}, {} only in {}, {} differ, {} are the same\n", only_first,
             first_path, only_second, flags.files.back(), differ, first.size() - only_first - differ);
}

using Flags = std::shared_ptr<WisdomFlags>;

void add_reading(CLI::App& verb, const Flags& flags) {
  CLI::App* listing = verb.add_subcommand("list", "one line for each record, and whether lookups use it");
  CLI::App* exporting = verb.add_subcommand("export", "the records as JSON lines");
  for (CLI::App* one : {listing, exporting}) {
    one->add_option("PROBLEM", flags->filter, "only problems whose canonical text contains this");
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
      ->required()
      ->expected(1, 2);
  comparing->add_option("-o,--output", flags->output, "writes this file (default stdout)");
  comparing->footer("Example: tilewright wisdom diff colleague.jsonl");
  comparing->callback([flags] { diff(*flags); });
}

void add_writing(CLI::App& verb, const Flags& flags) {
  CLI::App* importing = verb.add_subcommand(
      "import", "takes records into the user's database; they replace those of the same problem");
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
