# Where numbers would go into a sorted row, in R.

MODES <- "base float64"


data <- function(size = 5, count = 3) {
  # A sorted row of normal numbers, and the numbers to look for.
  set.seed(0)
  list(sort(rnorm(size)), rnorm(count))
}


place <- function(mode, inputs) inputs


places <- function(x, z) findInterval(z, x, left.open = TRUE)   # how many are less: what counts from 0 elsewhere


initialise <- function(mode) places


step <- function(f, inputs) do.call(f, inputs)


evaluate <- function(f, inputs) list(i = step(f, inputs))


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  print(evaluate(initialise(mode), place(mode, data())))
}
