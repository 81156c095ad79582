# What uncompiled code costs around the arithmetic: small operations by the thousand, in R.

MODES <- "base float64"


data <- function(case = "record") {
  # What to do, and normal numbers: two vectors, a table of ten columns, and weights and biases of two layers.
  set.seed(0)
  list(case, rnorm(16), rnorm(16), matrix(rnorm(160), 16), matrix(rnorm(512), 32), rnorm(32), matrix(rnorm(128), 4),
       rnorm(4))
}


place <- function(mode, inputs) c(CASES[[inputs[[1]]]], inputs[-1])


record <- function(x, z, ...) {
  # 1,000 sums that nobody looks at.
  for (k in 1:1000) y <- x + z
  y
}


replay <- function(x, z, ...) {
  # 100 chains of ten operations, each looked at.
  for (k in 1:100) {
    y <- x
    for (j in 1:5) y <- y * z + x
    seen <- y
  }
  seen
}


index <- function(x, z, table, ...) {
  # 1,000 columns of a table that nobody looks at.
  for (j in 1:100) for (k in 1:10) y <- table[, k]
  y
}


mlp <- function(x, z, table, w1, b1, w2, b2) {
  # 200 times two layers, each looked at.
  for (k in 1:200) {
    y <- w2 %*% pmax(w1 %*% table + b1, 0) + b2
    seen <- y
  }
  seen
}


CASES <- list(record = record, replay = replay, index = index, mlp = mlp)


initialise <- function(mode) mode


step <- function(state, inputs) do.call(inputs[[1]], inputs[-1])


evaluate <- function(state, inputs) list(y = step(state, inputs))


if (sys.nframe() == 0L) {
  case <- c(commandArgs(TRUE), "record")[[1]]
  print(evaluate(initialise(MODES), place(MODES, data(case))))
}
