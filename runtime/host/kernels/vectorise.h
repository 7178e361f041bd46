// How the kernels ask the compiler for vectors.
#pragma once

// The iterations of the following loop do not depend on one another, although the pointers may be equal (results are
// written over operands).
#if defined(__clang__)
#define TASO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TASO_INDEPENDENT _Pragma("GCC ivdep")
#endif
