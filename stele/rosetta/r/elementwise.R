# A chain of 20 elementwise operations, in R.

MODES <- "base float64"


data <- function(count = 1000) {
  # Two vectors of normal numbers.
  set.seed(0)
  list(rnorm(count), rnorm(count))
}


place <- function(mode, inputs) inputs


chain <- function(x, y) {
  g <- x * x * x * 0.044715 + x
  g <- (tanh(g * 0.7978845608) + 1) * x * 0.5
  s <- g * (1 / (1 + exp(-y))) + tanh(x * y)
  (s - exp(-(x * x))) * y + x
}


initialise <- function(mode) chain


step <- function(f, inputs) do.call(f, inputs)


evaluate <- function(f, inputs) list(z = step(f, inputs))


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  print(evaluate(initialise(mode), place(mode, data()))$z[1:10])
}
