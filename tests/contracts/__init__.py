"""The thirteen contracts as properties of generated rows and runs, one file each."""
