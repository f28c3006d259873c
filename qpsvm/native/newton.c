/* Newton's method for machines with explicit features, on the weights and the intercept.
 *
 * With z_i = s_i (x, 1) for the sample x of condition i and v = p - Z u, the losses are the largest of
 * a v - d a^2 / 2 over lower <= a <= upper. Kinks (d = 0) are rounded first: from the dual point c
 *
 *     minimise  1/2 u'D u + cost b + sum_i max over a of (a_i v_i - d_i a_i^2 / 2 - delta (a_i - c_i)^2 / 2)
 *
 * is the proximal point method on the dual, whose next point are the maximisers; D is the identity, with the
 * constant for the intercept. The objective is piecewise quadratic, a = clip((v + delta c) / (d + delta)) are
 * the slopes, D u + cost - Z'a the gradient, D + Z_A' diag(1 / (d + delta)) Z_A the generalised Hessian over
 * the samples A whose slope is inside its ends. A full step after which every slope is inside, or at the same end,
 * as before ends at the exact minimum. With delta = 0 that is the end, and a the optimal dual point.
 *
 * Source: Mangasarian, "A finite Newton method for classification", Optimization Methods and Software
 * 17 (2002); Keerthi and DeCoste, "A modified finite Newton method for fast solution of large scale
 * linear SVMs", JMLR 6 (2005); Rockafellar, "Augmented Lagrangians and applications of the proximal point
 * algorithm in convex programming", Mathematics of Operations Research 1 (1976); Yan and Li, "An efficient
 * augmented Lagrangian method for support vector machine", Optimization Methods and Software 35 (2020).
 */

#include "common.h"

/* Added to the diagonal of a Hessian that rounding left without a positive pivot, relative to its largest entry. */
#define RIDGE 1e-13
#define TOGETHER 4

/* The problem of machine m with samples X (n, d), and one weight more where has_intercept; rounded
 * from the dual point `center` (n,) with delta. */
struct features {
  const struct machine *m;
  const double *X;
  int64_t d, has_intercept;
  const double *center;
  double delta;
};

/* The sample x of condition i. */
static inline const double *features_of(const struct features *f, int64_t i) {
  return f->X + (f->m->rows ? f->m->rows[i] : i) * f->d;
}

/* (x, 1)'u for the sample x of condition i. */
static inline double value_of(const struct features *f, int64_t i, const double *u) {
  return product(f->d, features_of(f, i), u) + (f->has_intercept ? u[f->d] : 0.0);
}

static inline double curvature_of(const struct features *f, int64_t i) {
  return (f->m->curved ? f->m->curved[i] : 0.0) + f->delta;
}

/* Samples whose squares are to be added to H together: each row of H is read and written once for all. */
struct squares {
  int count;
  const double *x[TOGETHER];
  double factor[TOGETHER];
};

/* H += sum factor (x, 1)(x, 1)', the lower triangle; then there are none. */
static void add_squares(const struct features *f, struct squares *s, double *H) {
  int64_t d = f->d, p = d + f->has_intercept;
  for (; s->count > 0 && s->count < TOGETHER; s->count++) {
    s->x[s->count] = s->x[0];
    s->factor[s->count] = 0.0;
  }
  for (int64_t k = 0; s->count && k < p; k++) {
    double own[TOGETHER], *row = H + k * p;
    for (int j = 0; j < TOGETHER; j++) own[j] = s->factor[j] * (k < d ? s->x[j][k] : 1.0);
    for (int64_t l = 0; l <= (k < d ? k : d - 1); l++)
      row[l] += (own[0] * s->x[0][l] + own[1] * s->x[1][l]) +
                (own[2] * s->x[2][l] + own[3] * s->x[3][l]);
    if (k == d) row[d] += (own[0] + own[1]) + (own[2] + own[3]);
  }
  s->count = 0;
}

/* Put the square of sample i, with its sign, 1 / d_i or (without d_i, H is multiplied by 1 / delta later) 1,
 * to those that are added to H next. */
static inline void add_square(const struct features *f, int64_t i, double sign, struct squares *s, double *H) {
  s->x[s->count] = features_of(f, i);
  s->factor[s->count++] = f->m->curved ? sign / curvature_of(f, i) : sign;
  if (s->count == TOGETHER) add_squares(f, s, H);
}

