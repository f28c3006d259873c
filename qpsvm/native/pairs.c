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

/* A block of a larger matrix K that lies in two pieces of its rows and columns: piece[0] and piece[2]
 * are their begins, piece[1] and piece[3] their lengths, n together. A row is copied when it is first
 * read: steps of pairs read those of a part of the variables only. */
struct pieces {
  const double *K;
  int64_t stride; /* between rows of K */
  const int64_t *piece;
  double *block;     /* (n, n) */
  int8_t *is_copied; /* (n,) */
};

/* The row of K that is row i of the block. */
static inline int64_t row_in_pieces(const struct pieces *p, int64_t i) {
  return i < p->piece[1] ? p->piece[0] + i : p->piece[2] + (i - p->piece[1]);
}

static const double *copied_row(const struct pieces *p, int64_t i) {
  int64_t first = p->piece[1], second = p->piece[3];
  double *to = p->block + i * (first + second);
  if (p->is_copied[i]) return to;
  const double *row = p->K + row_in_pieces(p, i) * p->stride;
  memcpy(to, row + p->piece[0], (size_t)first * sizeof *to);
  memcpy(to + first, row + p->piece[2], (size_t)second * sizeof *to);
  p->is_copied[i] = 1;
  return to;
}

/* Row i of the block begins at block + offsets[i] (offsets NULL: i * stride); entry j of it is
 * row[columns[j]] (columns NULL: row[j]). So cached columns are read where they lie, and two
 * variables of one sample share its row. */
struct kernel_block {
  int64_t size, stride; /* n variables */
  const double *block;
  const int64_t *offsets, *columns; /* (n,) */
  double constant;                  /* c */
  const struct pieces *pieces;      /* the rows, in place of the block; NULL: none */
};

static const double *kernel_row(const struct kernel_block *K, int64_t i, double *buffer) {
  if (K->pieces) return copied_row(K->pieces, i);
  const double *row = K->block + (K->offsets ? K->offsets[i] : i * K->stride);
  if (!K->columns) return row;
  for (int64_t j = 0; j < K->size; j++) buffer[j] = row[K->columns[j]];
  return buffer;
}

static double kernel_diagonal(const struct kernel_block *K, int64_t i) {
  const struct pieces *p = K->pieces;
  if (p) return p->K[row_in_pieces(p, i) * (p->stride + 1)];
  const double *row = K->block + (K->offsets ? K->offsets[i] : i * K->stride);
  return row[K->columns ? K->columns[i] : i];
}

/* A place among n, and what is extreme there. */
struct place {
  int64_t index; /* -1: none */
  double value;
};

/* The best of WIDTH lanes: the largest value, and of equal ones the first place. */
static struct place best_lane(const double *value, const int64_t *index) {
  struct place best = {-1, -INFINITE};
  for (int k = 0; k < WIDTH; k++)
    if (index[k] >= 0 && (value[k] > best.value ||
                          (value[k] == best.value && index[k] < best.index))) {
      best.value = value[k];
      best.index = index[k];
    }
  return best;
}

/* argmax over i of -(g_i + rising_i); no place where all are infinite. */
static struct place lowest(int64_t n, const double *g, const double *rising) {
  double best[WIDTH];
  int64_t index[WIDTH], i = 0;
  for (int k = 0; k < WIDTH; k++) {
    best[k] = -INFINITE;
    index[k] = -1;
  }
  for (; i + WIDTH <= n; i += WIDTH)
    for (int k = 0; k < WIDTH; k++) {
      double value = -(g[i + k] + rising[i + k]);
      index[k] = value > best[k] ? i + k : index[k];
      best[k] = value > best[k] ? value : best[k];
    }
  for (int k = 0; i < n; i++, k++) {
    double value = -(g[i] + rising[i]);
    if (value > best[k]) {
      best[k] = value;
      index[k] = i;
    }
  }
  return best_lane(best, index);
}

/* Where a variable may move: rising_i is 0 if v_i < upper_i, else infinite, and falling_i is 0 if
 * v_i > lower_i, else infinite. Added to a gradient they take a variable out of a comparison. With
 * two groups, those of the second follow those of the first, infinite for the other group. */
static inline void note(int64_t n, int64_t i, const int8_t *group, const double *v,
                        const double *lower, const double *upper, double *rising,
                        double *falling) {
  int64_t at = group && group[i] ? n + i : i;
  rising[at] = v[i] < upper[i] ? 0.0 : INFINITE;
  falling[at] = v[i] > lower[i] ? 0.0 : INFINITE;
}

/* The choice of a pair: v_i rises and v_j falls. */
struct choice {
  int64_t i, j;
  double gain, violation;
};

/* The gain of second order b^2 / a of a pair, from its gradients' difference b > 0 and diagonal. */
static inline double pair_gain(double b, double own, double d, double entry) {
  double sum = own + d, a = sum - 2.0 * entry, rounding = FLAT * sum + DBL_MIN;
  a = a > rounding ? a : rounding;
  return b * b / a;
}

/* Among the variables that are not taken out:
 *
 *     i = argmin over rising of g_i,   violation = max over falling of g_j - g_i,
 *     j = argmax over falling of (g_j - g_i)^2 / curvature_ij where g_j > g_i
 *
 * with curvature_ij = d_i + d_j - 2 K_ij, at least its own rounding error.
 */
