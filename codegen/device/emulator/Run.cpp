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
    for (size_t i = 0; i < cta.findings.size(); ++i) {
      Finding &finding = cta.findings[i];
      std::pair<int, std::string> key{finding.ptxLine, finding.kind};
      std::pair<uint64_t, size_t> order{position, i};
      auto [at, isNew] = found.try_emplace(key, order, finding);
      if (!isNew && order < at->second.first)
        at->second = {order, std::move(finding)};
    }
    cta.findings.clear();
  }
  void merge(Collector &other) {
    instructions += other.instructions;
    for (auto &[key, entry] : other.found) {
      auto [at, isNew] = found.try_emplace(key, entry);
      if (!isNew && entry.first < at->second.first)
        at->second = std::move(entry);
    }
  }
  LaunchReport finish(size_t most) {
    std::vector<std::pair<std::pair<uint64_t, size_t>, Finding>> all;
    for (auto &[key, entry] : found)
      all.push_back(std::move(entry));
    std::sort(all.begin(), all.end(),
              [](const auto &a, const auto &b) { return a.first < b.first; });
    LaunchReport report;
    report.threadInstructions = instructions;
    for (auto &[order, finding] : all) {
      std::vector<Finding> &into =
          finding.isNote ? report.notes : report.findings;
      if (into.size() < most)
        into.push_back(std::move(finding));
    }
    return report;
  }

private:
  std::map<std::pair<int, std::string>,
           std::pair<std::pair<uint64_t, size_t>, Finding>>
      found;
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
                        const std::vector<uint64_t> &order,
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
      beginCluster(clusters[slot], launch, order.empty() ? next : order[next],
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
  std::vector<uint64_t> order = orderOfClusters(launch, count);
  Collector collector;
  auto jobs = static_cast<uint64_t>(std::max(1, launch.options.jobs));
  jobs = std::min(jobs, count);
  launch.parallel =
      jobs > 1 && !ctasCommunicate && !launch.program->hasGlobalAtomics;
  if (ctasCommunicate) {
    runTogether(launch, pool, count, order, collector);
    return collector.finish(most);
  }
  std::atomic<uint64_t> next = 0;
  auto work = [&](const std::vector<Cta *> &ctas, Collector &into) {
    Cluster cluster;
    while (!launch.stop.load(std::memory_order_relaxed)) {
      uint64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count)
        break;
      beginCluster(cluster, launch, order.empty() ? i : order[i], ctas);
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
