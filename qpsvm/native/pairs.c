/* Sequential minimal optimisation on a stored kernel block.
 *
 *     minimise  1/2 v'(K + c 11' + diag(D)) v + q'v    subject to  lower <= v <= upper
 *
 * and, with one group, 1'v kept; with two groups, the sum over each group kept; with none, nothing
 * else. The signs of labels are folded into the variables: v_i = s_i a_i, so that s'a = 1'v, the
 * box of v_i is [-u, -l] where s_i = -1, and two groups (the signs) keep both s'a and 1'a, the rows
 * of nu machines. K is then the kernel itself, and v are the coefficients of its expansion.
 *
 * Pairs are chosen by the gain of second order (Fan, Chen and Lin, "Working set selection using
 * second order information for training SVM", JMLR 6, 2005).
 */

#include "common.h"

#define WIDTH 8 /* independent comparisons, so that searches use vector registers */

/* The rounding error of a curvature d_i + d_j - 2 K_ij, relative to d_i + d_j. */
#define FLAT (8.0 * DBL_EPSILON)

/* Row i of the block begins at block + offsets[i] (offsets NULL: i * stride); entry j of it is
 * row[columns[j]] (columns NULL: row[j]). So cached columns are read where they lie, and two
 * variables of one sample share its row. */
struct kernel_block {
  int64_t size, stride; /* n variables */
  const double *block;
  const int64_t *offsets, *columns; /* (n,) */
  double constant;                  /* c */
};

static const double *kernel_row(const struct kernel_block *K, int64_t i, double *buffer) {
  const double *row = K->block + (K->offsets ? K->offsets[i] : i * K->stride);
  if (!K->columns) return row;
  for (int64_t j = 0; j < K->size; j++) buffer[j] = row[K->columns[j]];
  return buffer;
}

/* The smallest of key[0 : n]; its first place in *place, -1 where every key is infinite. */
static double smallest(const double *key, int64_t n, int64_t *place) {
  double best[WIDTH], least = INFINITE;
  int64_t i = 0;
  for (int k = 0; k < WIDTH; k++) best[k] = INFINITE;
  for (; i + WIDTH <= n; i += WIDTH)
    for (int k = 0; k < WIDTH; k++) best[k] = key[i + k] < best[k] ? key[i + k] : best[k];
  for (int k = 0; k < WIDTH; k++) least = smaller(least, best[k]);
  for (; i < n; i++) least = smaller(least, key[i]);
  *place = -1;
  if (least < INFINITE)
    for (i = 0; i < n; i++)
      if (key[i] == least) {
        *place = i;
        break;
      }
  return least;
}

/* Where a variable may move: rising_i is 0 if v_i < upper_i, else infinite, and falling_i is 0 if
 * v_i > lower_i, else infinite. Added to a gradient they take a variable out of a comparison. */
static inline void note(int64_t i, const double *v, const double *lower, const double *upper,
                        double *rising, double *falling) {
  rising[i] = v[i] < upper[i] ? 0.0 : INFINITE;
  falling[i] = v[i] > lower[i] ? 0.0 : INFINITE;
}

/* The choice of a pair: v_i rises and v_j falls. */
struct choice {
  int64_t i, j;
  double gain, violation;
};

/* For one group (all variables where group is NULL):
 *
 *     i = argmin over rising of g_i,   violation = max over falling of g_j - g_i,
 *     j = argmax over falling of (g_j - g_i)^2 / curvature_ij where g_j > g_i
 *
 * with curvature_ij = d_i + d_j - 2 K_ij, at least its own rounding error. key is work of (n,).
 */