static struct choice choose(const struct kernel_block *K, const double *d, const double *g,
                            const double *rising, const double *falling, double *buffer) {
  int64_t n = K->size, index[WIDTH], t = 0;
  struct place first = lowest(n, g, rising);
  struct choice found = {first.index, -1, 0.0, 0.0};
  if (first.index < 0) return found;
  const double *row = kernel_row(K, first.index, buffer);
  double own = d[first.index], most[WIDTH], best[WIDTH];
  for (int k = 0; k < WIDTH; k++) {
    most[k] = best[k] = 0.0;
    index[k] = -1;
  }
  for (; t + WIDTH <= n; t += WIDTH)
    for (int k = 0; k < WIDTH; k++) {
      double b = (g[t + k] - falling[t + k]) + first.value;
      b = b > 0.0 ? b : 0.0;
      double gain = pair_gain(b, own, d[t + k], row[t + k]);
      most[k] = b > most[k] ? b : most[k];
      index[k] = gain > best[k] ? t + k : index[k];
      best[k] = gain > best[k] ? gain : best[k];
    }
  for (int k = 0; t < n; t++, k++) {
    double b = larger((g[t] - falling[t]) + first.value, 0.0);
    double gain = pair_gain(b, own, d[t], row[t]);
    most[k] = larger(most[k], b);
    if (gain > best[k]) {
      best[k] = gain;
      index[k] = t;
    }
  }
  for (int k = 0; k < WIDTH; k++) found.violation = larger(found.violation, most[k]);
  struct place second = best_lane(best, index);
  found.j = second.index;
  found.gain = larger(second.value, 0.0);
  return found;
}

/* |g_i| if v_i may move against g_i, else 0. */
static inline double projected(double g, double rising, double falling) {
  double up = -(g + rising), down = g - falling, size = up > down ? up : down;
  return size > 0.0 ? size : 0.0;
}

/* For single variables: i = argmax of p_i^2 / d_i, violation = max p_i, p the projected |g|. */
static struct choice choose_single(int64_t n, const double *d, const double *g,
                                   const double *rising, const double *falling) {
  double most[WIDTH], best[WIDTH];
  int64_t index[WIDTH], t = 0;
  struct choice found = {-1, -1, 0.0, 0.0};
  for (int k = 0; k < WIDTH; k++) {
    most[k] = best[k] = 0.0;
    index[k] = -1;
  }
  for (; t + WIDTH <= n; t += WIDTH)
    for (int k = 0; k < WIDTH; k++) {
      double p = projected(g[t + k], rising[t + k], falling[t + k]);
      double gain = p * p / (d[t + k] > DBL_MIN ? d[t + k] : DBL_MIN);
      most[k] = p > most[k] ? p : most[k];
      index[k] = gain > best[k] ? t + k : index[k];
      best[k] = gain > best[k] ? gain : best[k];
    }
  for (int k = 0; t < n; t++, k++) {
    double p = projected(g[t], rising[t], falling[t]);
    double gain = p * p / larger(d[t], DBL_MIN);
    most[k] = larger(most[k], p);
    if (gain > best[k]) {
      best[k] = gain;
      index[k] = t;
    }
  }
  for (int k = 0; k < WIDTH; k++) found.violation = larger(found.violation, most[k]);
  struct place first = best_lane(best, index);
  found.i = first.index;
  found.gain = larger(first.value, 0.0);
  return found;
}

/* Minimise by steps of pairs (n_groups 1 or 2) or of single variables (n_groups 0).
 *
 * Shapes: v, g, lower, upper (n,); added (n,) D >= 0 or NULL; group (n,) of 0 and 1, or NULL with
 * fewer than two groups; work (7 n,). g is the gradient (K + c 11' + diag(D)) v + q at v, which is
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
  double *d = work, *first = work + n, *second = work + 2 * n;
  double *rising = work + 3 * n, *falling = work + 5 * n; /* 2 n each */
  if (n_groups < 2) group = NULL;
  for (int64_t i = 0; i < 4 * n; i++) rising[i] = INFINITE;
  for (int64_t i = 0; i < n; i++) {
    d[i] = kernel_diagonal(K, i) + (added ? added[i] : 0.0);
    if (n_groups == 0) d[i] += K->constant; /* of a pair's curvature the constant cancels */
    note(n, i, group, v, lower, upper, rising, falling);
    if (g[i] - g[i] != 0.0) return NOT_FINITE;
  }
  *steps = 0;
  for (;;) {
    struct choice best = {-1, -1, 0.0, 0.0};
    if (n_groups == 0)
      best = choose_single(n, d, g, rising, falling);
    else
      for (int64_t which = 0; which < n_groups; which++) {
        struct choice found = choose(K, d, g, rising + which * n, falling + which * n, first);
        double worst = larger(best.violation, found.violation);
        if (found.gain > best.gain) best = found;
        best.violation = worst;
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
      note(n, i, group, v, lower, upper, rising, falling);
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
      note(n, i, group, v, lower, upper, rising, falling);
      note(n, j, group, v, lower, upper, rising, falling);
    }
    ++*steps;
  }
}
