// The verb pages: writes the man pages and the completions of bash, zsh and fish, from the declarations of
// the verbs and flags. The folder is laid out like share/, so that an installation copies it.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>

#include "core/input/failure.hpp"
#include "core/new_file.hpp"
#include "people/refusal.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> flags_of(const CLI::App& app) {
  std::vector<const CLI::Option*> all = app.get_options();
  std::erase_if(
      all, [](const CLI::Option* one) { return one->get_lnames().empty() && one->get_snames().empty(); });
  return all;
}

bool takes_value(const CLI::Option& flag) { return flag.get_items_expected_max() > 0; }

// "tilewright wisdom list"
std::string full_name(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

std::string replaced(std::string text, char from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, 1, to);
  return text;
}

// ---- man pages

std::string roff(const std::string& text) {
  std::string safe = replaced(replaced(text, '\\', "\\e"), '-', "\\-");
  if (safe.starts_with('.') || safe.starts_with('\'')) safe.insert(0, "\\&");
  return replaced(safe, '\n', "\n.br\n");
}

std::string dashed_names(const CLI::Option& flag) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const std::string& name : flag.get_snames()) add("-" + name);
  for (const std::string& name : flag.get_lnames()) add("--" + name);
  return names;
}

std::string option_paragraphs(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* one : app.get_options()) {
    const bool positional = one->get_positional();
    const std::string name = positional ? one->get_name() : dashed_names(*one);
    const std::string value = !positional && takes_value(*one) ? " \\fIVALUE\\fR" : "";
    const std::string fallback = one->get_default_str().empty() || !takes_value(*one)
                                     ? ""
                                     : fmt::format(" (default {})", one->get_default_str());
    text +=
        fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(name), value, roff(one->get_description() + fallback));
  }
  return text;
}

std::string manual(const CLI::App& app, const std::string& version) {
  const std::string name = full_name(app), page = replaced(name, ' ', "-");
  std::string title = page;
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string text = fmt::format(".TH {} 1 \"\" \"tilewright {}\" \"User Commands\"\n", title, version);
  text += fmt::format(".SH NAME\n{} \\- {}\n", page, roff(app.get_description()));
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR", roff(name));
  if (!verbs_of(app).empty()) text += " \\fIVERB\\fR";
  for (const CLI::Option* one : app.get_options())
    if (one->get_positional()) text += fmt::format(" \\fI{}\\fR", roff(one->get_name()));
  text += " [\\fIOPTIONS\\fR]\n";
  if (!verbs_of(app).empty()) {
    text += ".SH VERBS\n";
    for (const CLI::App* verb : verbs_of(app))
      text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", roff(page + "-" + verb->get_name()),
                          roff(verb->get_description()));
  }
  text += ".SH OPTIONS\n" + option_paragraphs(app);
  if (!app.get_footer().empty()) text += ".SH EXAMPLES\n" + roff(app.get_footer()) + '\n';
  return text + ".SH EXIT STATUS\n0 success, 1 a failed job, 2 wrong use.\n";
}

void add_manuals(const CLI::App& app, const std::string& version, std::map<std::string, std::string>& files) {
  files[fmt::format("man/man1/{}.1", replaced(full_name(app), ' ', "-"))] = manual(app, version);
  for (const CLI::App* verb : verbs_of(app)) add_manuals(*verb, version, files);
}

// ---- completions

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The verbs and flags that may follow the words of a verb.
std::vector<std::string> words_after(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* verb : verbs_of(app)) words.push_back(verb->get_name());
  for (const CLI::Option* flag : flags_of(app))
    for (const std::string& name : flag->get_lnames()) words.push_back("--" + name);
  return words;
}

std::string bash_cases(const CLI::App& app) {
  std::string text = fmt::format("    '{}') words='{}' ;;\n", full_name(app), joined(words_after(app)));
  for (const CLI::App* verb : verbs_of(app)) text += bash_cases(*verb);
  return text;
}

