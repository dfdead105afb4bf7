//===- BenchRun.cpp - tandem bench run ------------------------------------===//
#include "harness/tools/BenchRun.h"

#include "codegen/device/OpenDevice.h"
#include "harness/bench/RunSuite.h"
#include "harness/io/Files.h"
#include "refops/core/JsonText.h"
#include "refops/core/Spelling.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::bench;
using namespace tandem::tools;
using nlohmann::json;

namespace {
struct Options {
  std::vector<std::string> suites, peers;
  std::string jsonPath, filter, device = "cuda";
  double seconds = 240;
  uint64_t seed = 1;
  bool resume = false;
};

/// Rows are left that need a process whose GPU still works.
constexpr int exitLost = 3;

/// The peers that \p words name; all that can be asked where there are none.
Result<std::vector<std::string>>
peersFrom(const std::vector<std::string> &words, bool hasHost) {
  std::vector<std::string> peers;
  if (words.empty()) {
    peers = {"cublas"};
    if (hasHost)
      peers.insert(peers.end(), {"torch", "compile", "triton"});
    return peers;
  }
  for (const std::string &word : words) {
    const auto known = peerNames();
    if (word == "none")
      continue;
    if (std::ranges::find(known, word) == known.end())
      return Error("--peers: no peer is named " + quote(word) +
                   "; there are cublas, torch, compile, triton and none");
    if (word != "cublas" && !hasHost)
      return Error("--peers: " + word +
                   " runs in Python, use `python3 -m tandem bench run`");
    peers.push_back(word);
  }
  return peers;
}

/// An answer in JSON, whatever the host does.
bench::PeerHost hostFrom(const harness::PeerHost &peers) {
  if (!peers)
    return nullptr;
  return [peers](const json &request) -> json {
    const std::string text = peers(request.dump());
    Result<json> answer = parseJson(text, "peer");
    if (!answer)
      return {{"error", answer.error().text()}};
    if (!answer->is_object())
      return {
          {"error", "peer: expected an object, got " + describeJson(*answer)}};
    return answer.take();
  };
}

/// What `--resume` finds in its file: rows of \p suite that were measured.
json knownRows(const Options &options, const std::string &suite) {
  if (!options.resume || options.jsonPath.empty())
    return json::array();
  const Result<std::string> text = harness::readFile(options.jsonPath);
  const Result<json> documents =
      text ? parseJson(*text, options.jsonPath) : Result<json>(text.error());
  if (documents && documents->is_array())
    for (const json &document : *documents)
      if (document.is_object() && document.value("suite", "") == suite)
        return document.value("rows", json::array());
  return json::array();
}

Result<json> benchOne(const std::string &path, const Options &options,
                      const std::vector<std::string> &peers, Device &device,
                      const harness::PeerHost &host,
                      const std::function<void(const json &)> &keep) {
  const Result<std::string> text = harness::readFile(path);
  if (!text)
    return text.error();
  const Result<Suite> suite = readSuite(*text, path);
  if (!suite)
    return suite.error();
  Bench bench;
  bench.device = &device;
  bench.compile = compile;
  bench.load = loadProgram;
  bench.prepare = prepareProgram;
  bench.target = bestTarget(device);
  bench.peers = hostFrom(host);
  const StopRequest stop;
  RunOptions run;
  run.peers = peers;
  run.filter = options.filter;
  run.seconds = options.seconds;
  run.seed = options.seed;
  run.stop = &stop.flag();
  run.known = knownRows(options, suite->name);
  return runSuite(*suite, bench, run, [&](const json &document) {
    keep(document);
    const json &row = document["rows"].back();
    complain("%s: %s %.1f s\n", suite->name.c_str(),
             row.value("name", "").c_str(), row.value("seconds", 0.0));
  });
}

Result<int> benchRun(const Options &options, const harness::PeerHost &host) {
  const Result<std::vector<std::string>> peers =
      peersFrom(options.peers, host != nullptr);
  if (!peers)
    return peers.error();
  const Result<std::unique_ptr<Device>> device = openDevice(options.device);
  if (!device)
    return device.error();
  json documents = json::array();
  bool complete = true, isLost = false;
  // Rewritten after every row: what was measured survives what comes later.
  const auto keep = [&](const json &document) {
    if (options.jsonPath.empty())
      return Result<void>();
    json all = documents;
    all.push_back(document);
    return harness::writeFile(options.jsonPath, all.dump(1) + "\n");
  };
  std::string tables;
  for (const std::string &path : options.suites) {
    const Result<json> document =
        benchOne(path, options, *peers, **device, host,
                 [&](const json &soFar) { (void)keep(soFar); });
    if (!document)
      return document.error();
    if (Result<void> kept = keep(*document); !kept)
      return kept.error();
    documents.push_back(*document);
    complete &= isComplete(*document);
    tables += tableOf(*document) + "\n";
    isLost |= document->contains("lost");
    if (isLost)
      break;
  }
  print("%s", tables.c_str());
  if (isLost)
    return exitLost;
  return complete ? 0 : exitFound;
}
} // namespace

Command tandem::tools::benchRunCommand(CLI::App &parent,
                                       const harness::PeerHost &peers) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "run", "Suites of kernels on a GPU, beside ceilings and peers",
      "tandem bench run harness/bench/suites/gemv.json --json gemv.json");
  app->add_option("suite", options->suites, "Suite files")->required();
  app->add_option("--peers", options->peers,
                  "cublas, torch, compile, triton or none; all that are there "
                  "if not given")
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("--json", options->jsonPath,
                  "Write all results to a file, after every row");
  app->add_flag("--resume", options->resume,
                "Keep the rows that the --json file has already");
  app->add_option("--filter", options->filter,
                  "Only rows whose name has this text");
  app->add_option("--device", options->device, "cuda or cuda:N")
      ->capture_default_str();
  addSeconds(app, options->seconds, "No row of a suite begins later")
      ->capture_default_str();
  addSeed(app, options->seed, "Seed of the orders");
  return {app, [options, peers] { return benchRun(*options, peers); }};
}
