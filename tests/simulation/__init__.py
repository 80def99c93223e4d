"""The coordinator on memory adapters, in virtual time."""
