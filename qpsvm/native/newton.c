/* Newton's method for machines with explicit features, on the weights, the intercept and the width.
 *
 * With z_i = s_i x for the sample x of condition i, an entry 1 for the intercept behind its features,
 * and v = p - Z u, the losses are the largest of a v - d a^2 / 2 over lower <= a <= upper. Kinks
 * (d = 0) are rounded first: from the dual point c
 *
 *     minimise  1/2 u'D u + cost b + sum_i max over a of (a v_i - d_i a^2 / 2 - delta (a - c_i)^2 / 2)
 *
 * is the proximal point method on the dual, whose next point are the maximisers; D is the identity,
 * with the constant for the intercept. The objective is piecewise quadratic,
 * a = clip((v + delta c) / (d + delta)) are the slopes, D u + cost - Z'a the gradient, and
 * D + Z_A' diag(1 / (d + delta)) Z_A the generalised Hessian over the samples A whose slope is inside
 * its ends. A full step after which every slope is inside, or at the same end, as before ends at the
 * exact minimum. With delta = 0 that is the end, and a the optimal dual point.
 *
 * Source: Mangasarian, "A finite Newton method for classification", Optimization Methods and Software
 * 17 (2002); Keerthi and DeCoste, "A modified finite Newton method for fast solution of large scale
 * linear SVMs", JMLR 6 (2005); Rockafellar, "Augmented Lagrangians and applications of the proximal
 * point algorithm in convex programming", Mathematics of Operations Research 1 (1976); Yan and Li, "An
 * efficient augmented Lagrangian method for support vector machine", Optimization Methods and
 * Software 35 (2020).
 */

#include "common.h"

/* Added to the diagonal of a Hessian that rounding left without a positive pivot, relative to its
 * largest entry. */
#define RIDGE 1e-13

/* Share of the derivative at the begin of a step with which the search for its length ends. */
#define ENOUGH 0.3

/* Samples whose squares are added to the Hessian at a time. */
#define TOGETHER 4

/* The problem of machine m with samples X (n, d); rounded from the dual point `center` (n,) with delta.
 * The sample x of a condition with sign s has `more` features beside: 1 for an intercept, then
 * s side for a width, so that s times the last one is the side. */
struct features {
  const struct machine *m;
  const double *X;
  int64_t d, more;
  const double *center;
  double delta;
};

/* The sample x of condition i. */
static inline const double *features_of(const struct features *f, int64_t i) {
  return f->X + (f->m->rows ? f->m->rows[i] : i) * f->d;
}

/* The last feature of the sample of condition i, that of the width. */
static inline double width_of(const struct features *f, int64_t i) {
  return f->m->signs[i] * f->m->side;
}

/* x'u with all features of the sample x of condition i. */
static inline double value_of(const struct features *f, int64_t i, const double *u) {
  double value = product(f->d, features_of(f, i), u) + (f->more > 0 ? u[f->d] : 0.0);
  return f->more > 1 ? value + width_of(f, i) * u[f->d + 1] : value;
}

/* The objective without losses is sum_k price_k u_k + penalty_k u_k^2 / 2. */
static inline double penalty_of(const struct features *f, int64_t k) {
  return k < f->d ? 1.0 : k == f->d ? f->m->constant : 0.0;
}

static inline double price_of(const struct features *f, int64_t k) {
  return k < f->d ? 0.0 : k == f->d ? f->m->cost : f->m->side * f->m->total;
}

static inline double curvature_of(const struct features *f, int64_t i) {
  return (f->m->curved ? f->m->curved[i] : 0.0) + f->delta;
}

/* Samples whose squares are to be added to H together: each row of H is read and written once for
 * all of them. */
struct squares {
  int count;
  const double *x[TOGETHER];
  double width[TOGETHER], factor[TOGETHER];
};

