// The state of a host process that no call changes (docs/security.md): each promise is checked after every
// call.
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <locale>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "calls.hpp"
#include "ends.hpp"
#include "tilewright/gemm.hpp"

extern char** environ;

namespace {

namespace fs = std::filesystem;
using namespace tilewright;

bool complain(const std::string& what) {
  std::printf("%s\n", what.c_str());
  return false;
}

bool run_all() {
  bool right = true;
  for (const NamedCall& call : all_calls())
    if (!call.run()) right = complain(call.name + ": a wrong result");
  return right;
}

// --- signals ---

std::string dispositions() {
  std::ostringstream text;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0)
      text << number << ' ' << reinterpret_cast<void*>(action.sa_handler) << ' ' << action.sa_flags << '\n';
  }
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int number = 1; number < NSIG; ++number) text << sigismember(&mask, number);
  return text.str();
}

// Reads the blocked signals of each thread of the library from the system.
bool threads_take_no_signals() {
  bool right = true;
  int others = 0;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(getpid())) continue;
    ++others;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:")) {
        const auto blocked = std::stoull(line.substr(7), nullptr, 16);
        for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD})
          if ((blocked >> (number - 1) & 1) == 0)
            right = complain("a thread takes signal " + std::to_string(number));
      }
  }
  return others > 0 ? right : complain("there is no thread to look at");
}

bool keeps_signals() {
  const std::string before = dispositions();
  if (!run_all()) return false;
  return (dispositions() == before || complain("signals are handled otherwise than before")) &&
         threads_take_no_signals();
}

// --- errno ---

bool keeps_errno() {
  constexpr int own = 1234;
  bool right = true;
  for (int turn = 0; turn < 2; ++turn)
    for (const NamedCall& call : all_calls()) {
      errno = own;
      (void)call.run();
      if (errno != own) right = complain(call.name + ": errno = " + std::to_string(errno));
    }
  return right;
}

// --- locale ---

struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\1"; }
};

std::string explained() {
  Context context;
  return explain(context, parse_problem("gemm:f64:tn:m=1000,n=1000,k=1000"), {.threads = 1});
}

bool keeps_locale() {
  const std::string as_ever = explained();
  std::locale::global(std::locale(std::locale::classic(), new Commas));
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"})
    (void)std::setlocale(LC_ALL, name);  // if the machine has any
  const std::string before = std::setlocale(LC_ALL, nullptr);
  if (!run_all()) return false;
  setenv("TILEWRIGHT_GPU_MEMORY", "1.5GiB", 1);
  const std::string now = explained();
  if (now != as_ever) return complain("explained otherwise:\n" + as_ever + "\nand\n" + now);
  return before == std::setlocale(LC_ALL, nullptr) || complain("the locale is another one");
}

// --- environment, limits, descriptors, modes ---

std::string state() {
  std::ostringstream text;
  for (char** one = environ; *one != nullptr; ++one) text << *one << '\n';
  text << fs::current_path() << '\n';
  const mode_t mask = umask(0);
  umask(mask);
  text << mask << '\n';
  for (int limit = 0; limit < RLIM_NLIMITS; ++limit) {
    rlimit value{};
    getrlimit(static_cast<__rlimit_resource_t>(limit), &value);
    text << value.rlim_cur << ' ' << value.rlim_max << '\n';
  }
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) text << int(CPU_ISSET(cpu, &cpus));
  text << '\n' << getpriority(PRIO_PROCESS, 0) << ' ' << sched_getscheduler(0) << ' ' << fegetround() << '\n';
#if defined(__x86_64__)
  unsigned mode = 0;
  __asm__ volatile("stmxcsr %0" : "=m"(mode));
  text << (mode & ~0x3fu) << '\n';
#endif
  return text.str();
}

bool descriptors_close_on_exec(const std::set<int>& hosts) {
  bool right = true;
  for (int number = 0; number < 1024; ++number) {
    const int flags = fcntl(number, F_GETFD);
    if (flags < 0 || hosts.contains(number)) continue;
    if (number <= STDERR_FILENO) right = complain("a standard descriptor is taken");
    if ((flags & FD_CLOEXEC) == 0)
      right = complain("descriptor " + std::to_string(number) + " outlives exec");
  }
  return right;
}

bool keeps_state() {
  std::set<int> hosts;
  for (int number = 0; number < 1024; ++number)
    if (fcntl(number, F_GETFD) >= 0) hosts.insert(number);
  std::FILE* const out = std::tmpfile();
  const int own_out = dup(STDOUT_FILENO);
  hosts.insert(fileno(out)), hosts.insert(own_out);
  dup2(fileno(out), STDOUT_FILENO);
  const std::string before = state();
  const bool right = run_all();
  const std::string after = state();
  struct stat written {};
  fstat(STDOUT_FILENO, &written);
  dup2(own_out, STDOUT_FILENO);
  if (!right) return complain("results are wrong");
  if (written.st_size != 0) return complain("something was written to stdout");
  if (before != after) return complain("before:\n" + before + "\nafter:\n" + after);
  return descriptors_close_on_exec(hosts);
}

// --- memory ---

std::size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Compares the memory in use after many rounds with that after a few.
bool stays(const char* what, int turns, const std::function<void()>& turn) {
  constexpr std::size_t most = 256 << 10;
  for (int i = 0; i < 20; ++i) turn();
  const std::size_t before = bytes_in_use();
  for (int i = 0; i < turns; ++i) turn();
  const std::size_t after = bytes_in_use();
  if (after <= before + most) return true;
  return complain(std::string(what) + ": " + std::to_string(after - before) + " bytes more");
}