static struct choice choose(const struct kernel_block *K, const double *d, const double *g,
                            const double *rising, const double *falling, const int8_t *group,
                            int which, double *key, double *buffer) {
  int64_t n = K->size;
  struct choice best = {-1, -1, 0.0, 0.0};
  if (group)
    for (int64_t t = 0; t < n; t++) key[t] = group[t] == which ? g[t] + rising[t] : INFINITE;
  else
    for (int64_t t = 0; t < n; t++) key[t] = g[t] + rising[t];
  double least = smallest(key, n, &best.i);
  if (best.i < 0) return best;
  const double *row = kernel_row(K, best.i, buffer);
  double own = d[best.i], most[WIDTH] = {0.0};
  int64_t t = 0;
  /* negated gains, so that one search serves both; -0.0 where there is nothing to gain */
  for (; t + WIDTH <= n; t += WIDTH)
    for (int k = 0; k < WIDTH; k++) {
      double b = (g[t + k] - falling[t + k]) - least, sum = own + d[t + k];
      double a = sum - 2.0 * row[t + k], rounding = FLAT * sum + DBL_MIN;
      a = a > rounding ? a : rounding;
      b = b > 0.0 ? b : 0.0;
      most[k] = b > most[k] ? b : most[k];
      key[t + k] = -(b * b / a);
    }
  for (; t < n; t++) {
    double b = (g[t] - falling[t]) - least, sum = own + d[t];
    double a = sum - 2.0 * row[t], rounding = FLAT * sum + DBL_MIN;
    a = a > rounding ? a : rounding;
    b = b > 0.0 ? b : 0.0;
    most[0] = b > most[0] ? b : most[0];
    key[t] = -(b * b / a);
  }
  if (group) { /* seldom: nu machines */
    for (int k = 0; k < WIDTH; k++) most[k] = 0.0;
    for (t = 0; t < n; t++) {
      if (group[t] != which)
        key[t] = 0.0;
      else
        most[0] = larger(most[0], (g[t] - falling[t]) - least);
    }
  }
  for (int k = 0; k < WIDTH; k++) best.violation = larger(best.violation, most[k]);
  best.gain = -smallest(key, n, &best.j);
  return best;
}

/* For single variables: i = argmax of p_i^2 / d_i, violation = max p_i, where p_i is |g_i| if v_i
 * may move against g_i, else 0. */
static struct choice choose_single(int64_t n, const double *d, const double *g,
                                   const double *rising, const double *falling, double *key) {
  struct choice best = {-1, -1, 0.0, 0.0};
  double most[WIDTH] = {0.0};
  int64_t t = 0;
  for (; t + WIDTH <= n; t += WIDTH)
    for (int k = 0; k < WIDTH; k++) {
      double up = -(g[t + k] + rising[t + k]), down = g[t + k] - falling[t + k];
      double p = up > down ? up : down, a = d[t + k] > DBL_MIN ? d[t + k] : DBL_MIN;
      p = p > 0.0 ? p : 0.0;
      most[k] = p > most[k] ? p : most[k];
      key[t + k] = -(p * p / a);
    }
  for (; t < n; t++) {
    double p = larger(larger(-(g[t] + rising[t]), g[t] - falling[t]), 0.0);
    most[0] = larger(most[0], p);
    key[t] = -(p * p / larger(d[t], DBL_MIN));
  }
  for (int k = 0; k < WIDTH; k++) best.violation = larger(best.violation, most[k]);
  best.gain = -smallest(key, n, &best.i);
  return best;
}

/* Minimise by steps of pairs (n_groups 1 or 2) or of single variables (n_groups 0).
 *
 * Shapes: v, g, lower, upper (n,); added (n,) D >= 0 or NULL; group (n,) of 0 and 1, or NULL with
 * fewer than two groups; work (6 n,). g is the gradient (K + c 11' + diag(D)) v + q at v, which is
 * within its box. v and g change. violation and steps are results:
 *
 *     pairs:   max over groups of  max_{v_j > lower_j} g_j - min_{v_i < upper_i} g_i
 *     single:  max over i of |projected g_i|
 *
 * DONE: violation <= tol. LIMIT: after max_steps steps. A run may be divided into calls anywhere;
 * its bits are the same. Curvature below its own rounding error counts as that error, so steps of
 * flat directions end at a bound; UNBOUNDED: where there is none. STALLED: a step changes nothing.
 */