/* H += sum factor x x', the lower triangle; then there are none. */
static void add_squares(const struct features *f, struct squares *s, double *H) {
  int64_t d = f->d, p = d + f->more;
  for (; s->count > 0 && s->count < TOGETHER; s->count++) {
    s->x[s->count] = s->x[0];
    s->factor[s->count] = s->width[s->count] = 0.0;
  }
  for (int64_t k = 0; s->count && k < p; k++) {
    double own[TOGETHER], *row = H + k * p;
    for (int j = 0; j < TOGETHER; j++)
      own[j] = s->factor[j] * (k < d ? s->x[j][k] : k == d ? 1.0 : s->width[j]);
    for (int64_t l = 0; l <= (k < d ? k : d - 1); l++)
      row[l] += (own[0] * s->x[0][l] + own[1] * s->x[1][l]) +
                (own[2] * s->x[2][l] + own[3] * s->x[3][l]);
    for (int j = 0; k >= d && j < TOGETHER; j++) row[d] += own[j];
    for (int j = 0; k > d && j < TOGETHER; j++) row[d + 1] += own[j] * s->width[j];
  }
  s->count = 0;
}

/* Put the square of sample i, with its sign, to those that are added to H next. Its factor is 1 / d_i;
 * without d_i it is 1, and H is multiplied by 1 / delta later. */
static inline void add_square(const struct features *f, int64_t i, double sign, struct squares *s,
                              double *H) {
  s->x[s->count] = features_of(f, i);
  s->width[s->count] = width_of(f, i);
  s->factor[s->count++] = f->m->curved ? sign / curvature_of(f, i) : sign;
  if (s->count == TOGETHER) add_squares(f, s, H);
}

/* H = the sum of these squares over the samples whose slope is inside its ends. */
static void add_inside(const struct features *f, const int8_t *sides, double *H) {
  int64_t p = f->d + f->more;
  struct squares some = {0, {NULL}, {0.0}, {0.0}};
  for (int64_t k = 0; k < p * p; k++) H[k] = 0.0;
  for (int64_t i = 0; i < f->m->size; i++)
    if (sides[i] == 0) add_square(f, i, 1.0, &some, H);
  add_squares(f, &some, H);
}

/* Slopes a (n,) at v - t along, and the derivative by t, there, of the rounded objective of
 * u + t step; without losses the derivative is base + t rise. */
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

/* The gap of u and a, the sum of loss - a v + d a^2 / 2, and the objective of u, both without rounded
 * kinks. */
static double gap_of(const struct features *f, const double *u, const double *v, const double *a,
                     double *objective) {
  const struct machine *m = f->m;
  double gap = 0.0;
  *objective = 0.0;
  for (int64_t k = 0; k < f->d + f->more; k++)
    *objective += u[k] * (price_of(f, k) + 0.5 * penalty_of(f, k) * u[k]);
  for (int64_t i = 0; i < m->size; i++) {
    double d = m->curved ? m->curved[i] : 0.0, own = v[i] - f->delta * f->center[i];
    double at = slope(own, m->lower[i], m->upper[i], d);
    double loss = at == 0.0 ? 0.0 : at * (own - 0.5 * d * at);
    *objective += loss;
    gap += loss - a[i] * (own - 0.5 * d * a[i]);
  }
  return gap;
}

/* A run: the point, where its losses are, and the memory of one Newton step. */
struct newton {
  struct features f;
  int64_t p;
  double *u, *alpha;                  /* (p,), (n,) the point and its slopes */
  double *H, *factor, *step, *right;  /* (p, p) twice, (p,) twice */
  double *v, *along;                  /* (n,) violations plus delta c, and what a step takes from them */
  int8_t *sides;                      /* (n,) of the slopes whose squares H has */
  int64_t inside[2];                  /* how many these are, by group */
  int64_t changes;                    /* squares that were taken from H since it was added up anew */
};

/* step = minus the gradient at u, and H with the squares of the samples whose slope is inside there.
 * Returns the sum of all |a|. */
