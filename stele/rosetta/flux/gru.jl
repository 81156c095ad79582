# A recurrent network that learns from texts of 150 words, in Julia's Flux.

using Flux, LinearAlgebra, Random, Statistics

const MODES = ("zygote",)


"Word numbers (150, batch) below 30000, and labels: texts of label 1 end in frequent words."
function data(; batch = 64)
    texts, labels = rand(0:29_999, 150, batch), rand(0:1, batch)
    texts[end-9:end, labels.==1] .%= 100
    texts, labels
end


function place(mode, inputs)
    texts, labels = inputs
    texts .+ 1, Flux.onehotbatch(labels, 0:1)
end


"A layer that gives its last state. The reset gate scales a bias in PyTorch's formula, which no layer of Flux has."
struct Gru{I,H}
    input::I
    hidden::H
end

Flux.@layer Gru

function (gru::Gru)(x)
    h = zeros(Float32, size(gru.hidden.weight, 2), size(x, 3))
    for from_x in eachslice(gru.input(x); dims = 2)     # one product for all steps
        rx, zx, nx = Flux.chunk(from_x, 3; dims = 1)
        rh, zh, nh = Flux.chunk(gru.hidden(h), 3; dims = 1)
        n = tanh_fast.(nx .+ sigmoid_fast.(rx .+ rh) .* nh)
        h = n .+ sigmoid_fast.(zx .+ zh) .* (h .- n)
    end
    h
end


"As PyTorch begins it: words are normal, all else is uniform within 1 / sqrt(100)."
function network()
    uniform(dims...) = (rand(Float32, dims...) .- 0.5f0) ./ 5
    linear((inputs, outputs)) = Dense(uniform(outputs, inputs), uniform(outputs))
    Chain(embedding = Embedding(30_000 => 125), gru = Gru(linear(125 => 300), linear(100 => 300)),
          fc = linear(100 => 2))
end


"The arrays of a model, or of its gradient, under PyTorch's names."
function arrays(m)
    embedding, gru, fc = m.layers
    Dict("embedding.weight" => transpose(embedding.weight),     # a word is a column here, a row there
         "gru.weight_ih_l0" => gru.input.weight, "gru.bias_ih_l0" => gru.input.bias,
         "gru.weight_hh_l0" => gru.hidden.weight, "gru.bias_hh_l0" => gru.hidden.bias,
         "fc.weight" => fc.weight, "fc.bias" => fc.bias)
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
    model = network()
    weights === nothing || load!(model, weights)
    model, Flux.setup(Adam(1e-3), model)
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


function evaluate(state, inputs)
    model, _ = state
    x, y = inputs
    logits = model(x)
    Flux.logitcrossentropy(logits, y), mean(Flux.onecold(logits) .== Flux.onecold(y))
end


if abspath(PROGRAM_FILE) == @__FILE__
    train(ARGS...)
end
