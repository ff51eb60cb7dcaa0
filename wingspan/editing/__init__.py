"""The facts that editors show about the text of a program, as plain data: mistakes, verdict, fixes, completions.

The language server (`wingspan lsp`) and the playground (`wingspan play`) are two front doors of this package. A text
may be anything, and so may the work that it asks for: `jobs` are computed by processes of their own, which `workers`
ends at their bounds.
"""
