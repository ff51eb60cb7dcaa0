import islpy as isl
import numpy as np
import scipy
import scipy.sparse

__all__ = ["isl", "np", "scipy"]
