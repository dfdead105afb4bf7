//===- CudaQueue.cpp - Graphs, events and sensors of a GPU ----------------===//
#include "codegen/device/cuda/CudaQueue.h"

#include "codegen/device/cuda/Nvml.h"

using namespace tandem;
using namespace tandem::cuda;

CudaQueue::~CudaQueue() {
  if (!begin || driver.ctxSetCurrent(context) != success)
    return;
  driver.eventDestroy(begin);
  driver.eventDestroy(end);
}

Result<void> CudaQueue::copy(uint64_t target, uint64_t source, uint64_t bytes) {
  if (Result<void> r = makeCurrent(); !r || !bytes)
    return r;
  return check("cuMemcpyDtoD",
               driver.memcpyDtoD(target, source, bytes, cuStream));
}

Result<void> CudaQueue::synchronize() {
  if (Result<void> r = makeCurrent(); !r)
    return r;
  return check("cuStreamSynchronize", driver.streamSynchronize(cuStream));
}

Result<uint64_t>
CudaQueue::capture(const std::function<Result<void>()> &enqueue) {
  if (Result<void> r = makeCurrent(); !r)
    return r.error();
  if (Result<void> r =
          check("cuStreamBeginCapture",
                driver.streamBeginCapture(cuStream, captureThreadLocal));
      !r)
    return r.error();
  const Result<void> done = enqueue();
  CUgraph graph = nullptr;
  // Ends the capture in any case, else the stream is lost.
  const CUresult code = driver.streamEndCapture(cuStream, &graph);
  if (!done || code != success || !graph) {
    if (graph)
      driver.graphDestroy(graph);
    return done ? driver.describe("cuStreamEndCapture", code) : done.error();
  }
  Result<uint64_t> executable = instantiate(reinterpret_cast<uint64_t>(graph));
  driver.graphDestroy(graph);
  return executable;
}

Result<uint64_t> CudaQueue::instantiate(uint64_t graph) {
  if (Result<void> r = makeCurrent(); !r)
    return r.error();
  CUgraphExec executable = nullptr;
  if (Result<void> r =
          check("cuGraphInstantiate",
                driver.graphInstantiate(&executable,
                                        reinterpret_cast<CUgraph>(graph), 0));
      !r)
    return r.error();
  return reinterpret_cast<uint64_t>(executable);
}

void CudaQueue::release(uint64_t executable) {
  if (driver.ctxSetCurrent(context) == success)
    driver.graphExecDestroy(reinterpret_cast<CUgraphExec>(executable));
}

Result<double> CudaQueue::replay(uint64_t executable) {
  if (Result<void> r = makeCurrent(); !r)
    return r.error();
  for (CUevent *event : {&begin, &end})
    if (!*event)
      if (Result<void> r = check("cuEventCreate", driver.eventCreate(event, 0));
          !r)
        return r.error();
  float milliseconds = 0;
  CUresult code = driver.eventRecord(begin, cuStream);
  if (code == success)
    code =
        driver.graphLaunch(reinterpret_cast<CUgraphExec>(executable), cuStream);
  if (code == success)
    code = driver.eventRecord(end, cuStream);
  if (code == success)
    code = driver.streamSynchronize(cuStream);
  if (code == success)
    code = driver.eventElapsedTime(&milliseconds, begin, end);
  if (Result<void> r = check("cuGraphLaunch", code); !r)
    return r.error();
  return 1e3 * milliseconds;
}

std::optional<GpuSensors> CudaQueue::sensors() { return nvmlSensors(busId); }
