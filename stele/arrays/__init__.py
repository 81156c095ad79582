"""The array a user holds, and the functions on it."""
