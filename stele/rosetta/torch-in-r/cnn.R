# A convolutional network that learns from images of 32 x 32 pixels, in R's torch.

library(torch)

MODES <- "eager"


data <- function(batch = 64) {
  # Images of three channels in 0..1 with one bright row, and labels 0..9 that say which.
  images <- array(runif(3072 * batch), c(32, 32, 3, batch))
  labels <- sample.int(10, batch, TRUE) - 1L
  for (k in seq_len(batch)) images[, 3 * labels[[k]] + 1, , k] <- 1
  list(images, labels)
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


Cnn <- nn_module(
  "Cnn",
  initialize = function(dropout) {
    self$conv1 <- nn_conv2d(3, 50, 3, padding = 1)
    self$conv2 <- nn_conv2d(50, 50, 3, padding = 1)
    self$conv3 <- nn_conv2d(50, 100, 3, padding = 1)
    self$conv4 <- nn_conv2d(100, 100, 3, padding = 1)
    self$fc1 <- nn_linear(6400, 512)
    self$fc2 <- nn_linear(512, 10)
    self$drop1 <- nn_dropout(0.25 * dropout)
    self$drop2 <- nn_dropout(0.5 * dropout)
  },
  forward = function(x) {
    x <- self$drop1(nnf_relu(nnf_max_pool2d(self$conv2(nnf_relu(self$conv1(x))), 2)))
    x <- self$drop1(nnf_relu(nnf_max_pool2d(self$conv4(nnf_relu(self$conv3(x))), 2)))
    self$fc2(self$drop2(nnf_relu(self$fc1(x$flatten(start_dim = 2)))))
  }
)


initialise <- function(mode, weights = NULL, dropout = TRUE) {
  torch_manual_seed(0)
  model <- Cnn(dropout)
  for (p in model$parameters) if (p$dim() > 1) nn_init_xavier_uniform_(p) else nn_init_zeros_(p)
  if (!is.null(weights)) model$load_state_dict(lapply(weights, tensor))
  list(model = model, optimizer = optim_ignite_sgd(model$parameters, lr = 0.01, momentum = 0.9))
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


train <- function(mode, steps = 60) {
  set.seed(0)
  state <- initialise(mode)
  for (k in seq_len(steps)) {
    loss <- step(state, place(mode, data()))
    if (k %% 10 == 0) cat(sprintf("step %d: loss %.4f\n", k, loss))
  }
  found <- evaluate(state, place(mode, data(1000)))
  cat(sprintf("test loss %.4f, accuracy %.4f\n", found[[1]], found[[2]]))
}


evaluate <- function(state, inputs) {
  state$model$eval()
  logits <- with_no_grad(state$model(inputs[[1]]))
  state$model$train()
  hits <- logits$argmax(dim = 2) == inputs[[2]]
  list(nnf_cross_entropy(logits, inputs[[2]])$item(), hits$to(dtype = torch_float())$mean()$item())
}


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  train(mode)
}
