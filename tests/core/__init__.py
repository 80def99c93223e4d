"""The core's values, decisions and views, one file per subject."""
