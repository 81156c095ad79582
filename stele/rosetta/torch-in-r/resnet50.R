# The features that ResNet-50 (v1.5) sees in photographs, in R's torch.

library(torch)

MODES <- c("eager", "jit")


data <- function(batch = 1) {
  # Photographs of 224 x 224 pixels in 0..1.
  set.seed(0)
  list(array(runif(3 * 224^2 * batch), c(224, 224, 3, batch)))
}


place <- function(mode, inputs) lapply(inputs, tensor)


tensor <- function(x) {
  # Of an array with its axes in reverse: memory stays as it is.
  torch_tensor(c(x), torch_float())$view(if (is.null(dim(x))) length(x) else rev(dim(x)))
}


Bottleneck <- nn_module(
  "Bottleneck",
  initialize = function(inputs, width, stride) {
    outputs <- 4 * width
    self$conv1 <- nn_conv2d(inputs, width, 1, bias = FALSE)
    self$bn1 <- nn_batch_norm2d(width)
    self$conv2 <- nn_conv2d(width, width, 3, stride, 1, bias = FALSE)
    self$bn2 <- nn_batch_norm2d(width)
    self$conv3 <- nn_conv2d(width, outputs, 1, bias = FALSE)
    self$bn3 <- nn_batch_norm2d(outputs)
    self$downsample <- if (inputs == outputs) nn_identity() else nn_sequential(
      nn_conv2d(inputs, outputs, 1, stride, bias = FALSE), nn_batch_norm2d(outputs))
  },
  forward = function(x) {
    y <- nnf_relu(self$bn1(self$conv1(x)))
    y <- nnf_relu(self$bn2(self$conv2(y)))
    nnf_relu(self$bn3(self$conv3(y)) + self$downsample(x))
  }
)


stage <- function(inputs, width, depth, stride) {
  rest <- lapply(seq_len(depth - 1), function(k) Bottleneck(4 * width, width, 1))
  nn_sequential(Bottleneck(inputs, width, stride), !!!rest)
}


ResNet50 <- nn_module(
  "ResNet50",
  initialize = function() {
    self$conv1 <- nn_conv2d(3, 64, 7, 2, 3, bias = FALSE)
    self$bn1 <- nn_batch_norm2d(64)
    self$layer1 <- stage(64, 64, 3, 1)
    self$layer2 <- stage(256, 128, 4, 2)
    self$layer3 <- stage(512, 256, 6, 2)
    self$layer4 <- stage(1024, 512, 3, 2)
  },
  forward = function(x) {
    x <- nnf_max_pool2d(nnf_relu(self$bn1(self$conv1(x))), 3, 2, 1)
    self$layer4(self$layer3(self$layer2(self$layer1(x))))$mean(dim = c(3, 4))
  }
)


initialise <- function(mode, weights = NULL) {
  torch_manual_seed(0)
  model <- ResNet50()$eval()
  if (!is.null(weights)) model$load_state_dict(lapply(weights, tensor))
  # Of both of its modes, which it would trace by itself, that of training would change the running means.
  if (mode == "jit") jit_trace(model, torch_zeros(1, 3, 224, 224), respect_mode = FALSE) else model
}


step <- function(model, inputs) with_no_grad(model(inputs[[1]]))


evaluate <- function(model, inputs) {
  y <- step(model, inputs)
  list(features = array(as_array(y$flatten()), rev(y$shape)))
}


if (sys.nframe() == 0L) {
  mode <- c(commandArgs(TRUE), MODES)[[1]]
  print(t(evaluate(initialise(mode), place(mode, data(4)))$features[1:5, ]))
}
