# A small network that learns from images of 28 x 28 pixels, in R's torch.

library(torch)

MODES <- "eager"


data <- function(batch = 32) {
  # Images in 0..1 with one bright row, a column each, and labels 0..9 that say which.
  images <- array(runif(784 * batch), c(28, 28, batch))
  labels <- sample.int(10, batch, TRUE) - 1L
  for (k in seq_len(batch)) images[, 2 * labels[[k]] + 1, k] <- 1
  list(matrix(images, 784), labels)
}


place <- function(mode, inputs) {
  # torch counts labels from 1 in R.
  list(tensor(inputs[[1]]), tensor(inputs[[2]] + 1L, torch_long()))
}


tensor <- function(x, dtype = torch_float()) {
  # Of an array with its axes in reverse: memory stays as it is.
  torch_tensor(c(x), dtype)$view(if (is.null(dim(x))) length(x) else rev(dim(x)))
}


numbers <- function(x) {
  # The array, its axes in reverse again, of a tensor.
  array(as_array(x$flatten()), rev(x$shape))
}


Mlp <- nn_module(
  "Mlp",
  initialize = function() {
    self$fc1 <- nn_linear(784, 128)
    self$fc2 <- nn_linear(128, 10)
  },
  forward = function(x) self$fc2(nnf_relu(self$fc1(x)))
)


initialise <- function(mode, weights = NULL) {
  torch_manual_seed(0)
  model <- Mlp()
  if (!is.null(weights)) model$load_state_dict(lapply(weights, tensor))
  list(model = model, optimizer = optim_ignite_sgd(model$parameters, lr = 0.1))
}


gradients <- function(state, inputs) {
  state$optimizer$zero_grad()
  loss <- nnf_cross_entropy(state$model(inputs[[1]]), inputs[[2]])
  loss$backward()
  list(loss$item(), lapply(state$model$parameters, function(p) numbers(p$grad)))
}


step <- function(state, inputs) {
  state$optimizer$zero_grad()
  loss <- nnf_cross_entropy(state$model(inputs[[1]]), inputs[[2]])
  loss$backward()
  state$optimizer$step()
  loss$item()
}


train <- function(mode, steps = 200) {
  set.seed(0)
  state <- initialise(mode)
  for (k in seq_len(steps)) {
    loss <- step(state, place(mode, data()))
    if (k %% 50 == 0) cat(sprintf("step %d: loss %.4f\n", k, loss))
  }
  found <- evaluate(state, place(mode, data(1000)))
  cat(sprintf("test loss %.4f, accuracy %.4f\n", found[[1]], found[[2]]))
}


evaluate <- function(state, inputs) {
  with_no_grad({
    logits <- state$model(inputs[[1]])
    hits <- logits$argmax(dim = 2) == inputs[[2]]
    list(nnf_cross_entropy(logits, inputs[[2]])$item(), hits$to(dtype = torch_float())$mean()$item())
  })
}


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  train(mode)
}
