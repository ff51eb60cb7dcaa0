"""What a user leaves open is chosen here: loop orders, formats of results and workspaces, among safe programs only."""
