# The product of two square matrices, in R.

MODES <- "base float64"


data <- function(size = 1024) {
  # Two matrices of normal numbers.
  set.seed(0)
  list(matrix(rnorm(size^2), size), matrix(rnorm(size^2), size))
}


place <- function(mode, inputs) inputs


product <- function(a, b) {
  # Both arrive with their axes in reverse, and so does the product go.
  b %*% a
}


initialise <- function(mode) product


step <- function(f, inputs) do.call(f, inputs)


evaluate <- function(f, inputs) list(y = step(f, inputs))


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  print(evaluate(initialise(mode), place(mode, data()))$y[1:5, 1:3])
}
