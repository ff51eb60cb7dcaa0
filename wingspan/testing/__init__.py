"""Tools for testing a compiler: random programs, formats, inputs, schedules and devices, and engines to compare.

Needs Hypothesis: `pip install wingspan[testing]`.
"""

from wingspan.api import engine
from wingspan.isolation import Isolated
from wingspan.results.comparison import Comparison, Difference, Ending, Engine, compare
from wingspan.results.tally import Bucket, Disagreement, Tally
from wingspan.testing.array_engine import ArrayEngine, split
from wingspan.testing.campaign import campaign
from wingspan.testing.cases import Case, accepted, cases, einsums, inputs, safe_kernels, safe_programs
from wingspan.testing.conformance import Conformance, Nonconforming, conformance
from wingspan.testing.formats import arrays, formats, tensors
from wingspan.testing.kernels import kernels
from wingspan.testing.programs import Options, programs
from wingspan.testing.schedules import devices, schedules, variants
from wingspan.testing.special import SPECIAL
from wingspan.testing.templates import meetings, pictures, racing

__all__ = [
    "SPECIAL",
    "ArrayEngine",
    "Bucket",
    "Case",
    "Comparison",
    "Conformance",
    "Difference",
    "Disagreement",
    "Ending",
    "Engine",
    "Isolated",
    "Nonconforming",
    "Options",
    "Tally",
    "accepted",
    "arrays",
    "campaign",
    "cases",
    "compare",
    "conformance",
    "devices",
    "einsums",
    "engine",
    "formats",
    "inputs",
    "kernels",
    "meetings",
    "pictures",
    "programs",
    "racing",
    "safe_kernels",
    "safe_programs",
    "schedules",
    "split",
    "tensors",
    "variants",
]
