"""Libraries of sparse arrays, and compilers, as engines. `pip install 'wingspan[engines]'` installs those on PyPI.

Each engine looks for its library or tool when it is constructed; it is an InputError if that is missing.
"""

from wingspan.testing.peers.finch import Finch
from wingspan.testing.peers.finch_jl import FinchJl
from wingspan.testing.peers.graphblas import GraphBLAS
from wingspan.testing.peers.jax import Jax
from wingspan.testing.peers.numba import Numba
from wingspan.testing.peers.pydata import Gcxs, Sparse
from wingspan.testing.peers.scipy import SciPy
from wingspan.testing.peers.taco import Taco

__all__ = ["Finch", "FinchJl", "Gcxs", "GraphBLAS", "Jax", "Numba", "SciPy", "Sparse", "Taco"]
