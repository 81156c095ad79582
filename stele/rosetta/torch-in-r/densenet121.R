# DenseNet-121 on chest X-rays, fourteen findings each: its loss and all gradients, in R's torch.

library(torch)

MODES <- "eager"
FINDINGS <- 14
GROWTH <- 32
DEPTHS <- c(6, 12, 24, 16)


data <- function(batch = 8, edge = 224) {
  # X-rays of three channels in 0..1, smooth between points 16 pixels apart, and which findings each shows.
  set.seed(0)
  count <- edge %/% 16 + 1
  points <- array(runif(count^2 * 3 * batch), c(count, count, 3 * batch))
  at <- seq_len(edge) - 1
  near <- (at %% 16 + 0.5) / 16
  between <- matrix(0, edge, count)
  between[cbind(at + 1, at %/% 16 + 1)] <- 1 - near
  between[cbind(at + 1, at %/% 16 + 2)] <- near
  images <- apply(points, 3, function(p) between %*% p %*% t(between))
  list(array(images, c(edge, edge, 3, batch)), matrix(as.numeric(runif(FINDINGS * batch) < 0.2), FINDINGS))
}


place <- function(mode, inputs) lapply(inputs, tensor)


tensor <- function(x) {
  # Of an array with its axes in reverse: memory stays as it is.
  torch_tensor(c(x), torch_float())$view(if (is.null(dim(x))) length(x) else rev(dim(x)))
}


numbers <- function(x) {
  # The array, its axes in reverse again, of a tensor.
  array(as_array(x$flatten()), rev(x$shape))
}


# What is known of an image, and 32 channels more.
Layer <- nn_module(
  "Layer",
  initialize = function(inputs) {
    self$norm1 <- nn_batch_norm2d(inputs)
    self$conv1 <- nn_conv2d(inputs, 4 * GROWTH, 1, bias = FALSE)
    self$norm2 <- nn_batch_norm2d(4 * GROWTH)
    self$conv2 <- nn_conv2d(4 * GROWTH, GROWTH, 3, padding = 1, bias = FALSE)
  },
  forward = function(x) {
    y <- self$conv1(nnf_relu(self$norm1(x)))
    torch_cat(list(x, self$conv2(nnf_relu(self$norm2(y)))), dim = 2)
  }
)


# Half of the channels, at half the size.
Transition <- nn_module(
  "Transition",
  initialize = function(inputs) {
    self$norm <- nn_batch_norm2d(inputs)
    self$conv <- nn_conv2d(inputs, inputs / 2, 1, bias = FALSE)
  },
  forward = function(x) nnf_avg_pool2d(self$conv(nnf_relu(self$norm(x))), 2)
)


DenseNet121 <- nn_module(
  "DenseNet121",
  initialize = function() {
    self$conv0 <- nn_conv2d(3, 64, 7, 2, 3, bias = FALSE)
    self$norm0 <- nn_batch_norm2d(64)
    self$pool <- nn_max_pool2d(3, 2, 1)
    blocks <- list()
    width <- 64
    for (number in seq_along(DEPTHS)) {
      for (k in seq_len(DEPTHS[[number]])) {
        blocks <- c(blocks, Layer(width))
        width <- width + GROWTH
      }
      if (number < length(DEPTHS)) {
        blocks <- c(blocks, Transition(width))
        width <- width / 2
      }
    }
    self$blocks <- nn_sequential(!!!blocks)
    self$norm5 <- nn_batch_norm2d(width)
    self$classifier <- nn_linear(width, FINDINGS)
  },
  forward = function(x) {
    x <- self$blocks(self$pool(nnf_relu(self$norm0(self$conv0(x)))))
    self$classifier(nnf_relu(self$norm5(x))$mean(dim = c(3, 4)))
  }
)


initialise <- function(mode, weights = NULL) {
  torch_manual_seed(0)
  model <- DenseNet121()
  if (!is.null(weights)) model$load_state_dict(lapply(weights, tensor))
  list(model = model, parameters = model$parameters)    # a walk through all modules, which a step need not take
}


step <- function(state, inputs) {
  loss <- nnf_binary_cross_entropy_with_logits(state$model(inputs[[1]]), inputs[[2]])
  list(loss, autograd_grad(loss, state$parameters))
}


evaluate <- function(state, inputs) {
  found <- step(state, inputs)
  gradients <- setNames(lapply(found[[2]], numbers), paste("gradient of", names(state$parameters)))
  # Of norm0.weight it is nothing but rounding: each layer behind normalises what it scales.
  c(loss = found[[1]]$item(), gradients[names(gradients) != "gradient of norm0.weight"])
}


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  found <- evaluate(initialise(mode), place(mode, data()))
  for (name in names(found)) {
    shape <- paste(rev(dim(found[[name]])), collapse = ", ")
    cat(sprintf("%s: shape (%s), mean square %.6f\n", name, shape, mean(found[[name]]^2)))
  }
}
