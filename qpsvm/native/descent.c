/* Dual coordinate descent on samples as they are stored.
 *
 *     minimise  1/2 a'(Z Z' + diag(D)) a + q'a    subject to  l <= a <= u
 *
 * Row i of Z is s_i (x_r, B) with r = rows[i]: the sign is folded into the row, and a constant
 * feature B stands for a penalised intercept (B = 0: none). The method keeps w = Z'a and minimises
 * over one variable at a time (Hsieh et al., "A dual coordinate descent method for large-scale
 * linear SVM", ICML 2008; shrinking is that of their section 3.2 and LIBLINEAR's).
 */

#include "common.h"

enum layout {
  DENSE_F64 = 0,
  DENSE_F32 = 1,
  CSR_F64_I32 = 2,
  CSR_F64_I64 = 3,
  CSR_F32_I32 = 4,
  CSR_F32_I64 = 5
};

/* Samples x_0 ... as rows. Dense: sample r begins at values + r * stride. CSR: its entries are
 * values[starts[r]] ... values[starts[r + 1] - 1], their features in indices. */
struct samples {
  int64_t layout, width, stride;
  const void *values, *starts, *indices;
};

/* The box program; NULL stands for rows[i] = i, s = 1, D = 0. */
struct box_program {
  int64_t size;          /* n, below 2^31 */
  const int64_t *rows;   /* (n,) */
  const double *signs;   /* (n,) of -1 and 1 */
  const double *linear;  /* (n,) q */
  const double *added;   /* (n,) D >= 0 */
  const double *lower;   /* (n,) l */
  const double *upper;   /* (n,) u >= l */
  double constant;       /* B */
};

/* Where a run stands. Everything that the next call needs is here and in the arrays. */
struct descent_state {
  int64_t generator;      /* of random numbers: splitmix64 */
  int64_t n_open;         /* variables with l < u: order[0 : n_open] */
  int64_t n_active;       /* of these, not shrunk: order[0 : n_active] */
  int64_t position;       /* variables of this pass that have been visited */
  int64_t passes;         /* complete passes */
  double shrink_above;    /* a variable at l is shrunk if its gradient is above this, */
  double shrink_below;    /* at u if it is below this: the extremes of the pass before */
  double largest;         /* projected gradients of this pass so far */
  double smallest;
  double violation;       /* largest |projected gradient| that the last complete pass met */
};

/* x'w and |x|^2 of a dense row and w += step x. Sixteen accumulators hide the latency of an
 * addition behind two vector registers of the widest kind; four keep the end short. */
#define DENSE_ROW(TYPE, SUFFIX)                                                                  \
  static inline double dot_##SUFFIX(const TYPE *x, const double *w, int64_t d) {                 \
    double s[16] = {0.0}, t[4] = {0.0}, rest = 0.0;                                              \
    int64_t j = 0;                                                                               \
    for (; j + 16 <= d; j += 16)                                                                 \
      for (int k = 0; k < 16; k++) s[k] += (double)x[j + k] * w[j + k];                          \
    for (; j + 4 <= d; j += 4)                                                                   \
      for (int k = 0; k < 4; k++) t[k] += (double)x[j + k] * w[j + k];                           \
    for (; j < d; j++) rest += (double)x[j] * w[j];                                              \
    for (int k = 0; k < 8; k++) s[k] += s[k + 8];                                                \
    for (int k = 0; k < 4; k++) t[k] += s[k] + s[k + 4];                                         \
    return ((t[0] + t[2]) + (t[1] + t[3])) + rest;                                               \
  }                                                                                              \
  static inline double square_##SUFFIX(const TYPE *x, int64_t d) {                               \
    double s[4] = {0.0}, rest = 0.0;                                                             \
    int64_t j = 0;                                                                               \
    for (; j + 4 <= d; j += 4)                                                                   \
      for (int k = 0; k < 4; k++) s[k] += (double)x[j + k] * (double)x[j + k];                   \
    for (; j < d; j++) rest += (double)x[j] * (double)x[j];                                      \
    return ((s[0] + s[2]) + (s[1] + s[3])) + rest;                                               \
  }                                                                                              \
  static inline void add_##SUFFIX(const TYPE *x, double step, double *restrict w, int64_t d) {   \
    for (int64_t j = 0; j < d; j++) w[j] += step * (double)x[j];                                 \
  }

DENSE_ROW(double, f64)
DENSE_ROW(float, f32)

/* The same of a sparse row with m entries. Features may repeat: their entries add up, but |x|^2 is
 * then not the sum of squares, so the caller refuses such rows. */
