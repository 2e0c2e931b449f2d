// pthread_cancel: a call that has begun completes as if it were not cancelled; the thread ends afterwards.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "calls.hpp"
#include "ends.hpp"

namespace {

struct Cancelled {
  const NamedCall& call;
  bool right = false;
};

void* call_cancelled(void* given) {
  auto& cancelled = *static_cast<Cancelled*>(given);
  pthread_cancel(pthread_self());
  cancelled.right = cancelled.call.run();
  pthread_testcancel();
  return nullptr;
}

// Makes the first and the second call of a separate process.
bool survives(const NamedCall& call) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);
    for (int turn = 0; turn < 2; ++turn) {
      Cancelled cancelled{call};
      pthread_t thread{};
      void* result = nullptr;
      pthread_create(&thread, nullptr, call_cancelled, &cancelled);
      pthread_join(thread, &result);
      if (!cancelled.right || result != PTHREAD_CANCELED) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::printf("%s: status %x\n", call.name.c_str(), unsigned(status));
  return status == 0;
}

}  // namespace

int cancels() {
  bool right = true;
  for (const NamedCall& call : all_calls()) right = survives(call) && right;
  return right ? 0 : 1;
}
