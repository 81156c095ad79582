"""What `stele` answers: each command, and how its arguments are read."""