#define SPARSE_ROW(TYPE, INDEX, SUFFIX)                                                          \
  static inline double dot_##SUFFIX(const TYPE *x, const INDEX *f, const double *w, int64_t m) { \
    double s[4] = {0.0}, rest = 0.0;                                                             \
    int64_t j = 0;                                                                               \
    for (; j + 4 <= m; j += 4)                                                                   \
      for (int k = 0; k < 4; k++) s[k] += (double)x[j + k] * w[f[j + k]];                        \
    for (; j < m; j++) rest += (double)x[j] * w[f[j]];                                           \
    return ((s[0] + s[2]) + (s[1] + s[3])) + rest;                                               \
  }                                                                                              \
  static inline void add_##SUFFIX(const TYPE *x, const INDEX *f, double step, double *w,         \
                                  int64_t m) {                                                   \
    for (int64_t j = 0; j < m; j++) w[f[j]] += step * (double)x[j];                              \
  }

SPARSE_ROW(double, int32_t, f64_i32)
SPARSE_ROW(double, int64_t, f64_i64)
SPARSE_ROW(float, int32_t, f32_i32)
SPARSE_ROW(float, int64_t, f32_i64)

/* A row's place in memory: where its values and features begin, and how many there are. */
struct row {
  const void *values, *features;
  int64_t entries;
};

static inline struct row row_of(const struct samples *X, int64_t r) {
  struct row row = {NULL, NULL, X->width};
  int64_t first = r * X->stride;
  if (X->layout == CSR_F64_I32 || X->layout == CSR_F32_I32) {
    const int32_t *starts = X->starts;
    first = starts[r];
    row.entries = starts[r + 1] - first;
    row.features = (const int32_t *)X->indices + first;
  } else if (X->layout == CSR_F64_I64 || X->layout == CSR_F32_I64) {
    const int64_t *starts = X->starts;
    first = starts[r];
    row.entries = starts[r + 1] - first;
    row.features = (const int64_t *)X->indices + first;
  }
  if (X->layout == DENSE_F64 || X->layout == CSR_F64_I32 || X->layout == CSR_F64_I64)
    row.values = (const double *)X->values + first;
  else
    row.values = (const float *)X->values + first;
  return row;
}

static inline double dot(const struct samples *X, struct row row, const double *w) {
  const void *x = row.values, *f = row.features;
  switch (X->layout) {
    case DENSE_F64: return dot_f64(x, w, row.entries);
    case DENSE_F32: return dot_f32(x, w, row.entries);
    case CSR_F64_I32: return dot_f64_i32(x, f, w, row.entries);
    case CSR_F64_I64: return dot_f64_i64(x, f, w, row.entries);
    case CSR_F32_I32: return dot_f32_i32(x, f, w, row.entries);
    default: return dot_f32_i64(x, f, w, row.entries);
  }
}

static inline void add_row(const struct samples *X, struct row row, double step, double *w) {
  const void *x = row.values, *f = row.features;
  switch (X->layout) {
    case DENSE_F64: add_f64(x, step, w, row.entries); break;
    case DENSE_F32: add_f32(x, step, w, row.entries); break;
    case CSR_F64_I32: add_f64_i32(x, f, step, w, row.entries); break;
    case CSR_F64_I64: add_f64_i64(x, f, step, w, row.entries); break;
    case CSR_F32_I32: add_f32_i32(x, f, step, w, row.entries); break;
    default: add_f32_i64(x, f, step, w, row.entries); break;
  }
}

static inline double square(const struct samples *X, struct row row) {
  if (X->layout == DENSE_F64 || X->layout == CSR_F64_I32 || X->layout == CSR_F64_I64)
    return square_f64(row.values, row.entries);
  return square_f32(row.values, row.entries);
}

/* A random number below m <= 2^31 (Steele, Lea and Flood, "splitmix64", OOPSLA 2014). Numbers are
 * not quite equally likely, by less than m / 2^32. */
static inline int64_t random_below(int64_t *generator, int64_t m) {
  uint64_t z = (uint64_t)*generator + UINT64_C(0x9E3779B97F4A7C15);
  *generator = (int64_t)z;
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  z ^= z >> 31;
  return (int64_t)(((z >> 32) * (uint64_t)m) >> 32);
}

static inline int64_t sample_of(const struct box_program *p, int64_t i) {
  return p->rows ? p->rows[i] : i;
}

static inline double sign_of(const struct box_program *p, int64_t i) {
  return p->signs ? p->signs[i] : 1.0;
}

/* curvature_i = |x_r|^2 + B^2 + D_i,  w = sum_i s_i a_i (x_r, B),  order = variables with l < u.
 *
 * Shapes: a (n,), w (d + 1,) whose last entry belongs to B, curvature (n,), order (n,). Begins a
 * run; a is within its box. Returns DONE.
 */
