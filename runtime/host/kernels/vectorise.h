// Hints for the compiler's vectoriser.
#pragma once

// The iterations of the following loop are independent, although the pointers may be equal (results overwrite
// operands).
#if defined(__clang__)
#define TASO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TASO_INDEPENDENT _Pragma("GCC ivdep")
#endif
