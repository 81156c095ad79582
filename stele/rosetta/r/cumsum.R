# The running sums of numbers, in R.

MODES <- "base float64"


data <- function(count = 5) {
  # Normal numbers.
  set.seed(0)
  list(rnorm(count))
}


place <- function(mode, inputs) inputs


running <- function(x) cumsum(x)


initialise <- function(mode) running


step <- function(f, inputs) do.call(f, inputs)


evaluate <- function(f, inputs) list(y = step(f, inputs))


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  print(evaluate(initialise(mode), place(mode, data())))
}