/* H = the sum of these squares over the samples whose slope is inside its ends. */
static void add_inside(const struct features *f, const int8_t *sides, double *H) {
  int64_t p = f->d + f->has_intercept;
  struct squares some = {0, {NULL}, {0.0}};
  for (int64_t k = 0; k < p * p; k++) H[k] = 0.0;
  for (int64_t i = 0; i < f->m->size; i++)
    if (sides[i] == 0) add_square(f, i, 1.0, &some, H);
  add_squares(f, &some, H);
}

/* Slopes a (n,) at v - t along, and the derivative there, by t, of the rounded objective of u + t step,
 * whose part without losses is base + t rise. */
static double slopes_at(const struct features *f, const double *v, const double *along, double t,
                        double base, double rise, double *a) {
  const struct machine *m = f->m;
  double sum[4] = {0.0}, rest = 0.0;
  int64_t i = 0, n = m->size;
  for (; i < n; i++) {
    double at = (v[i] - t * along[i]) / curvature_of(f, i);
    a[i] = smaller(larger(at, m->lower[i]), m->upper[i]);
  }
  for (i = 0; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) sum[k] += a[i + k] * along[i + k];
  for (; i < n; i++) rest += a[i] * along[i];
  return (base + t * rise) - (((sum[0] + sum[2]) + (sum[1] + sum[3])) + rest);
}

/* -1 or 1 where a slope is at its lower or upper end, 0 inside. */
static inline int8_t side_of(const struct machine *m, int64_t i, double a) {
  return (int8_t)(a <= m->lower[i] ? -1 : a >= m->upper[i] ? 1 : 0);
}

/* The losses minus a v at v, whose sum over all conditions is the gap of u and a, and the objective
 * of u without rounded kinks. */
static double gap_of(const struct features *f, const double *u, const double *v, const double *a,
                     double *objective) {
  const struct machine *m = f->m;
  double gap = 0.0, b = f->has_intercept ? u[f->d] : 0.0;
  *objective = 0.5 * (product(f->d, u, u) + m->constant * b * b) + m->cost * b;
  for (int64_t i = 0; i < m->size; i++) {
    double d = m->curved ? m->curved[i] : 0.0, own = v[i] - f->delta * f->center[i];
    double at = slope(own, m->lower[i], m->upper[i], d);
    double loss = at == 0.0 ? 0.0 : at * (own - 0.5 * d * at);
    *objective += loss;
    gap += loss - a[i] * (own - 0.5 * d * a[i]);
  }
  return gap;
}

/* Minimise from the weights u (p,), p = d + has_intercept, and the dual point alpha (n,) in its box;
 * both are results.
 *
 * X (samples, d). numbers (4,) = delta, by what it is multiplied after each proximal step (it doubles
 * after one that was not finished), the gap at which these steps end (tol), relative to the objective
 * or to a floor, whichever is larger, and that floor; curved > 0, or delta > 0. The last delta is a
 * result. counts (4,) = Newton steps, those in one proximal step, and trials of the length of one, at
 * most, and as a result the number of Newton steps. work (2 p p + 2 p + 3 n,) and sides (n,) are
 * memory. DONE where the gap is at most tol, or with delta = 0 where a full step left the sides of all
 * slopes as they were; LIMIT after so many Newton steps; STALLED where the Hessian is singular. */
