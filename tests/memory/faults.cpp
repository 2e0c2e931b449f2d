// Calls every door with its first, second, ... request for memory, a descriptor or a thread failing, once and
// from then on, in children of fork, and reports those that ended their process, gave a wrong result or
// spoiled later calls.
//   PROGRAM [--doors PART] [--points MOST] [--list]
// MOST points of each door are tried one by one, and then some further apart (default 30; 0: all);
// MEMORY_POINTS of the environment takes precedence. TILEWRIGHT_SHOW_FAILURE=1 prints the stacks of failed
// requests; --only K selects one point.
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "door.hpp"
#include "failing_memory.hpp"

namespace tilewright::memory {

bool Output::is_near() const {
  for (std::size_t i = 0; i < right.size(); ++i)
    if (!(std::abs((*at)[i] - right[i]) <= tolerance)) return false;
  return true;
}

bool Output::is_old_or_right() const {
  for (std::size_t i = 0; i < right.size(); ++i)
    if ((*at)[i] != before[i] && !(std::abs((*at)[i] - right[i]) <= tolerance)) return false;
  return true;
}

namespace {

// The verdict on a point: right, wrong, or not reached by the call.
enum Verdict { fine = 10, unreached = 11, wrong = 12 };

struct Asked {
  std::string doors;
  long most = 30, only = 0;
  bool list = false;
};

struct Fault {
  long request;
  bool from_then_on;
};

std::string text_of(const Fault& fault) {
  return "request " + std::to_string(fault.request) + (fault.from_then_on ? " and all later ones" : "");
}

int complain(const Door& door, const Fault& fault, const std::string& what) {
  std::printf("%s, %s: %s\n", door.name.c_str(), text_of(fault).c_str(), what.c_str());
  std::fflush(stdout);
  return wrong;
}

bool are_right(const Door& door) {
  return std::all_of(door.outputs.begin(), door.outputs.end(), [](const Output& o) { return o.is_right(); });
}

void show_end(int number) {
  void* frames[60];
  backtrace_symbols_fd(frames, backtrace(frames, 60), 2);
  _exit(128 + number);
}

// Returns the error of a call that returned `status`, or "".
std::string trouble(const Door& door, tilewright_status status) {
  const std::string message = door.message();
  if (status == TILEWRIGHT_OK) return are_right(door) ? "" : "the result is wrong, with status 0";
  const std::string said = "status " + std::to_string(status) + " (" + message + ")";
  const bool is_lack =
      status == TILEWRIGHT_OUT_OF_MEMORY || status == TILEWRIGHT_DEVICE_LOST || status == TILEWRIGHT_IO;
  if (!is_lack && message.find("memory") == std::string::npos)
    return said + " is not that of a lack of memory";
  if (door.may_say_undefined && message.find("undefined") != std::string::npos) return "";
  for (const Output& output : door.outputs)
    if (!output.is_old_or_right()) return said + ": an output is neither old nor right";
  if (const Output& first = door.outputs.front(); door.is_forwarded && *first.at != first.before)
    return said + ": an output is not what it was";
  return "";
}

// Tries one point of a door that was prepared.
int try_point(const Door& door, const Fault& fault) {
  for (const Output& output : door.outputs) output.reset();
  failing_memory_arm(fault.request, fault.from_then_on);
  const tilewright_status status = door.call();
  failing_memory_disarm();
  if (const std::string what = trouble(door, status); !what.empty()) return complain(door, fault, what);
  if (failing_memory_has_failed() == 0)
    return status == TILEWRIGHT_OK ? int(unreached)
                                   : complain(door, fault, "it fails as it is: " + door.message());
  for (const Output& output : door.outputs) output.reset();
  const tilewright_status later = door.call();
  if (later != TILEWRIGHT_OK || !are_right(door))
    return complain(door, fault,
                    "the call after it, status " + std::to_string(later) + " (" + door.message() + ")");
  return fine;
}

// State of one door's points that a child and its parent share.
struct Progress {
  long request = 1, points = 0, failures = 0;
  bool ended = false;
};

// Advances to the next point: the first ones one by one, then further apart.
void advance(Progress& progress, int verdict, const Asked& asked) {
  constexpr long many = 30;
  ++progress.points;
  if (verdict != fine) ++progress.failures;
  progress.ended = asked.only > 0 || progress.failures == many;
  progress.request += asked.most > 0 && progress.points >= asked.most ? 1 + progress.request / 4 : 1;
}

// Tries all remaining points, or one if each needs its own process.
[[noreturn]] void run_child(const Door& door, bool from_then_on, const Asked& asked, Progress& progress) {
  alarm(100);  // a child that hangs counts as failed
  if (std::getenv("TILEWRIGHT_SHOW_FAILURE") != nullptr)
    for (const int signal_number : {SIGABRT, SIGSEGV}) std::signal(signal_number, show_end);
  door.prepare();
  if (door.is_warm && (door.call() != TILEWRIGHT_OK || !are_right(door)))
    complain(door, {0, false}, "it fails as it is: " + door.message()), _exit(99);
  do {
    const int verdict = try_point(door, {progress.request, from_then_on});
    if (verdict == unreached)
      progress.ended = true;
    else
      advance(progress, verdict, asked);
  } while (door.is_warm && !progress.ended);
  std::fflush(stdout);
  _exit(fine);
}

Progress try_door(const Door& door, bool from_then_on, const Asked& asked) {
  void* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Progress& progress = *new (shared) Progress;
  progress.request = std::max(1L, asked.only);
  while (!progress.ended) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) run_child(door, from_then_on, asked, progress);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == fine) continue;
    complain(door, {progress.request, from_then_on},
             WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) + " ended the process"
                                 : "the process ended with " + std::to_string(WEXITSTATUS(status)));
    advance(progress, wrong, asked);
  }
  const Progress end = progress;
  munmap(shared, sizeof(Progress));
  return end;
}

int run(const Asked& asked) {
  long points = 0, failures = 0;
  for (const Door& door : all_doors()) {
    if (door.name.find(asked.doors) == std::string::npos) continue;
    if (asked.list) {
      std::puts(door.name.c_str());
      continue;
    }
    Progress all;
    for (const bool from_then_on : {false, true}) {
      const Progress count = try_door(door, from_then_on, asked);
      all.points += count.points, all.failures += count.failures;
    }
    std::printf("%-34s %5ld points %5ld failures\n", door.name.c_str(), all.points, all.failures);
    points += all.points, failures += all.failures;
  }
  if (asked.list) return 0;
  std::printf("%ld points, %ld failures\n", points, failures);
  return failures == 0 && points > 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::memory

int main(int count, char** arguments) {
  tilewright::memory::Asked asked;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (name == "--list")
      asked.list = true;
    else if (name == "--doors" && i + 1 < count)
      asked.doors = arguments[++i];
    else if (name == "--points" && i + 1 < count)
      asked.most = std::atol(arguments[++i]);
    else if (name == "--only" && i + 1 < count)
      asked.only = std::atol(arguments[++i]);
    else
      return std::fprintf(stderr, "%s is not an option\n", name.c_str()), 2;
  }
  if (const char* most = std::getenv("MEMORY_POINTS")) asked.most = std::atol(most);
  return tilewright::memory::run(asked);
}
