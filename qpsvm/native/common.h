/* What all functions of the core share: exported names, status codes, sums in several accumulators.
 *
 * The core is compiled several times, for processors of several generations, with
 * -ffp-contract=off and without -ffast-math. Sums are written in a fixed number of independent
 * accumulators, so that a compiler uses vector registers of any width without changing the order
 * of one addition: every variant returns the same bits.
 *
 * No function allocates memory or has static data; functions with separate arrays can run at the
 * same time. The caller (qpsvm/native) has checked lengths, indices and overlaps.
 */

#ifndef QPSVM_COMMON_H
#define QPSVM_COMMON_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != -1
#error "qpsvm needs arithmetic that rounds every operation to its type (SSE2, not x87)"
#endif

#if defined(_WIN32)
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

/* Begin to load from an address that is read soon; a hint, valid for any address. */
#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif

/* EXPORTED(name) is the name of a function in this variant: name_generic, name_v3, ... */
#ifndef VARIANT
#define VARIANT generic
#endif
#define JOINED(name, variant) name##_##variant
#define EXPANDED(name, variant) JOINED(name, variant)
#define EXPORTED(name) EXPANDED(name, VARIANT)

enum status {
  DONE = 0,      /* the tolerance holds */
  LIMIT = 1,     /* the largest number of passes or steps, or the work of one call, is reached */
  UNBOUNDED = 2, /* a direction without curvature and without bound descends */
  STALLED = 3,   /* rounding leaves every step at zero */
  NOT_FINITE = 4 /* a gradient is not a number */
};

#define INFINITE ((double)(1e308 * 10.0))

static inline double smaller(double x, double y) { return x < y ? x : y; }
static inline double larger(double x, double y) { return x > y ? x : y; }

/* A number as the unevaluated sum of two doubles, high + low. */
struct pair {
  double high, low;
};

/* x + y exactly (Knuth): high = fl(x + y), low its rounding error. */
static inline struct pair two_sum(double x, double y) {
  double s = x + y, z = s - x;
  struct pair r = {s, (x - (s - z)) + (y - z)};
  return r;
}

/* x * y exactly (Dekker, Veltkamp), unless it overflows or underflows: |x|, |y| < 2^995. */
static inline struct pair two_product(double x, double y) {
  double p = x * y;
  double cx = 134217729.0 * x, cy = 134217729.0 * y; /* 2^27 + 1 */
  double xh = cx - (cx - x), yh = cy - (cy - y);
  double xl = x - xh, yl = y - yh;
  struct pair r = {p, ((xh * yh - p) + xh * yl + xl * yh) + xl * yl};
  return r;
}

/* total += x, where the low part collects the rounding errors. Infinite totals stay infinite. */
static inline void add(struct pair *total, double x) {
  struct pair s = two_sum(total->high, x);
  total->high = s.high;
  total->low += s.low;
}

/* total += x * y, with the rounding error of the product. */
static inline void add_product(struct pair *total, double x, double y) {
  struct pair p = two_product(x, y);
  add(total, p.high);
  total->low += p.low;
}

/* Store a total as two doubles that do not overlap. */
static inline void store(struct pair total, double *sums) {
  struct pair r = two_sum(total.high, total.low);
  int is_finite = r.high - r.high == 0.0;
  sums[0] = is_finite ? r.high : total.high;
  sums[1] = is_finite ? r.low : 0.0;
}

/* The double next to a total; where the high part overflowed, that. */
static inline double rounded(struct pair total) {
  double s = total.high + total.low;
  return s - s == 0.0 ? s : total.high;
}

#endif