PUBLIC int EXPORTED(descent_begin)(const struct samples *X, const struct box_program *p,
                                   const double *a, double *w, double *curvature, int64_t *order,
                                   int64_t seed, struct descent_state *state) {
  memset(w, 0, sizeof(double) * (size_t)(X->width + 1));
  memset(state, 0, sizeof *state);
  for (int64_t i = 0; i < p->size; i++) {
    struct row row = row_of(X, sample_of(p, i));
    double step = sign_of(p, i) * a[i];
    curvature[i] = square(X, row) + p->constant * p->constant + (p->added ? p->added[i] : 0.0);
    if (step != 0.0) {
      add_row(X, row, step, w);
      w[X->width] += step * p->constant;
    }
    if (p->lower[i] < p->upper[i]) order[state->n_open++] = i;
  }
  state->generator = seed;
  state->n_active = state->n_open;
  state->shrink_above = INFINITE;
  state->shrink_below = -INFINITE;
  state->violation = INFINITE;
  return DONE;
}

/* Passes of coordinate descent over the active variables, in a random order each time:
 *
 *     g_i = s_i (x_r, B)'w + D_i a_i + q_i,   a_i <- clip(a_i - g_i / curvature_i, l_i, u_i)
 *
 * until the largest projected gradient of a pass over all variables is at most tol (DONE), until
 * state->passes is max_passes (LIMIT), or until about `work` entries of samples have been read
 * (LIMIT as well, in the middle of a pass). However a run is divided into calls, its bits are the
 * same.
 *
 * Shapes as in descent_begin, whose results are the arguments of the first call; a, w, order and
 * state change. Between calls the caller changes nothing but tol, max_passes and work.
 * UNBOUNDED: a variable without curvature goes down for ever. NOT_FINITE: samples or w are not.
 */
PUBLIC int EXPORTED(descent_run)(const struct samples *X, const struct box_program *p, double tol,
                                 int64_t max_passes, int64_t work, double *a, double *w,
                                 const double *curvature, int64_t *order,
                                 struct descent_state *state) {
  struct descent_state at = *state;
  int status = LIMIT;
  while (at.passes < max_passes && work > 0) {
    if (at.position == 0) {
      at.largest = 0.0;
      at.smallest = 0.0;
    }
    while (at.position < at.n_active && work > 0) {
      /* one step of a random permutation: the variables before `position` have had their turn */
      int64_t drawn = at.position + random_below(&at.generator, at.n_active - at.position);
      int64_t i = order[drawn];
      order[drawn] = order[at.position];
      order[at.position] = i;

      if (at.position + 1 < at.n_active) {
        /* the next variable, if this one is not shrunk: its numbers are far apart in memory */
        int64_t peeked = at.generator;
        int64_t next = random_below(&peeked, at.n_active - at.position - 1);
        next = order[at.position + 1 + next];
        struct row ahead = row_of(X, sample_of(p, next));
        PREFETCH(ahead.values);
        PREFETCH(ahead.features);
        PREFETCH(a + next);
        PREFETCH(p->lower + next);
        PREFETCH(p->upper + next);
        PREFETCH(p->linear + next);
      }

      struct row row = row_of(X, sample_of(p, i));
      double sign = sign_of(p, i), before = a[i];
      double g = sign * (dot(X, row, w) + p->constant * w[X->width]) + p->linear[i];
      if (p->added) g += p->added[i] * before;
      work -= row.entries + 8;
      if (g - g != 0.0) {
        status = NOT_FINITE;
        goto end;
      }
      int is_low = before == p->lower[i], is_high = before == p->upper[i];
      if ((is_low && g > at.shrink_above) || (is_high && g < at.shrink_below)) {
        /* the last active variable takes this place and is visited next */
        at.n_active--;
        order[at.position] = order[at.n_active];
        order[at.n_active] = i;
        continue;
      }
      at.position++;
      if ((is_low && g >= 0.0) || (is_high && g <= 0.0) || g == 0.0) continue;
      at.largest = larger(at.largest, g);
      at.smallest = smaller(at.smallest, g);
      double after = before - g / curvature[i]; /* infinite where there is no curvature */
      after = smaller(larger(after, p->lower[i]), p->upper[i]);
      if (after - after != 0.0) {
        status = UNBOUNDED;
        goto end;
      }
      if (after == before) continue;
      a[i] = after;
      double step = sign * (after - before);
      add_row(X, row, step, w);
      w[X->width] += step * p->constant;
      work -= row.entries;
    }
    if (at.position < at.n_active) break; /* this call has done its work */
    at.position = 0;
    at.passes++;
    at.violation = larger(at.largest, -at.smallest);
    int is_small = at.violation <= tol, is_whole = at.n_active == at.n_open;
    /* extremes of zero say nothing about the next pass */
    int keep = !is_small && at.largest > 0.0;
    at.shrink_above = keep ? at.largest : INFINITE;
    keep = !is_small && at.smallest < 0.0;
    at.shrink_below = keep ? at.smallest : -INFINITE;
    if (is_small) at.n_active = at.n_open;
    if (is_small && is_whole) {
      status = DONE;
      break;
    }
  }
end:
  *state = at;
  return status;
}
