#pragma once

// Kernels on whose speed a step depends are compiled once per instruction set (device/cpu/CMakeLists.txt):
// the same sources in a namespace of their own, with Eigen under a name of its own, too. Whoever includes
// their headers sees those of the baseline, which every processor runs; KernelTable leads to the others.

#ifndef HEXAPLAN_KERNEL_SET
#define HEXAPLAN_KERNEL_SET baseline
#endif
