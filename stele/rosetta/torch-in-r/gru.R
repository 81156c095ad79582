# A recurrent network that learns from texts of 150 words, in R's torch.

library(torch)

MODES <- "eager"


data <- function(batch = 64) {
  # Word numbers below 30000, a column for each text, and labels: texts of label 1 end in frequent words.
  texts <- matrix(sample.int(30000, 150 * batch, TRUE) - 1L, 150)
  labels <- sample.int(2, batch, TRUE) - 1L
  texts[141:150, labels == 1] <- texts[141:150, labels == 1] %% 100L
  list(texts, labels)
}


place <- function(mode, inputs) {
  # torch counts words and labels from 1 in R.
  lapply(inputs, function(x) tensor(x + 1L, torch_long()))
}


tensor <- function(x, dtype = torch_float()) {
  # Of an array with its axes in reverse: memory stays as it is.
  torch_tensor(c(x), dtype)$view(if (is.null(dim(x))) length(x) else rev(dim(x)))
}


numbers <- function(x) {
  # The array, its axes in reverse again, of a tensor.
  array(as_array(x$flatten()), rev(x$shape))
}


Gru <- nn_module(
  "Gru",
  initialize = function() {
    self$embedding <- nn_embedding(30000, 125)
    self$gru <- nn_gru(125, 100, batch_first = TRUE)
    self$fc <- nn_linear(100, 2)
  },
  forward = function(x) {
    last <- self$gru(self$embedding(x))[[2]]
    self$fc(last$squeeze(1))
  }
)


initialise <- function(mode, weights = NULL) {
  torch_manual_seed(0)
  model <- Gru()
  if (!is.null(weights)) {
    # torch counts layers from 1 in R: gru.weight_ih_l1 is what others call gru.weight_ih_l0.
    names(weights) <- sub("_l0$", "_l1", names(weights))
    model$load_state_dict(lapply(weights, tensor))
  }
  list(model = model, optimizer = optim_ignite_adam(model$parameters, lr = 1e-3))
}


gradients <- function(state, inputs) {
  state$optimizer$zero_grad()
  loss <- nnf_cross_entropy(state$model(inputs[[1]]), inputs[[2]])
  loss$backward()
  found <- lapply(state$model$parameters, function(p) numbers(p$grad))
  list(loss$item(), setNames(found, sub("_l1$", "_l0", names(found))))
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
