# A layer norm and its gradients, in R.

MODES <- "base float64"


data <- function(count = 8192, width = 1024) {
  # Columns that are normalised, weight and bias, and the gradient of the result.
  set.seed(0)
  list(matrix(rnorm(count * width), width), rnorm(width), rnorm(width), matrix(rnorm(count * width), width))
}


place <- function(mode, inputs) inputs


norm <- function(x, weight, bias, g) {
  # R has no gradients: they are written by hand.
  each <- function(numbers) rep(numbers, each = nrow(x))    # one for a column, as long as the column
  centred <- x - each(colMeans(x))
  scale <- 1 / sqrt(colMeans(centred * centred) + 1e-5)
  h <- centred * each(scale)
  along <- g * weight
  list(h * weight + bias,
       (along - each(colMeans(along)) - h * each(colMeans(along * h))) * each(scale),
       rowSums(g * h),
       rowSums(g))
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
