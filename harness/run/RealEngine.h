//===- RealEngine.h - The compiler and the devices of this build -*- C++
//-*-===//
#ifndef TANDEM_HARNESS_RUN_REALENGINE_H
#define TANDEM_HARNESS_RUN_REALENGINE_H

#include "harness/run/Engine.h"

namespace tandem::harness {

/// \p device is a name that openDevice takes. Fails with the reason when there
/// is no such device.
Result<Engine> realEngine(const std::string &device);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_RUN_REALENGINE_H
