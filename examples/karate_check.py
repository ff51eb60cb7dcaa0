"""Runs karate.ws, which multiplies the graph of the karate club by itself, and compares with SciPy's product."""

import sys
from pathlib import Path

from scipy.io import mmread
from scipy.sparse import csr_array

import wingspan

HERE = Path(__file__).resolve().parent


def main() -> int:
    a = csr_array(mmread(HERE / "data" / "karate.mtx"))
    expected = a @ a
    c = csr_array(wingspan.run(HERE / "karate.ws", engine="semantics").tensors["C"].to_scipy())
    same = c.shape == expected.shape and (c != expected).nnz == 0
    rows, columns = c.shape
    verdict = "equal to" if same else "NOT equal to"
    print(f"C = A·B of the karate club: {rows}×{columns}, {c.nnz} stored, {verdict} SciPy's product")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
