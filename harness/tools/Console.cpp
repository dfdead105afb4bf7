//===- Console.cpp - What commands print, and how they are stopped --------===//
#include "harness/io/Files.h"
#include "harness/tools/Subcommands.h"

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <mutex>
#include <unistd.h>
#include <utility>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;

static thread_local std::ostream *outStream = &std::cout;
static thread_local std::ostream *errStream = &std::cerr;
/// Why standard output took no more.
static thread_local std::string outputError;

Console::Console(std::ostream &out, std::ostream &err)
    : oldOut(std::exchange(outStream, &out)),
      oldErr(std::exchange(errStream, &err)) {
  outputError.clear();
}

Console::~Console() {
  outStream = oldOut;
  errStream = oldErr;
}

static void printText(std::ostream &stream, std::string_view text) {
  errno = 0;
  stream << text << std::flush;
  if (&stream == outStream && !stream && outputError.empty())
    outputError = std::strerror(errno ? errno : EIO);
}

static void printTo(std::ostream &stream, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  const int size = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  std::string text(static_cast<size_t>(std::max(size, 0)) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, args);
  text.pop_back();
  printText(stream, text);
}

const std::string &tandem::tools::outputFailure() { return outputError; }

void tandem::tools::print(const char *format, ...) {
  va_list args;
  va_start(args, format);
  printTo(*outStream, format, args);
  va_end(args);
}

void tandem::tools::complain(const char *format, ...) {
  va_list args;
  va_start(args, format);
  printTo(*errStream, format, args);
  va_end(args);
}

Result<void> tandem::tools::emit(const std::string &path,
                                 std::string_view text) {
  if (!path.empty())
    return writeFile(path, text);
  printText(*outStream, text);
  return {};
}

static std::atomic<bool> stopFlag = false;
static volatile std::sig_atomic_t stopSignal = 0;
static struct sigaction oldInterrupt, oldTerminate;
/// Python may search in several threads; the outermost sets the handlers.
static std::mutex stopMutex;
static int numStops = 0;

static void requestStop(int signal) {
  stopSignal = signal;
  stopFlag = true;
  // The second one is not caught: the first may take as long as a case.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

StopRequest::StopRequest() {
  const std::scoped_lock lock(stopMutex);
  if (numStops++ > 0)
    return;
  stopFlag = false;
  stopSignal = 0;
  struct sigaction action = {};
  action.sa_handler = requestStop;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &oldInterrupt);
  sigaction(SIGTERM, &action, &oldTerminate);
  // Whoever started us in the background ignores Ctrl-C, and so do we.
  if (oldInterrupt.sa_handler == SIG_IGN)
    sigaction(SIGINT, &oldInterrupt, nullptr);
}

StopRequest::~StopRequest() {
  const std::scoped_lock lock(stopMutex);
  if (--numStops > 0)
    return;
  sigaction(SIGINT, &oldInterrupt, nullptr);
  sigaction(SIGTERM, &oldTerminate, nullptr);
}

const std::atomic<bool> &StopRequest::flag() const { return stopFlag; }

int StopRequest::exitCode() const { return stopFlag ? 128 + stopSignal : 0; }

ProgressLine::ProgressLine(std::string what)
    : what(std::move(what)),
      isTerminal(errStream == &std::cerr && isatty(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() {
  if (isDrawn)
    complain("\r\033[K");
}

void ProgressLine::update(const CampaignProgress &progress) {
  if (progress.seconds < 2)
    return;
  const double share = progress.planned > 0
                           ? static_cast<double>(progress.done) /
                                 static_cast<double>(progress.planned)
                           : 0;
  if (isTerminal) {
    std::string bar;
    for (int i = 0; i < 30; ++i)
      bar += i < share * 30 ? '#' : '-';
    complain("\r\033[K%s %s%s%lld cases, %lld failed, %.0f s", what.c_str(),
             progress.planned ? bar.c_str() : "", progress.planned ? " " : "",
             static_cast<long long>(progress.done),
             static_cast<long long>(progress.failed), progress.seconds);
    isDrawn = true;
  } else if (progress.seconds - lastLine >= 10) {
    lastLine = progress.seconds;
    complain("%s: %lld cases, %lld failed, %.0f s\n", what.c_str(),
             static_cast<long long>(progress.done),
             static_cast<long long>(progress.failed), progress.seconds);
  }
}
