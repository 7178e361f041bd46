// How the kernels ask the compiler for vectors.
#pragma once

// The iterations of the following loop do not depend on one another, although the pointers may be equal (results are
// written over operands).
#if defined(__clang__)
#define TASO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TASO_INDEPENDENT _Pragma("GCC ivdep")
#endif

// On x86_64 the baseline has neither wide vectors nor fused multiplication: such functions are compiled twice, and the
// program takes the one that the processor can run. The sanitizers cannot start a program that chooses so early.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define TASO_CLONES __attribute__((target_clones("default", "arch=haswell")))
#else
#define TASO_CLONES
#endif
