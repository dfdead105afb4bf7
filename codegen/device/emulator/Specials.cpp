//===- Specials.cpp - Special registers -----------------------------------===//
#include "codegen/device/emulator/Specials.h"

using namespace tandem::emulator;

static constexpr NamedSpecial specials[] = {
    {"%tid.x", Special::TidX, 4},
    {"%tid.y", Special::TidY, 4},
    {"%tid.z", Special::TidZ, 4},
    {"%ntid.x", Special::NtidX, 4},
    {"%ntid.y", Special::NtidY, 4},
    {"%ntid.z", Special::NtidZ, 4},
    {"%ctaid.x", Special::CtaidX, 4},
    {"%ctaid.y", Special::CtaidY, 4},
    {"%ctaid.z", Special::CtaidZ, 4},
    {"%nctaid.x", Special::NctaidX, 4},
    {"%nctaid.y", Special::NctaidY, 4},
    {"%nctaid.z", Special::NctaidZ, 4},
    {"%laneid", Special::LaneId, 4},
    {"%warpid", Special::WarpId, 4},
    {"%nwarpid", Special::NWarpId, 4},
    {"%smid", Special::SmId, 4},
    {"%nsmid", Special::NSmId, 4},
    {"%gridid", Special::GridId, 8},
    {"%lanemask_eq", Special::LaneMaskEq, 4},
    {"%lanemask_lt", Special::LaneMaskLt, 4},
    {"%lanemask_le", Special::LaneMaskLe, 4},
    {"%lanemask_gt", Special::LaneMaskGt, 4},
    {"%lanemask_ge", Special::LaneMaskGe, 4},
    {"%dynamic_smem_size", Special::DynamicSharedSize, 4},
    {"%total_smem_size", Special::TotalSharedSize, 4},
    {"%clusterid.x", Special::ClusterIdX, 4},
    {"%clusterid.y", Special::ClusterIdY, 4},
    {"%clusterid.z", Special::ClusterIdZ, 4},
    {"%nclusterid.x", Special::NClusterIdX, 4},
    {"%nclusterid.y", Special::NClusterIdY, 4},
    {"%nclusterid.z", Special::NClusterIdZ, 4},
    {"%cluster_ctaid.x", Special::ClusterCtaIdX, 4},
    {"%cluster_ctaid.y", Special::ClusterCtaIdY, 4},
    {"%cluster_ctaid.z", Special::ClusterCtaIdZ, 4},
    {"%cluster_nctaid.x", Special::ClusterNctaIdX, 4},
    {"%cluster_nctaid.y", Special::ClusterNctaIdY, 4},
    {"%cluster_nctaid.z", Special::ClusterNctaIdZ, 4},
    {"%cluster_ctarank", Special::ClusterCtaRank, 4},
    {"%cluster_nctarank", Special::ClusterNctaRank, 4},
    {"%clock", Special::Clock, 4},
    {"%clock64", Special::Clock64, 8},
    {"%globaltimer", Special::GlobalTimer, 8},
    {"%globaltimer_lo", Special::GlobalTimer, 4},
    {"%envreg1", Special::EnvReg, 4},
    {"%envreg2", Special::EnvReg, 4},
};

const NamedSpecial *tandem::emulator::findSpecial(std::string_view name) {
  for (const NamedSpecial &special : specials)
    if (special.name == name)
      return &special;
  return nullptr;
}

uint64_t tandem::emulator::specialValue(Special which, const Cta &cta,
                                        const Warp &warp, unsigned lane) {
  const Launch &launch = *cta.launch;
  auto dim = [](auto value) { return static_cast<uint64_t>(value); };
  uint64_t bit = uint64_t(1) << lane;
  switch (which) {
  case Special::TidX:
    return dim(threadId(launch, warp.index, lane)[0]);
  case Special::TidY:
    return dim(threadId(launch, warp.index, lane)[1]);
  case Special::TidZ:
    return dim(threadId(launch, warp.index, lane)[2]);
  case Special::NtidX:
    return dim(launch.block[0]);
  case Special::NtidY:
    return dim(launch.block[1]);
  case Special::NtidZ:
    return dim(launch.block[2]);
  case Special::CtaidX:
    return dim(cta.id[0]);
  case Special::CtaidY:
    return dim(cta.id[1]);
  case Special::CtaidZ:
    return dim(cta.id[2]);
  case Special::NctaidX:
    return dim(launch.grid[0]);
  case Special::NctaidY:
    return dim(launch.grid[1]);
  case Special::NctaidZ:
    return dim(launch.grid[2]);
  // Without clusters each CTA is a cluster of its own.
  case Special::ClusterIdX:
    return dim(cta.id[0] / launch.cluster[0]);
  case Special::ClusterIdY:
    return dim(cta.id[1] / launch.cluster[1]);
  case Special::ClusterIdZ:
    return dim(cta.id[2] / launch.cluster[2]);
  case Special::NClusterIdX:
    return dim(launch.grid[0] / launch.cluster[0]);
  case Special::NClusterIdY:
    return dim(launch.grid[1] / launch.cluster[1]);
  case Special::NClusterIdZ:
    return dim(launch.grid[2] / launch.cluster[2]);
  case Special::ClusterCtaIdX:
    return dim(cta.id[0] % launch.cluster[0]);
  case Special::ClusterCtaIdY:
    return dim(cta.id[1] % launch.cluster[1]);
  case Special::ClusterCtaIdZ:
    return dim(cta.id[2] % launch.cluster[2]);
  case Special::ClusterNctaIdX:
    return dim(launch.cluster[0]);
  case Special::ClusterNctaIdY:
    return dim(launch.cluster[1]);
  case Special::ClusterNctaIdZ:
    return dim(launch.cluster[2]);
  case Special::ClusterCtaRank:
    return cta.rank;
  case Special::ClusterNctaRank:
    return dim(launch.cluster[0]) * dim(launch.cluster[1]) *
           dim(launch.cluster[2]);
  case Special::LaneId:
    return lane;
  case Special::WarpId:
    return dim(warp.index);
  case Special::NWarpId:
    return 64;
  case Special::SmId:
    return cta.linear % 132;
  case Special::NSmId:
    return 132;
  case Special::GridId:
    return launch.launchNumber;
  case Special::LaneMaskEq:
    return bit;
  case Special::LaneMaskLt:
    return bit - 1;
  case Special::LaneMaskLe:
    return bit | (bit - 1);
  case Special::LaneMaskGt:
    return ~(bit | (bit - 1)) & 0xffffffffu;
  case Special::LaneMaskGe:
    return ~(bit - 1) & 0xffffffffu;
  case Special::DynamicSharedSize:
    return launch.dynamicSharedBytes;
  case Special::TotalSharedSize:
    return launch.sharedBytes;
  case Special::EnvReg:
    return 0;
  case Special::Clock:
  case Special::Clock64:
  case Special::GlobalTimer:
    return cta.instructions;
  }
  return 0;
}
