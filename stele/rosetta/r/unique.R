# The distinct ones of integers, in order, in R.

MODES <- "base int32"


data <- function(count = 9, below = 5) {
  # Integers below a number, each as likely.
  set.seed(0)
  list(sample.int(below, count, TRUE) - 1L)
}


place <- function(mode, inputs) inputs


distinct <- function(x) unique(sort(x))


initialise <- function(mode) distinct


step <- function(f, inputs) do.call(f, inputs)


evaluate <- function(f, inputs) list(y = step(f, inputs))


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  print(evaluate(initialise(mode), place(mode, data())))
}
