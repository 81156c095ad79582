"""Models as drawings: what a file holds, in one page that loads nothing."""
