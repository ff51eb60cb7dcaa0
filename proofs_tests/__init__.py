"""The claims of the package, each with its test."""