static double gradient_at(struct newton *s) {
  const struct features *f = &s->f;
  const struct machine *m = f->m;
  struct squares some = {0, {NULL}, {0.0}, {0.0}};
  double weight = 0.0;
  if (s->changes > s->inside[0] + s->inside[1]) {
    for (int64_t k = 0; k < s->p * s->p; k++) s->H[k] = 0.0;
    for (int64_t i = 0; i < m->size; i++) s->sides[i] = 1;
    s->changes = s->inside[0] = s->inside[1] = 0;
  }
  for (int64_t k = 0; k < s->p; k++) s->step[k] = -penalty_of(f, k) * s->u[k] - price_of(f, k);
  for (int64_t i = 0; i < m->size; i++) {
    int8_t now = side_of(m, i, s->alpha[i]);
    double own = m->signs[i] * s->alpha[i];
    if ((now == 0) != (s->sides[i] == 0)) {
      add_square(f, i, now == 0 ? 1.0 : -1.0, &some, s->H);
      s->changes += now != 0;
      s->inside[group_of(m, i)] += now == 0 ? 1 : -1;
    }
    s->sides[i] = now;
    if (own == 0.0) continue;
    weight += size_of(own);
    const double *x = features_of(f, i);
    for (int64_t k = 0; k < f->d; k++) s->step[k] += own * x[k];
    if (f->more > 0) s->step[f->d] += own;
    if (f->more > 1) s->step[f->d + 1] += own * width_of(f, i);
  }
  add_squares(f, &some, s->H);
  return weight;
}

/* The Hessian into `factor`, its diagonal larger by `ridge`. A group of conditions with no slope inside
 * has no curvature in its own unknown b + side t or b - side t: it gets that of one such slope.
 * Returns the largest entry of the diagonal. */
static double hessian_of(struct newton *s, double ridge) {
  const struct features *f = &s->f;
  const struct machine *m = f->m;
  int64_t p = s->p, d = f->d;
  double scale = m->curved ? 1.0 : 1.0 / f->delta, largest = 0.0;
  for (int64_t k = 0; k < p * p; k++) s->factor[k] = scale * s->H[k];
  for (int64_t k = 0; k < p; k++) {
    s->factor[k * p + k] += penalty_of(f, k) + ridge;
    largest = larger(largest, s->factor[k * p + k]);
  }
  for (int64_t group = 0; m->constant == 0.0 && group < f->more; group++) {
    if (s->inside[group]) continue;
    s->factor[d * p + d] += scale;
    if (f->more == 1) continue;
    s->factor[(d + 1) * p + d] += group ? -scale * m->side : scale * m->side;
    s->factor[(d + 1) * p + d + 1] += scale;
  }
  return largest;
}

/* The Newton step from u. Returns 1 where a full step is exact if it changes no side, 0 where it is
 * not, -1 where the Hessian is singular. */
static int newton_direction(struct newton *s) {
  const struct features *f = &s->f;
  double weight = gradient_at(s), ridge = 0.0;
  int is_exact = 1;
  for (int64_t group = 0; f->m->constant == 0.0 && group < f->more; group++) {
    double pull = s->step[f->d];
    if (f->more > 1) pull = 0.5 * (pull + (group ? -1.0 : 1.0) * f->m->side * s->step[f->d + 1]);
    if (!s->inside[group] && size_of(pull) > 16.0 * DBL_EPSILON * weight) is_exact = 0;
  }
  memcpy(s->right, s->step, (size_t)s->p * sizeof *s->step);
  for (int failed = 0; failed < 3; failed++) { /* rounding may have eaten a pivot of the sums, or of H */
    if (failed == 1) add_inside(f, s->sides, s->H);
    double largest = hessian_of(s, ridge);
    if (solve(s->p, s->factor, s->step)) return is_exact && !failed;
    memcpy(s->step, s->right, (size_t)s->p * sizeof *s->step);
    if (failed == 1) ridge = RIDGE * largest;
  }
  return -1;
}

/* Go along the step to where the derivative is at most ENOUGH of that at its begin, by a bracketed secant,
 * in at most so many trials. Returns 1 at a minimum, 0 on the way, -1 where values overflow. */
