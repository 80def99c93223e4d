"""The tests of wsctl, one folder per subject."""
