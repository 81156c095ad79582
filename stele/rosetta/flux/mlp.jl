# A small network that learns from images of 28 x 28 pixels, in Julia's Flux.

using Flux, LinearAlgebra, Random, Statistics

const MODES = ("zygote",)


"Images (784, batch) in 0..1 with one bright row, and labels 0..9 that say which."
function data(; batch = 32)
    images, labels = rand(Float32, 28, 28, batch), rand(0:9, batch)
    for (k, label) in enumerate(labels)
        images[:, 2label+1, k] .= 1
    end
    reshape(images, 784, batch), labels
end


function place(mode, inputs)
    images, labels = inputs
    images, Flux.onehotbatch(labels, 0:9)
end


"A layer as PyTorch begins it: weights and biases are uniform within 1 / sqrt(inputs)."
function linear((inputs, outputs), activation = identity)
    uniform(dims...) = (2 .* rand(Float32, dims...) .- 1) ./ sqrt(Float32(inputs))
    Dense(uniform(outputs, inputs), uniform(outputs), activation)
end


"The arrays of a model, or of its gradient, under PyTorch's names."
function arrays(m)
    fc1, fc2 = m.layers
    Dict("fc1.weight" => fc1.weight, "fc1.bias" => fc1.bias, "fc2.weight" => fc2.weight, "fc2.bias" => fc2.bias)
end


# A matrix comes and goes with its axes in reverse; what Flux has are weights (outputs, inputs).
turned(x::AbstractVector) = x
turned(x::AbstractMatrix) = permutedims(x)


function load!(model, weights)
    for (name, x) in arrays(model)
        x .= turned(weights[name])
    end
end


function initialise(mode; weights = nothing)
    BLAS.set_num_threads(Threads.nthreads())
    Random.seed!(0)
    model = Chain(fc1 = linear(784 => 128, relu), fc2 = linear(128 => 10))
    weights === nothing || load!(model, weights)
    model, Flux.setup(Descent(0.1), model)
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


function train(mode = first(MODES), steps = 200)
    state = initialise(mode)
    for k in 1:steps
        loss = step(state, place(mode, data()))
        k % 50 == 0 && println("step $k: loss ", round(loss; digits = 4))
    end
    loss, accuracy = evaluate(state, place(mode, data(batch = 1000)))
    println("test loss ", round(loss; digits = 4), ", accuracy ", round(accuracy; digits = 4))
end


function evaluate(state, inputs)
    model, _ = state
    x, y = inputs
    logits = model(x)
    Flux.logitcrossentropy(logits, y), mean(Flux.onecold(logits) .== Flux.onecold(y))
end


if abspath(PROGRAM_FILE) == @__FILE__
    train(ARGS...)
end
