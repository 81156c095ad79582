# The mean cross-entropy of logits and its gradient, in R.

MODES <- "base float64"


data <- function(count = 16, classes = 32000) {
  # Logits, a column for each label, and the labels, which count from 0.
  set.seed(0)
  list(matrix(rnorm(count * classes), classes), sample.int(classes, count, TRUE) - 1L)
}


place <- function(mode, inputs) list(inputs[[1]], inputs[[2]] + 1L)


loss <- function(x, y) {
  # Column by column, so that what is computed in between stays in the cache.
  n <- ncol(x)
  value <- 0
  gradient <- matrix(0, nrow(x), n)
  for (k in seq_len(n)) {
    z <- x[, k]
    top <- max(z)
    e <- exp(z - top)
    total <- sum(e)
    value <- value + log(total) + top - z[[y[[k]]]]
    p <- e / (total * n)
    p[[y[[k]]]] <- p[[y[[k]]]] - 1 / n
    gradient[, k] <- p
  }
  list(value / n, gradient)
}


initialise <- function(mode) loss


step <- function(f, inputs) do.call(f, inputs)


evaluate <- function(f, inputs) setNames(step(f, inputs), c("loss", "gradient of x"))


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  print(evaluate(initialise(mode), place(mode, data()))$loss)
}