PUBLIC int EXPORTED(machine_newton)(const struct machine *m, const double *X, int64_t d,
                                    int64_t has_intercept, double *numbers, int64_t *counts, double *u, double *alpha, int8_t *sides, double *work) {
  int64_t n = m->size, p = d + has_intercept;
  double *H = work, *factor = H + p * p, *step = factor + p * p, *right = step + p;
  double *v = right + p;
  double *along = v + n, *center = along + n;
  struct features f = {m, X, d, has_intercept, center, numbers[0]};
  int64_t changes = n + 1, inside = 0; /* of the squares in H, since they were added up anew */
  counts[3] = 0;
  while (counts[3] < counts[0] && counts[1] > 0) {
    int is_last = 0;
    double objective, scale = m->curved ? 1.0 : 1.0 / f.delta;
    for (int64_t i = 0; i < n; i++) {
      center[i] = alpha[i];
      v[i] = m->required[i] - m->signs[i] * value_of(&f, i, u) + f.delta * center[i];
    }
    for (int64_t i = 0; i < n; i++) along[i] = 0.0;
    slopes_at(&f, v, along, 0.0, 0.0, 0.0, alpha);
    for (int64_t count = 0; count < counts[1] && counts[3] < counts[0] && !is_last; count++) {
      if (changes > inside) {
        for (int64_t i = 0; i < n; i++) sides[i] = 1;
        add_inside(&f, sides, H);
        changes = inside = 0;
      }
      double weight = 0.0;
      struct squares some = {0, {NULL}, {0.0}};
      for (int64_t k = 0; k < d; k++) step[k] = -u[k];
      if (has_intercept) step[d] = -m->constant * u[d] - m->cost;
      for (int64_t i = 0; i < n; i++) {
        int8_t now = side_of(m, i, alpha[i]);
        double own = m->signs[i] * alpha[i];
        if ((now == 0) != (sides[i] == 0)) {
          add_square(&f, i, now == 0 ? 1.0 : -1.0, &some, H);
          changes += now != 0;
          inside += now == 0 ? 1 : -1;
        }
        sides[i] = now;
        if (own == 0.0) continue;
        weight += size_of(own);
        const double *x = features_of(&f, i);
        for (int64_t k = 0; k < d; k++) step[k] += own * x[k];
        if (has_intercept) step[d] += own;
      }
      add_squares(&f, &some, H);
      is_last = 1;
      memcpy(right, step, (size_t)p * sizeof *step);
      double ridge = 0.0;
      for (int failed = 0;; failed++) { /* rounding may have eaten a pivot: of H, or of its sums */
        double largest = 0.0;
        if (failed == 1) add_inside(&f, sides, H);
        for (int64_t k = 0; k < p * p; k++) factor[k] = scale * H[k];
        for (int64_t k = 0; k < p; k++) {
          factor[k * p + k] += (k < d ? 1.0 : m->constant) + ridge;
          largest = larger(largest, factor[k * p + k]);
        }
        if (has_intercept && inside == 0 && m->constant == 0.0) {
          is_last = size_of(step[d]) <= 16.0 * DBL_EPSILON * weight;
          factor[p * p - 1] = scale; /* as if one were inside: the intercept has no curvature */
        }
        if (solve(p, factor, step)) break;
        if (failed == 2) return STALLED;
        if (failed == 1) ridge = RIDGE * largest;
        memcpy(step, right, (size_t)p * sizeof *step);
        is_last = 0;
      }
      counts[3]++;
      for (int64_t i = 0; i < n; i++) along[i] = m->signs[i] * value_of(&f, i, step);
      double base = 0.0, rise = 0.0, ends[2] = {0.0, 0.0}, slopes[2] = {0.0, 0.0}, t = 1.0;
      for (int64_t k = 0; k < p; k++) {
        double own = (k < d ? 1.0 : m->constant) * step[k];
        base += own * u[k];
        rise += own * step[k];
      }
      if (has_intercept) base += m->cost * step[d];
      double first = slopes[0] = slopes_at(&f, v, along, 0.0, base, rise, alpha);
      if (first - first != 0.0) return NOT_FINITE;
      is_last |= first >= 0.0; /* but for rounding, this is the minimum */
      if (first >= 0.0) break;
      for (int64_t k = 0; k < counts[2]; k++) {
        double g = slopes_at(&f, v, along, t, base, rise, alpha);
        for (int64_t i = 0; k == 0 && is_last && i < n; i++)
          is_last = sides[i] == side_of(m, i, alpha[i]);
        if ((k == 0 && is_last) || size_of(g) <= 0.3 * size_of(first)) break;
        ends[g > 0.0] = t;
        slopes[g > 0.0] = g;
        is_last = 0;
        double share = slopes[1] > 0.0 ? slopes[0] / (slopes[0] - slopes[1]) : 2.0;
        t = slopes[1] > 0.0 ? ends[0] + (ends[1] - ends[0]) * smaller(larger(share, 0.1), 0.9) : 2.0 * t;
      }
      for (int64_t k = 0; k < p; k++) u[k] += t * step[k];
      for (int64_t i = 0; i < n; i++) v[i] -= t * along[i];
      slopes_at(&f, v, along, 0.0, base, rise, alpha);
    }
    if (f.delta == 0.0) {
      if (is_last) return DONE;
      continue;
    }
    double gap = gap_of(&f, u, v, alpha, &objective);
    if (is_last && gap <= numbers[2] * larger(size_of(objective), numbers[3])) return DONE;
    f.delta = numbers[0] *= is_last ? numbers[1] : 2.0;
  }
  return LIMIT;
}
