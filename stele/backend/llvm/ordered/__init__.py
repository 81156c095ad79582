"""Running totals, sorts and searches: loops written for one op."""