// The verbs in front of the cursor are the path; flags and their values are passed over.
std::string bash_completion(const CLI::App& app) {
  return fmt::format(
      "# bash completion of tilewright\n_tilewright() {{\n"
      "  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" path=tilewright words= i known=' {} '\n"
      "  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do\n"
      "    case \"$known\" in *\" $path ${{COMP_WORDS[i]}},\"*) path=\"$path ${{COMP_WORDS[i]}}\" ;; *) "
      "break ;; esac\n"
      "  done\n  case \"$path\" in\n{}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}}\n"
      "complete -o default -o bashdefault -F _tilewright tilewright\n",
      [&] {
        std::string known;
        for (const CLI::App* verb : verbs_of(app)) {
          known += " " + full_name(*verb) + ",";
          for (const CLI::App* below : verbs_of(*verb)) known += " " + full_name(*below) + ",";
        }
        return known;
      }(),
      bash_cases(app));
}

std::string zsh_text(const std::string& text) {
  std::string safe;
  for (const char c : text.substr(0, text.find('\n'))) {
    if (c == '\'') {
      safe += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string zsh_function(const CLI::App& app) {
  std::string text = fmt::format("{}() {{\n", "_" + replaced(full_name(app), ' ', "_"));
  const auto verbs = verbs_of(app);
  text += "  _arguments -C \\\n";
  for (const CLI::Option* flag : flags_of(app))
    for (const std::string& name : flag->get_lnames())
      text += fmt::format("    '--{}[{}]{}' \\\n", name, zsh_text(flag->get_description()),
                          takes_value(*flag) ? ":value:_files" : "");
  if (verbs.empty()) return text + "    '*:file:_files'\n}\n";
  text += "    '1:verb:((";
  for (const CLI::App* verb : verbs)
    text +=
        fmt::format("{}\\:\"{}\" ", verb->get_name(), replaced(zsh_text(verb->get_description()), '"', ""));
  text += "))' '*::argument:->below'\n  case \"$line[1]\" in\n";
  for (const CLI::App* verb : verbs)
    text += fmt::format("    {}) _{} ;;\n", verb->get_name(), replaced(full_name(*verb), ' ', "_"));
  text += "  esac\n}\n";
  for (const CLI::App* verb : verbs) text += zsh_function(*verb);
  return text;
}

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text.substr(0, text.find('\n')), '\\', "\\\\"), '\'', "\\'") + "'";
}

// Lines for the words that follow a verb; `condition` says that the verb has been given.
std::string fish_lines(const CLI::App& app, const std::string& condition) {
  std::string text, names;
  for (const CLI::App* verb : verbs_of(app)) names += " " + verb->get_name();
  for (const CLI::App* verb : verbs_of(app)) {
    const std::string before = app.get_parent() == nullptr
                                   ? "__fish_use_subcommand"
                                   : condition + "; and not __fish_seen_subcommand_from" + names;
    text += fmt::format("complete -c tilewright -f -n '{}' -a {} -d {}\n", before, verb->get_name(),
                        fish_quoted(verb->get_description()));
    text += fish_lines(*verb, "__fish_seen_subcommand_from " + verb->get_name());
  }
  for (const CLI::Option* flag : flags_of(app))
    for (const std::string& name : flag->get_lnames())
      text += fmt::format("complete -c tilewright -n '{}' -l {}{} -d {}\n", condition, name,
                          takes_value(*flag) ? " -r" : "", fish_quoted(flag->get_description()));
  return text;
}

void write_pages(const CLI::App& app, const std::string& folder) {
  std::map<std::string, std::string> files;
  add_manuals(app, TILEWRIGHT_VERSION, files);
  files["bash-completion/completions/tilewright"] = bash_completion(app);
  files["zsh/site-functions/_tilewright"] =
      "#compdef tilewright\n" + zsh_function(app) + "_tilewright \"$@\"\n";
  files["fish/vendor_completions.d/tilewright.fish"] = fish_lines(app, "__fish_use_subcommand");
  for (const auto& [name, text] : files) {
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error)
      wrong_use("FOLDER", "FOLDER = '{}' cannot be made: {}", path.parent_path().string(),
                system_error_text(error.value()));
    write_file({"FOLDER", path.string()}, text);
  }
  fmt::print("{} man pages and the completions of bash, zsh and fish are written to {}\n", files.size() - 3,
             folder);
}

}  // namespace

void add_pages(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("pages", "Write man pages and shell completions into a folder");
  const auto folder = std::make_shared<std::string>();
  verb->add_option("FOLDER", *folder, "laid out like share/, for example ~/.local/share")->required();
  verb->footer("Example: tilewright pages share");
  verb->callback([&app, folder] { write_pages(app, *folder); });
}

}  // namespace tilewright::cli
