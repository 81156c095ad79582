"""Lessons about slow or wrong programs, found in traced graphs and told with the user's line."""