static int search(struct newton *s, int is_exact, int64_t trials) {
  const struct features *f = &s->f;
  int64_t n = f->m->size;
  double base = 0.0, rise = 0.0, t = 1.0, ends[2] = {0.0, 0.0}, slopes[2] = {0.0, 0.0};
  for (int64_t k = 0; k < s->p; k++) {
    double own = penalty_of(f, k) * s->step[k];
    base += own * s->u[k] + price_of(f, k) * s->step[k];
    rise += own * s->step[k];
  }
  for (int64_t i = 0; i < n; i++) s->along[i] = f->m->signs[i] * value_of(f, i, s->step);
  double first = slopes[0] = slopes_at(f, s->v, s->along, 0.0, base, rise, s->alpha);
  if (first - first != 0.0) return -1;
  if (first >= 0.0) return 1; /* but for rounding, this is the minimum */
  for (int64_t k = 0; k < trials; k++) {
    double g = slopes_at(f, s->v, s->along, t, base, rise, s->alpha);
    for (int64_t i = 0; k == 0 && is_exact && i < n; i++)
      is_exact = s->sides[i] == side_of(f->m, i, s->alpha[i]);
    if ((k == 0 && is_exact) || size_of(g) <= ENOUGH * size_of(first)) break;
    is_exact = 0;
    ends[g > 0.0] = t;
    slopes[g > 0.0] = g;
    double share = slopes[1] > 0.0 ? slopes[0] / (slopes[0] - slopes[1]) : 2.0;
    share = smaller(larger(share, 0.1), 0.9);
    t = slopes[1] > 0.0 ? ends[0] + (ends[1] - ends[0]) * share : 2.0 * t;
  }
  for (int64_t k = 0; k < s->p; k++) s->u[k] += t * s->step[k];
  for (int64_t i = 0; i < n; i++) s->v[i] -= t * s->along[i];
  slopes_at(f, s->v, s->along, 0.0, base, rise, s->alpha);
  return is_exact;
}

/* Minimise from the weights u (p,), p = d + more, and the dual point alpha (n,) in its box; both are
 * results.
 *
 * X (samples, d), more = 0 without an intercept, 2 with a width, which needs a free one, else 1.
 * numbers (4,) = delta, by what it is multiplied after each proximal step (it doubles after one that
 * was not finished), the gap at which these steps end (tol), relative to the objective or to a floor,
 * whichever is larger, and that floor; curved > 0, or delta > 0. The last delta is a result.
 * counts (4,) = Newton steps, those in one proximal step, and trials of the length of one, at most, and
 * as a result the number of Newton steps. work (2 p p + 2 p + 3 n,) and sides (n,) are memory.
 *
 * DONE where the gap is at most tol, or with delta = 0 where a full step left the sides of all slopes
 * as they were; LIMIT after so many Newton steps; STALLED where the Hessian is singular. */
PUBLIC int EXPORTED(machine_newton)(const struct machine *m, const double *X, int64_t d, int64_t more,
                                    double *numbers, int64_t *counts, double *u, double *alpha,
                                    int8_t *sides, double *work) {
  int64_t n = m->size, p = d + more;
  double *right = work + 2 * p * p + p, *v = right + p, *center = v + 2 * n;
  struct newton s = {{m, X, d, more, center, numbers[0]}, p, u, alpha, work, work + p * p,
                     right - p, right, v, v + n, sides, {0, 0}, 1};
  counts[3] = 0;
  while (counts[3] < counts[0] && counts[1] > 0) {
    int is_last = 0;
    double objective;
    for (int64_t i = 0; i < n; i++) {
      center[i] = alpha[i];
      v[i] = m->required[i] - m->signs[i] * value_of(&s.f, i, u) + s.f.delta * center[i];
      s.along[i] = 0.0;
    }
    slopes_at(&s.f, v, s.along, 0.0, 0.0, 0.0, alpha);
    for (int64_t k = 0; k < counts[1] && counts[3] < counts[0] && !is_last; k++, counts[3]++) {
      int is_exact = newton_direction(&s);
      if (is_exact < 0) return STALLED;
      is_last = search(&s, is_exact, counts[2]);
      if (is_last < 0) return NOT_FINITE;
    }
    double gap = gap_of(&s.f, u, v, alpha, &objective);
    int is_small = s.f.delta == 0.0 || gap <= numbers[2] * larger(size_of(objective), numbers[3]);
    if (is_last && is_small) return DONE;
    s.f.delta = numbers[0] *= is_last ? numbers[1] : 2.0;
  }
  return LIMIT;
}
