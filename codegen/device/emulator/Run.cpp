//===- Run.cpp - All CTAs of a launch -------------------------------------===//
#include "codegen/device/emulator/Run.h"

#include "codegen/device/emulator/async/Cluster.h"

#include <algorithm>
#include <map>
#include <thread>

using namespace tandem;
using namespace tandem::emulator;

namespace {
/// The first finding of each instruction and kind, by CTA.
class Collector {
public:
  void take(Cluster &cluster) {
    for (Cta *cta : cluster.ctas)
      take(*cta, cta->linear);
  }
  void take(Cta &cta, uint64_t position) {
    instructions += cta.instructions;
    take(cta.findings, position, found);
    if (!cta.output.empty())
      output[position] = std::move(cta.output);
    cta.output.clear();
  }
  void merge(Collector &other) {
    instructions += other.instructions;
    merge(other.found, found);
    output.merge(other.output);
  }
  LaunchReport finish(size_t most) {
    LaunchReport report;
    report.threadInstructions = instructions;
    for (Finding &finding : inOrder(found)) {
      std::vector<Finding> &into =
          finding.isNote ? report.notes : report.findings;
      if (into.size() < most)
        into.push_back(std::move(finding));
    }
    for (const auto &[position, text] : output)
      report.output += text;
    return report;
  }

private:
  using Order = std::pair<uint64_t, size_t>;
  using Found =
      std::map<std::pair<int, std::string>, std::pair<Order, Finding>>;

  static void take(std::vector<Finding> &from, uint64_t position, Found &into) {
    for (size_t i = 0; i < from.size(); ++i) {
      std::pair<int, std::string> key{from[i].ptxLine, from[i].kind};
      Order order{position, i};
      auto [at, isNew] = into.try_emplace(key, order, from[i]);
      if (!isNew && order < at->second.first)
        at->second = {order, std::move(from[i])};
    }
    from.clear();
  }
  static void merge(Found &from, Found &into) {
    for (auto &[key, entry] : from) {
      auto [at, isNew] = into.try_emplace(key, entry);
      if (!isNew && entry.first < at->second.first)
        at->second = std::move(entry);
    }
  }
  static std::vector<Finding> inOrder(Found &from) {
    std::vector<std::pair<Order, Finding>> all;
    for (auto &[key, entry] : from)
      all.push_back(std::move(entry));
    std::sort(all.begin(), all.end(),
              [](const auto &a, const auto &b) { return a.first < b.first; });
    std::vector<Finding> result;
    for (auto &[order, finding] : all)
      result.push_back(std::move(finding));
    return result;
  }

  Found found;
  std::map<uint64_t, std::string> output; // by CTA
  uint64_t instructions = 0;
};

/// The order in which clusters run: a seed shuffles them.
std::vector<uint64_t> orderOfClusters(const Launch &launch, uint64_t count) {
  std::vector<uint64_t> order;
  uint64_t seed = launch.options.scheduleSeed;
  if (!seed || count > (uint64_t(1) << 20))
    return order;
  for (uint64_t i = 0; i < count; ++i)
    order.push_back(i);
  uint64_t state = seed;
  for (uint64_t i = count; i > 1; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
  return order;
}

Cta &ctaAt(CtaPool &pool, size_t i) {
  while (pool.size() <= i)
    pool.push_back(std::make_unique<Cta>());
  return *pool[i];
}
} // namespace

/// The CTAs of the pool that cluster \p i runs on.
static std::vector<Cta *> ctasAt(CtaPool &pool, size_t i, size_t size) {
  std::vector<Cta *> ctas;
  for (size_t rank = 0; rank < size; ++rank)
    ctas.push_back(&ctaAt(pool, i * size + rank));
  return ctas;
}

/// CTAs that exchange data have to be resident together, so they take turns.
static void runTogether(Launch &launch, CtaPool &pool, uint64_t count,
                        Collector &collector) {
  // As many as an H200 holds at least: two of each of its 132 processors.
  const uint64_t resident = std::max<uint64_t>(1, 264 / clusterSize(launch));
  constexpr uint64_t turn = 2000;
  uint64_t next = 0;
  std::vector<Cluster> clusters(std::min(count, resident));
  std::vector<size_t> running, idle;
  for (size_t i = 0; i < clusters.size(); ++i)
    idle.push_back(clusters.size() - 1 - i);
  while ((!running.empty() || next < count) && !launch.stop) {
    while (!idle.empty() && next < count) {
      size_t slot = idle.back();
      idle.pop_back();
      beginCluster(clusters[slot], launch, next,
                   ctasAt(pool, slot, clusterSize(launch)));
      ++next;
      running.push_back(slot);
    }
    std::vector<size_t> still;
    for (size_t slot : running) {
      if (runCluster(clusters[slot], turn) || launch.stop) {
        collector.take(clusters[slot]);
        idle.push_back(slot);
      } else {
        still.push_back(slot);
      }
    }
    running = std::move(still);
  }
  for (size_t slot : running)
    collector.take(clusters[slot]);
}

LaunchReport emulator::runLaunch(Launch &launch, CtaPool &pool,
                                 bool ctasCommunicate, size_t most) {
  auto count = static_cast<uint64_t>(launch.grid[0]) *
               static_cast<uint64_t>(launch.grid[1]) *
               static_cast<uint64_t>(launch.grid[2]) / clusterSize(launch);
  launch.order = orderOfClusters(launch, count);
  launch.clusterCtas = clusterSize(launch);
  Collector collector;
  auto jobs = static_cast<uint64_t>(std::max(1, launch.options.jobs));
  jobs = std::min(jobs, count);
  launch.parallel =
      jobs > 1 && !ctasCommunicate && !launch.program->hasGlobalSync;
  if (ctasCommunicate) {
    runTogether(launch, pool, count, collector);
    return collector.finish(most);
  }
  std::atomic<uint64_t> next = 0;
  auto work = [&](const std::vector<Cta *> &ctas, Collector &into) {
    Cluster cluster;
    while (!launch.stop.load(std::memory_order_relaxed)) {
      uint64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count)
        break;
      beginCluster(cluster, launch, i, ctas);
      runCluster(cluster, ~uint64_t(0));
      into.take(cluster);
    }
  };
  size_t size = clusterSize(launch);
  if (!launch.parallel) {
    work(ctasAt(pool, 0, size), collector);
    return collector.finish(most);
  }
  std::vector<Collector> collectors(jobs);
  std::vector<std::thread> threads;
  ctaAt(pool, jobs * size - 1);
  for (uint64_t j = 0; j < jobs; ++j)
    threads.emplace_back(
        [&, j] { work(ctasAt(pool, j, size), collectors[j]); });
  for (std::thread &thread : threads)
    thread.join();
  for (Collector &part : collectors)
    collector.merge(part);
  return collector.finish(most);
}