void multiply(Context& context, std::int64_t n) {
  std::vector<double> a(std::size_t(n * n), 1.0), c(a);
  gemm<double>(context, Op::none, Op::none, 1.0, {a.data(), n, n, n}, {a.data(), n, n, n}, 0.0,
               {c.data(), n, n, n});
}

bool keeps_memory() {
  Context shared;
  bool right = stays("Contexts that come and go", 200, [] {
    Context own;
    multiply(own, 8), multiply(own, 70);
  });
  right =
      stays("threads that come and go", 1000, [&] { std::thread([&] { multiply(shared, 8); }).join(); }) &&
      right;
  right = stays("errors", 1000,
                [&] {
                  try {
                    (void)plan(shared, GemmProblem{.m = -1});
                  } catch (const Error&) {
                  }
                }) &&
          right;
  return right;
}

// --- messages ---

// Returns the output on stderr of a separate process, and whether it ended as expected.
bool said_by(const std::function<void()>& work, std::string& said) {
  std::FILE* const file = std::tmpfile();
  const pid_t child = fork();
  if (child == 0) {
    dup2(fileno(file), STDERR_FILENO);
    work();
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::rewind(file);
  char part[4096];
  for (std::size_t got = 0; (got = std::fread(part, 1, sizeof part, file)) > 0;) said.append(part, got);
  std::fclose(file);
  return status == 0;
}

bool keeps_messages() {
  std::string said;
  const bool ended = said_by(
      [] {
        setenv("TILEWRIGHT_BLAS", "\x1b]0;title\a\x1b[2Jsome", 1);
        (void)run_all();
      },
      said);
  if (!ended || said.find("TILEWRIGHT_BLAS") == std::string::npos)
    return complain("nothing was said: " + said);
  for (const char c : said)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
      return complain("control characters were said");
  // The process continues after writing to a pipe without a reader.
  std::string none;
  return said_by(
             [] {
               int ends[2];
               if (pipe(ends) != 0) std::exit(1);
               close(ends[0]);
               dup2(ends[1], STDERR_FILENO);
               setenv("TILEWRIGHT_BLAS", "some", 1);
               setenv("TILEWRIGHT_VERBOSE", "3", 1);
               if (!run_all()) std::exit(1);
             },
             none) ||
         complain("a closed stderr ended the process");
}

// --- signals that interrupt system calls ---

// Every process's record is present, although another holds the file's lock at times and a timer's signals
// interrupt the wait.
bool keeps_records() {
  const fs::path file =
      fs::temp_directory_path() / ("tilewright_ends_" + std::to_string(getpid()) + ".jsonl");
  std::ofstream(file).close();
  const pid_t locker = fork();
  if (locker == 0)
    for (;;) {
      const int held = open(file.c_str(), O_RDWR | O_CREAT, 0600);
      flock(held, LOCK_EX);
      usleep(3000);
      close(held);
      usleep(500);
    }
  setenv("TILEWRIGHT_RECORD", file.c_str(), 1);
  constexpr int processes = 20;
  bool right = true;
  std::string said;
  for (int i = 1; i <= processes; ++i)
    right = said_by(
                [i] {
                  struct sigaction action {};
                  action.sa_handler = [](int) {};
                  sigaction(SIGALRM, &action, nullptr);
                  const itimerval often{{0, 500}, {0, 500}};
                  setitimer(ITIMER_REAL, &often, nullptr);
                  for (const NamedCall& call : all_calls())
                    if (call.name == "dgemm_ NN 7" && !call.run()) std::exit(1);
                },
                said) &&
            right;
  kill(locker, SIGKILL);
  waitpid(locker, nullptr, 0);
  std::ifstream record(file);
  const std::string text((std::istreambuf_iterator<char>(record)), std::istreambuf_iterator<char>());
  fs::remove(file);
  if (!right || !said.empty()) return complain("a process ended otherwise: " + said);
  return text.find("\"count\":" + std::to_string(processes)) != std::string::npos ||
         complain("records are lost: " + text);
}

// --- thread-local memory and the least stacks ---

bool keeps_stacks_of_threads() {
  std::size_t bytes = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* sum) {
        if (std::strstr(info->dlpi_name, "tilewright") == nullptr) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_TLS)
            *static_cast<std::size_t*>(sum) += info->dlpi_phdr[i].p_memsz;
        return 0;
      },
      &bytes);
  constexpr std::size_t most = 1024;
  if (bytes > most) return complain(std::to_string(bytes) + " bytes of thread-local memory");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t(PTHREAD_STACK_MIN));
  pthread_t thread{};
  void* result = nullptr;
  const auto work = [](void*) -> void* {
    for (const NamedCall& call : all_calls())
      if (call.name == "dgemm_ NN 7" || call.name == "zgemm_ TN 64")
        if (!call.run()) return nullptr;
    return environ;
  };
  if (const int error = pthread_create(&thread, &attributes, work, nullptr); error != 0)
    return complain("a thread with the least stack cannot be started: " + std::string(std::strerror(error)));
  pthread_join(thread, &result);
  return result != nullptr || complain("a thread with the least stack computes otherwise");
}

}  // namespace

int promises(const std::string& which) {
  bool kept = false;
  if (which == "signals") kept = keeps_signals();
  if (which == "errno") kept = keeps_errno();
  if (which == "locale") kept = keeps_locale();
  if (which == "state") kept = keeps_state();
  if (which == "memory") kept = keeps_memory();
  if (which == "messages") kept = keeps_messages();
  if (which == "interrupts") kept = keeps_records();
  if (which == "tls") kept = keeps_stacks_of_threads();
  return kept ? 0 : 1;
}
