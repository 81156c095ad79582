# DenseNet-121 on chest X-rays, fourteen findings each: its loss and all gradients, in Julia's Flux.

using Flux, LinearAlgebra, Random, Statistics

const MODES = ("zygote",)
const FINDINGS, GROWTH, DEPTHS = 14, 32, (6, 12, 24, 16)
const NAMES = (weight = "weight", bias = "bias", γ = "weight", β = "bias")      # PyTorch's


"X-rays (edge, edge, 3, batch) in 0..1, smooth between points 16 pixels apart, and which findings each shows."
function data(; batch = 8, edge = 224)
    points, at = rand(Float32, edge ÷ 16 + 1, edge ÷ 16 + 1, 3, batch), (0:edge-1) .÷ 16 .+ 1
    near = Float32.((0:edge-1) .% 16 .+ 0.5) ./ 16
    rows = points[:, at, :, :] .* (1 .- near') .+ points[:, at.+1, :, :] .* near'
    images = rows[at, :, :, :] .* (1 .- near) .+ rows[at.+1, :, :, :] .* near
    images, Float32.(rand(FINDINGS, batch) .< 0.2)
end


place(mode, inputs) = inputs


const uniform = Flux.kaiming_uniform(gain = sqrt(1 / 3))     # within 1 / sqrt(fan in), as PyTorch begins


"What others call a convolution is a cross-correlation."
convolution(size, channels; options...) = CrossCor((size, size), channels; bias = false, init = uniform, options...)


"What is known of an image, and 32 channels more."
layer(inputs) = SkipConnection(
    Chain(norm1 = BatchNorm(inputs, relu), conv1 = convolution(1, inputs => 4GROWTH),
          norm2 = BatchNorm(4GROWTH, relu), conv2 = convolution(3, 4GROWTH => GROWTH; pad = 1)),
    (new, known) -> cat(known, new; dims = 3))


"Half of the channels, at half the size."
transition(inputs) = Chain(norm = BatchNorm(inputs, relu), conv = convolution(1, inputs => inputs ÷ 2),
                           pool = MeanPool((2, 2)))


function network()
    stages, width = [], 64
    for (number, depth) in enumerate(DEPTHS)
        blocks = Any[layer(width + k * GROWTH) for k in 0:depth-1]
        width += depth * GROWTH
        if number < length(DEPTHS)
            push!(blocks, transition(width))
            width ÷= 2
        end
        push!(stages, Chain(blocks...))
    end
    Chain(conv0 = convolution(7, 3 => 64; stride = 2, pad = 3), norm0 = BatchNorm(64, relu),
          pool = MaxPool((3, 3); stride = 2, pad = 1), stages = Chain(stages...), norm5 = BatchNorm(width, relu),
          mean = GlobalMeanPool(), flatten = Flux.flatten,
          classifier = Dense(uniform(FINDINGS, width), uniform(FINDINGS, width)[:, 1]))      # biases as weights
end


"The arrays of a model, or of its gradient, under PyTorch's names, which count blocks from 0."
function arrays(m)
    layers = Pair{String,Any}["$name." => getproperty(m.layers, name) for name in (:conv0, :norm0, :norm5, :classifier)]
    blocks = [block for stage in m.layers.stages.layers for block in stage.layers]
    for (k, block) in enumerate(blocks)
        chain = hasproperty(block, :connection) ? block.layers : block
        append!(layers, ["blocks.$(k-1).$name." => layer for (name, layer) in pairs(chain.layers)])
    end
    Dict(name * suffix => getproperty(layer, field) for (name, layer) in layers for (field, suffix) in pairs(NAMES)
         if hasproperty(layer, field) && getproperty(layer, field) isa AbstractArray)
end


# A matrix comes and goes with its axes in reverse; what Flux has are weights (outputs, inputs).
turned(x) = x
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
    model
end


function step(model, inputs)
    x, y = inputs
    loss, (found,) = Flux.withgradient(m -> Flux.logitbinarycrossentropy(m(x), y), model)
    loss, found
end


function evaluate(model, inputs)
    loss, found = step(model, inputs)
    results = Dict{String,Any}("gradient of $name" => turned(x) for (name, x) in arrays(found))
    # Of norm0.weight it is nothing but rounding: each layer behind normalises what it scales.
    delete!(results, "gradient of norm0.weight")
    merge!(results, Dict("loss" => loss))
end


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    model = initialise(mode)
    for (name, x) in evaluate(model, place(mode, data()))
        println(name, ": size ", size(x), ", mean square ", mean(abs2, x))
    end
end