PUBLIC int EXPORTED(pairs_run)(const struct kernel_block *K, const double *added,
                               const double *lower, const double *upper, const int8_t *group,
                               int64_t n_groups, double tol, int64_t max_steps, double *v,
                               double *g, double *work, double *violation, int64_t *steps) {
  int64_t n = K->size;
  double *d = work, *rising = work + n, *falling = work + 2 * n, *key = work + 3 * n;
  double *first = work + 4 * n, *second = work + 5 * n;
  for (int64_t i = 0; i < n; i++) {
    const double *row = K->block + (K->offsets ? K->offsets[i] : i * K->stride);
    d[i] = row[K->columns ? K->columns[i] : i] + (added ? added[i] : 0.0);
    if (n_groups == 0) d[i] += K->constant; /* of a pair's curvature the constant cancels */
    note(i, v, lower, upper, rising, falling);
    if (g[i] - g[i] != 0.0) return NOT_FINITE;
  }
  *steps = 0;
  for (;;) {
    struct choice best = {-1, -1, 0.0, 0.0};
    if (n_groups == 0) {
      best = choose_single(n, d, g, rising, falling, key);
    } else {
      for (int which = 0; which < n_groups; which++) {
        struct choice found =
            choose(K, d, g, rising, falling, n_groups > 1 ? group : NULL, which, key, first);
        double worst = larger(best.violation, found.violation);
        if (found.gain > best.gain) best = found;
        best.violation = worst;
      }
    }
    *violation = best.violation;
    if (best.violation <= tol) return DONE;
    if (*steps >= max_steps) return LIMIT;
    if (best.i < 0 || (n_groups > 0 && best.j < 0) || !(best.gain > 0.0)) return STALLED;

    int64_t i = best.i, j = best.j;
    const double *row = kernel_row(K, i, first);
    if (n_groups == 0) {
      double a = d[i], before = v[i], after = a > 0.0 ? before - g[i] / a : -g[i] * INFINITE;
      after = smaller(larger(after, lower[i]), upper[i]);
      if (after - after != 0.0) return UNBOUNDED;
      double step = after - before, c = K->constant;
      if (after == before) return STALLED;
      v[i] = after;
      for (int64_t t = 0; t < n; t++) g[t] += step * (row[t] + c);
      if (added) g[i] += step * added[i];
      note(i, v, lower, upper, rising, falling);
    } else {
      const double *other = kernel_row(K, j, second);
      double sum = d[i] + d[j], a = sum - 2.0 * row[j], rounding = FLAT * sum + DBL_MIN;
      double step = (g[j] - g[i]) / larger(a, rounding);
      double room_i = upper[i] - v[i], room_j = v[j] - lower[j];
      if ((a <= rounding || step - step != 0.0) && smaller(room_i, room_j) == INFINITE)
        return UNBOUNDED;
      /* at a bound exactly, if one is reached */
      double of_i, of_j;
      if (step >= room_i && room_i <= room_j) {
        of_i = upper[i];
        of_j = v[j] - room_i;
      } else if (step >= room_j) {
        of_i = v[i] + room_j;
        of_j = lower[j];
      } else {
        of_i = v[i] + step;
        of_j = v[j] - step;
      }
      of_i = smaller(of_i, upper[i]);
      of_j = larger(of_j, lower[j]);
      double up = of_i - v[i], down = of_j - v[j];
      if (up == 0.0 && down == 0.0) return STALLED;
      v[i] = of_i;
      v[j] = of_j;
      for (int64_t t = 0; t < n; t++) g[t] += up * row[t] + down * other[t];
      if (added) {
        g[i] += up * added[i];
        g[j] += down * added[j];
      }
      note(i, v, lower, upper, rising, falling);
      note(j, v, lower, upper, rising, falling);
    }
    ++*steps;
  }
}
