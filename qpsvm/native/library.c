/* One variant of the core, or with -DSELECTION the choice between variants. */

#ifndef SELECTION

#include "descent.c"
#include "pairs.c"
#include "intercept.c"
#include "bounds.c" /* the conditions of intercept.c */
#include "machine.c" /* the steps of pairs.c, the bounds of bounds.c */
#include "newton.c" /* the machine and the linear systems of machine.c */
#include "together.c" /* the methods of machine.c and newton.c */
#include "classes.c"
#include "tiles.c"

#else

#include "common.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>

/* Bits of register c of leaf 1, of b of leaf 7, of c of leaf 0x80000001, and of the state that the
 * operating system saves (psABI, "x86-64 micro-architecture levels"). */
static int has_level(int level) {
  unsigned a, b, c, d, b7 = 0, c8 = 0, state = 0, high;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  unsigned c1 = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) b7 = b;
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) c8 = c;
  if (c1 & (1u << 27)) __asm__ volatile("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
  /* sse3, ssse3, cmpxchg16b, sse4.1, sse4.2, popcnt; lahf */
  const unsigned v2 = 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23;
  if ((c1 & v2) != v2 || !(c8 & 1u)) return level < 2;
  /* fma, movbe, osxsave, avx, f16c; bmi1, avx2, bmi2; lzcnt */
  const unsigned v3 = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29;
  const unsigned v3_7 = 1u << 3 | 1u << 5 | 1u << 8;
  if ((c1 & v3) != v3 || (b7 & v3_7) != v3_7 || !(c8 & (1u << 5)) || (state & 6u) != 6u)
    return level < 3;
  /* avx512 f, dq, cd, bw, vl; opmask and both halves of zmm */
  const unsigned v4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  if ((b7 & v4) != v4 || (state & 0xe6u) != 0xe6u) return level < 4;
  return 1;
}
#else
static int has_level(int level) { return level < 2; }
#endif

/* The highest micro-architecture level of x86-64 that this processor has, 1 to 4; else 1. */
PUBLIC int qpsvm_level(void) {
  for (int level = 4; level > 1; level--)
    if (has_level(level)) return level;
  return 1;
}

#ifndef DIGEST
#define DIGEST "unknown"
#endif

/* The digest of the sources that this library was compiled from. */
PUBLIC const char *qpsvm_digest(void) { return DIGEST; }

#endif
