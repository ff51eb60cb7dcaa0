"""The ground floor: errors and their text, files, memory, signals, JSON. It knows nobody above it."""
