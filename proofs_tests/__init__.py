"""What the package claims, each claim with its test."""
