// Eigen's products and sums of sparse matrices by columns, behind functions of C: see eigen.py.
#include <Eigen/Sparse>

using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;
using Vector = Eigen::SparseVector<double, Eigen::ColMajor, int>;

struct Given { int rows, columns; const int *starts, *indices; const double *values; };

static Eigen::Map<const Matrix> matrix(const Given &m) {
    return {m.rows, m.columns, m.starts[m.columns], m.starts, m.indices, m.values};
}

extern "C" {
void *product(const Given *A, const Given *B) { return new Matrix(matrix(*A) * matrix(*B)); }
void *sum(const Given *A, const Given *B) { return new Matrix(matrix(*A) + matrix(*B)); }
void *pointwise(const Given *A, const Given *B) { return new Matrix(matrix(*A).cwiseProduct(matrix(*B))); }
void *apply(const Given *A, const Given *x) {
    const Vector y = matrix(*A) * matrix(*x).col(0);
    return new Matrix(y);
}
void describe(const void *made, Given *out) {
    const Matrix &m = *static_cast<const Matrix *>(made);
    *out = {int(m.rows()), int(m.cols()), m.outerIndexPtr(), m.innerIndexPtr(), m.valuePtr()};
}
void release(void *made) { delete static_cast<Matrix *>(made); }
}
