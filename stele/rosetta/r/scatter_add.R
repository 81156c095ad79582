# Sums of the numbers that go to each place, in R.

MODES <- c("rowsum float64", "order float64")


data <- function(count = 9, places = 5) {
  # Normal numbers, the place each of them goes to, which counts from 0, and what they are added to.
  set.seed(0)
  list(rnorm(count), sample.int(places, count, TRUE) - 1L, numeric(places))
}


place <- function(mode, inputs) list(inputs[[1]], inputs[[2]] + 1L, inputs[[3]])


grouped <- function(x, i, y) {
  sums <- rowsum(x, i)
  at <- as.integer(rownames(sums))
  y[at] <- y[at] + sums
  y
}


differences <- function(x, i, y) {
  # Of running sums in the order of the places, from where one ends to where the next does.
  sums <- c(0, cumsum(x[order(i)]))
  ends <- cumsum(c(0, tabulate(i, length(y))))
  y + diff(sums[ends + 1])
}


initialise <- function(mode) if (mode == "rowsum float64") grouped else differences


step <- function(f, inputs) do.call(f, inputs)


evaluate <- function(f, inputs) list(y = step(f, inputs))


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  print(evaluate(initialise(mode), place(mode, data())))
}
