/* Newton's method for machines with explicit features and squared losses.
 *
 * The primal objective of w and b is piecewise quadratic. With z_i = s_i (x, 1) for the sample x of
 * condition i, v = p - Z u and the slopes a = clip(v / d, lower, upper) of the losses its gradient is D u - Z'a, and its generalised
 * Hessian D + Z_A' diag(1 / d_A) Z_A over the samples A whose slope is inside its ends; D is the
 * identity, with c for the intercept. A full step after which every slope is inside, or at the same
 * end, as before ends at the exact minimum; then a is the optimal dual point.
 *
 * Source: Mangasarian, "A finite Newton method for classification", Optimization Methods and Software
 * 17 (2002); Keerthi and DeCoste, "A modified finite Newton method for fast solution of large scale
 * linear SVMs", JMLR 6 (2005).
 */

#include "common.h"

/* The problem of machine m with samples X (n, d), and one weight more where has_intercept. */
struct features {
  const struct machine *m;
  const double *X;
  int64_t d, has_intercept;
};

/* The sample x of condition i. */
static inline const double *features_of(const struct features *f, int64_t i) {
  return f->X + (f->m->rows ? f->m->rows[i] : i) * f->d;
}

/* (x, 1)'u for the sample x of condition i. */
static inline double value_of(const struct features *f, int64_t i, const double *u) {
  return product(f->d, features_of(f, i), u) + (f->has_intercept ? u[f->d] : 0.0);
}

/* H += factor (x, 1)(x, 1)', the lower triangle. */
static void add_square(const struct features *f, int64_t i, double factor, double *H) {
  int64_t d = f->d, p = d + f->has_intercept;
  const double *x = features_of(f, i);
  for (int64_t k = 0; k < p; k++) {
    double own = factor * (k < d ? x[k] : 1.0);
    for (int64_t l = 0; l <= (k < d ? k : d - 1); l++) H[k * p + l] += own * x[l];
  }
  if (f->has_intercept) H[p * p - 1] += factor;
}

/* Slopes a (n,) at v, and the objective there. */
static double slopes_at(const struct features *f, const double *u, const double *v, double *a) {
  const struct machine *m = f->m;
  double total = f->has_intercept ? m->constant * u[f->d] * u[f->d] : 0.0;
  total = 0.5 * (total + product(f->d, u, u));
  for (int64_t i = 0; i < m->size; i++) {
    double d = m->curved[i];
    a[i] = smaller(larger(v[i] / d, m->lower[i]), m->upper[i]);
    total += a[i] * (v[i] - 0.5 * d * a[i]);
  }
  return total;
}

/* -1 or 1 where a slope is at its lower or upper end, 0 inside. */
static inline int8_t side_of(const struct machine *m, int64_t i, double a) {
  return (int8_t)(a <= m->lower[i] ? -1 : a >= m->upper[i] ? 1 : 0);
}

/* Minimise from the weights u (p,), p = d + has_intercept; alpha (n,) are the slopes at the end.
 *
 * X (samples, d), curved > 0. work (2 p p + 2 p + 3 n,) and sides (n,) are memory. DONE where a
 * full step left the sides of all slopes as they were; LIMIT after max_steps; STALLED where the Hessian is singular. */
PUBLIC int EXPORTED(machine_newton)(const struct machine *m, const double *X, int64_t d,
                                    int64_t has_intercept, int64_t max_steps, int64_t halvings,
                                    double *u, double *alpha, int8_t *sides, double *work) {
  struct features f = {m, X, d, has_intercept};
  int64_t n = m->size, p = d + has_intercept;
  double *H = work, *factor = H + p * p, *step = factor + p * p, *trial = step + p;
  double *v = trial + p, *along = v + n, *moved = along + n;
  for (int64_t k = 0; k < p * p; k++) H[k] = 0.0;
  for (int64_t k = 0; k < p; k++) H[k * p + k] = k < d ? 1.0 : m->constant;
  for (int64_t i = 0; i < n; i++) {
    v[i] = m->required[i] - m->signs[i] * value_of(&f, i, u);
    sides[i] = 1; /* not inside: not in H yet */
  }
  double value = slopes_at(&f, u, v, alpha);
  for (int64_t turn = 0; turn < max_steps; turn++) {
    int is_last = 1;
    for (int64_t k = 0; k < p; k++) step[k] = -(k < d ? 1.0 : m->constant) * u[k];
    for (int64_t i = 0; i < n; i++) {
      int8_t now = side_of(m, i, alpha[i]);
      double own = m->signs[i] * alpha[i];
      if ((now == 0) != (sides[i] == 0))
        add_square(&f, i, (now == 0 ? 1.0 : -1.0) / m->curved[i], H);
      sides[i] = now;
      if (own == 0.0) continue;
      const double *x = features_of(&f, i);
      for (int64_t k = 0; k < d; k++) step[k] += own * x[k];
      if (has_intercept) step[d] += own;
    }
    memcpy(factor, H, (size_t)(p * p) * sizeof *H);
    if (!solve(p, factor, step)) return STALLED;
    for (int64_t i = 0; i < n; i++) along[i] = m->signs[i] * value_of(&f, i, step);
    double length = 1.0, following = value;
    for (int64_t k = 0; k <= halvings; k++) {
      for (int64_t l = 0; l < p; l++) trial[l] = u[l] + length * step[l];
      for (int64_t i = 0; i < n; i++) moved[i] = v[i] - length * along[i];
      following = slopes_at(&f, trial, moved, alpha);
      for (int64_t i = 0; k == 0 && is_last && i < n; i++)
        is_last = sides[i] == side_of(m, i, alpha[i]);
      if (following <= value || is_last) break;
      is_last = 0;
      length *= 0.5;
    }
    if (following - following != 0.0) return NOT_FINITE;
    memcpy(u, trial, (size_t)p * sizeof *u);
    memcpy(v, moved, (size_t)n * sizeof *v);
    value = following;
    if (is_last) return DONE;
  }
  return LIMIT;
}
