//===- WrongEngine.cpp - The real engine with a bug planted in it ---------===//
#include "tests/quality/WrongEngine.h"

#include "codegen/lower/TileToPtx.h"

#include <map>
#include <mutex>
#include <regex>

using namespace tandem;
using namespace tandem::harness;

/// Programs with their kernels replaced by \p edit's, remembered, as the same
/// kernel comes up in many cases.
static Engine
withEditedKernels(Engine engine,
                  std::function<Result<Kernel>(const Kernel &)> edit) {
  struct Memory {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const Kernel>> kernels;
  };
  auto memory = std::make_shared<Memory>();
  const auto original = engine.compile;
  engine.compile = [=](const Recipe &recipe, const std::vector<Operand> &inputs,
                       const std::vector<Operand> &outputs,
                       const CompileOptions &options)
      -> Result<std::shared_ptr<const Program>> {
    auto compiled = original(recipe, inputs, outputs, options);
    if (!compiled)
      return compiled;
    auto program = std::make_shared<Program>(**compiled);
    for (ProgramLaunch &launch : program->launches) {
      const std::string key = launch.kernel->launch.target +
                              launch.kernel->ptx +
                              writeLaunchRecord(launch.kernel->launch);
      const std::scoped_lock lock(memory->mutex);
      std::shared_ptr<const Kernel> &known = memory->kernels[key];
      if (!known) {
        Result<Kernel> edited = edit(*launch.kernel);
        if (!edited)
          return edited.error();
        known = std::make_shared<Kernel>(edited.take());
      }
      launch.kernel = known;
    }
    return std::shared_ptr<const Program>(program);
  };
  return engine;
}

Engine tandem::harness::withEditedTile(
    Engine engine, std::function<std::string(const std::string &)> edit) {
  return withEditedKernels(
      std::move(engine), [=](const Kernel &kernel) -> Result<Kernel> {
        Kernel edited = kernel;
        const std::string &tile = kernel.stages.at("tile");
        const std::string text = edit(tile);
        if (text == tile)
          return edited;
        Result<PtxOutput> ptx =
            tileTextToPtx(text, "edited", kernel.launch.target);
        if (!ptx)
          return ptx.error();
        edited.ptx = ptx->ptx;
        return edited;
      });
}

Engine tandem::harness::withEditedPtx(
    Engine engine, std::function<std::string(const std::string &)> edit) {
  return withEditedKernels(std::move(engine),
                           [=](const Kernel &kernel) -> Result<Kernel> {
                             Kernel edited = kernel;
                             edited.ptx = edit(kernel.ptx);
                             return edited;
                           });
}

Engine tandem::harness::withEditedOutputs(
    Engine engine,
    std::function<void(Device &, const std::vector<Operand> &)> edit) {
  const auto original = engine.run;
  engine.run = [=](Device &device, const Program &program,
                   const std::vector<Operand> &inputs,
                   const std::vector<Operand> &outputs,
                   const LaunchOptions &options) {
    auto report = original(device, program, inputs, outputs, options);
    if (report && report->ok())
      edit(device, outputs);
    return report;
  };
  return engine;
}

std::string tandem::harness::dropMasks(const std::string &tile) {
  // `%a = tile.mask %b ...`: the line goes, and %a is %b from there on.
  static const std::regex mask(R"(^\s*(%\w+) = tile\.mask (%\w+) .*$)");
  std::map<std::string, std::string> renamed;
  std::string text;
  auto resolve = [&](std::string name) {
    for (auto it = renamed.find(name); it != renamed.end();
         it = renamed.find(name))
      name = it->second;
    return name;
  };
  for (size_t at = 0; at < tile.size();) {
    size_t end = tile.find('\n', at);
    end = end == std::string::npos ? tile.size() : end;
    const std::string line = tile.substr(at, end - at);
    at = end + 1;
    std::smatch parts;
    if (std::regex_match(line, parts, mask)) {
      renamed[parts[1]] = parts[2];
      continue;
    }
    for (size_t i = 0; i < line.size();) {
      if (line[i] != '%') {
        text += line[i++];
        continue;
      }
      size_t last = i + 1;
      while (last < line.size() &&
             (std::isalnum(static_cast<unsigned char>(line[last])) ||
              line[last] == '_'))
        ++last;
      text += resolve(line.substr(i, last - i));
      i = last;
    }
    text += '\n';
  }
  return text;
}
