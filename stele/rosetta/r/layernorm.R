# A layer norm and its gradients, in R.

MODES <- "base float64"


data <- function(count = 8192, width = 1024) {
  # Columns that are normalised, weight and bias, and the gradient of the result.
  set.seed(0)
  list(matrix(rnorm(count * width), width), rnorm(width), rnorm(width), matrix(rnorm(count * width), width))
}


place <- function(mode, inputs) inputs


norm <- function(x, weight, bias, g) {
  # R has no gradients: they are written by hand, column by column, so that what lies in between stays in the cache.
  n <- nrow(x)
  y <- dx <- matrix(0, n, ncol(x))
  dweight <- dbias <- numeric(n)
  for (k in seq_len(ncol(x))) {
    gk <- g[, k]
    centred <- x[, k] - sum(x[, k]) / n
    scale <- 1 / sqrt(sum(centred * centred) / n + 1e-5)
    h <- centred * scale
    along <- gk * weight
    y[, k] <- h * weight + bias
    dx[, k] <- (along - sum(along) / n - h * (sum(along * h) / n)) * scale
    dweight <- dweight + gk * h
    dbias <- dbias + gk
  }
  list(y, dx, dweight, dbias)
}


initialise <- function(mode) norm


step <- function(f, inputs) do.call(f, inputs)


evaluate <- function(f, inputs) {
  setNames(step(f, inputs), c("y", "gradient of x", "gradient of weight", "gradient of bias"))
}


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  found <- evaluate(initialise(mode), place(mode, data()))
  for (name in names(found)) cat(sprintf("%s: mean square %.6f\n", name, mean(found[[name]]^2)))
}
