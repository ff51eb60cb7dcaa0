"""Results of runs: outcomes, comparisons of engines, histograms of repeated runs; outcomes and steps in words."""
