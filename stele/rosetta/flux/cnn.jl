# A convolutional network that learns from images of 32 x 32 pixels, in Julia's Flux.

using Flux, LinearAlgebra, Random, Statistics

const MODES = ("zygote",)
const LAYERS = (:conv1, :conv2, :conv3, :conv4, :fc1, :fc2)     # that have weights


"Images (32, 32, 3, batch) in 0..1 with one bright row, and labels 0..9 that say which."
function data(; batch = 64)
    images, labels = rand(Float32, 32, 32, 3, batch), rand(0:9, batch)
    for (k, label) in enumerate(labels)
        images[:, 3label+1, :, k] .= 1
    end
    images, labels
end


function place(mode, inputs)
    images, labels = inputs
    images, Flux.onehotbatch(labels, 0:9)
end


# In Flux the gradient of a largest value goes to the first that is ≈ it: of Float32 to some within 0.03 %, of Float64
# to itself.
exact(pool) = Chain(x -> Float64.(x), pool, x -> Float32.(x))


"Flux begins with Xavier's uniform weights. What others call a convolution is a cross-correlation."
function network(dropout)
    drop(p) = dropout ? Dropout(p) : identity
    Chain(conv1 = CrossCor((3, 3), 3 => 50, relu; pad = 1),
          conv2 = CrossCor((3, 3), 50 => 50, relu; pad = 1),
          pool1 = exact(MaxPool((2, 2))), drop1 = drop(0.25),
          conv3 = CrossCor((3, 3), 50 => 100, relu; pad = 1),
          conv4 = CrossCor((3, 3), 100 => 100, relu; pad = 1),
          pool2 = exact(MaxPool((2, 2))), drop2 = drop(0.25), flatten = Flux.flatten,
          fc1 = Dense(6400 => 512, relu), drop3 = drop(0.5),
          fc2 = Dense(512 => 10))
end


"The arrays of a model, or of its gradient, under PyTorch's names."
arrays(m) = Dict("$name.$field" => getproperty(m.layers[name], field) for name in LAYERS, field in (:weight, :bias))


# A matrix comes and goes with its axes in reverse; what Flux has are weights (outputs, inputs).
turned(x) = x
turned(x::AbstractMatrix) = permutedims(x)


function load!(model, weights)
    for (name, x) in arrays(model)
        x .= turned(weights[name])
    end
end


function initialise(mode; weights = nothing, dropout = true)
    BLAS.set_num_threads(Threads.nthreads())
    Random.seed!(0)
    model = network(dropout)
    weights === nothing || load!(model, weights)
    model, Flux.setup(Momentum(0.01, 0.9), model)
end


"The loss, and its gradient in the shape of the model."
differentiate(model, x, y) = Flux.withgradient(m -> Flux.logitcrossentropy(m(x), y), model)


function gradients(state, inputs)
    model, _ = state
    loss, (found,) = differentiate(model, inputs...)
    loss, Dict(name => turned(x) for (name, x) in arrays(found))
end


function step(state, inputs)
    model, optimiser = state
    loss, (found,) = differentiate(model, inputs...)
    Flux.update!(optimiser, model, found)
    loss
end


function train(mode = first(MODES), steps = 60)
    state = initialise(mode)
    for k in 1:steps
        loss = step(state, place(mode, data()))
        k % 10 == 0 && println("step $k: loss ", round(loss; digits = 4))
    end
    loss, accuracy = evaluate(state, place(mode, data(batch = 1000)))
    println("test loss ", round(loss; digits = 4), ", accuracy ", round(accuracy; digits = 4))
end


"Flux drops out within a gradient only."
function evaluate(state, inputs)
    model, _ = state
    x, y = inputs
    logits = model(x)
    Flux.logitcrossentropy(logits, y), mean(Flux.onecold(logits) .== Flux.onecold(y))
end


if abspath(PROGRAM_FILE) == @__FILE__
    train(ARGS...)
end
