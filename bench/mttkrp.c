/* Dense MTTKRP, A[i, r] = the sum over k and l of B[i, k, l] C[k, r] D[l, r], written by hand: the loops that TACO makes
 * of its schedule for it (reorder i k l r, precompute B D in a workspace over r, parallelize i; scheduleMTTKRPCPU in
 * its test/tests-scheduling-eval.cpp), and the same without the workspace. B is in CSF: fibers of row i are at
 * rows[i] ≤ f < rows[i + 1], with index ks[f]; elements of fiber f at fibers[f] ≤ e < fibers[f + 1], with index ls[e]. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GIVEN                                                                                                          \
    int64_t n, int64_t rank, int threads, const int *restrict rows, const int *restrict ks, const int *restrict fibers, \
        const int *restrict ls, const double *restrict B, const double *restrict C, const double *restrict D,          \
        double *restrict A

void workspace(GIVEN) {
    memset(A, 0, sizeof(double) * n * rank);
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads)
    for (int64_t i = 0; i < n; i++) {
        double *restrict w = malloc(sizeof(double) * rank);
        for (int f = rows[i]; f < rows[i + 1]; f++) {
            const int k = ks[f];
            for (int64_t r = 0; r < rank; r++) w[r] = 0;
            for (int e = fibers[f]; e < fibers[f + 1]; e++) {
                const int l = ls[e];
                for (int64_t r = 0; r < rank; r++) w[r] += B[e] * D[l * rank + r];
            }
            for (int64_t r = 0; r < rank; r++) A[i * rank + r] += w[r] * C[k * rank + r];
        }
        free(w);
    }
}

void plain(GIVEN) {
    memset(A, 0, sizeof(double) * n * rank);
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads)
    for (int64_t i = 0; i < n; i++)
        for (int f = rows[i]; f < rows[i + 1]; f++) {
            const int k = ks[f];
            for (int e = fibers[f]; e < fibers[f + 1]; e++) {
                const int l = ls[e];
                for (int64_t r = 0; r < rank; r++) A[i * rank + r] += B[e] * C[k * rank + r] * D[l * rank + r];
            }
        }
}
