/* What Jacobi's methods are asked for, and what they report: how far the result is from its matrix. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_JACOBI_H
#define AW_LIBS_CUSOLVER_JACOBI_H

#include "call.h"

/* The residual of the last call that had the parameters.  They and jobs under way share it. */
struct aw_solver_report {
    int refs;
    double residual; /* NaN: none was computed */
};

struct aw_solver_jacobi {
    double tolerance;
    int max_sweeps, sort;
    struct aw_solver_report *report;
};
struct syevjInfo {
    struct aw_solver_jacobi settings;
};
struct gesvdjInfo {
    struct aw_solver_jacobi settings;
};

/* For a job, to be dropped by it; NULL where there are no parameters.  What was reported before is gone. */
struct aw_solver_report *aw_solver_report_take(struct aw_solver_jacobi *settings);
void aw_solver_report_drop(struct aw_solver_report *report);
void aw_solver_report_put(struct aw_solver_report *report, double residual);

/* Frobenius norm of R - X diag(d) Y, of m and n rows and columns and k numbers d of the type's real kind; Y is the conjugate
 * transpose of `y` where `adjoint`.  R, which has no gaps, is overwritten.  NaN: memory is out. */
double aw_solver_residual(const struct aw_solver_call *c, void *r, int m, int n, int k, const void *x, int ldx, const void *d,
                          const void *y, int ldy, bool adjoint);

#endif
