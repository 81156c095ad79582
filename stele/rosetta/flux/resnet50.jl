# The features that ResNet-50 (v1.5) sees in photographs, in Julia's Flux.

using Flux, LinearAlgebra, Random

const MODES = ("eager",)
const NAMES = (weight = "weight", γ = "weight", β = "bias", μ = "running_mean", σ² = "running_var")     # PyTorch's


"Photographs (224, 224, 3, batch) in 0..1."
data(; batch = 1) = (rand(Float32, 224, 224, 3, batch),)


place(mode, inputs) = inputs


"What others call a convolution is a cross-correlation; PyTorch begins it uniform within 1 / sqrt(fan in)."
convolution(size, channels; options...) =
    CrossCor((size, size), channels; bias = false, init = Flux.kaiming_uniform(gain = sqrt(1 / 3)), options...)


struct Bottleneck{M,D}
    main::M
    downsample::D
end

Flux.@layer Bottleneck

function Bottleneck(inputs::Int, width::Int, stride::Int)
    outputs = 4width
    main = Chain(conv1 = convolution(1, inputs => width), bn1 = BatchNorm(width, relu),
                 conv2 = convolution(3, width => width; stride = stride, pad = 1), bn2 = BatchNorm(width, relu),
                 conv3 = convolution(1, width => outputs), bn3 = BatchNorm(outputs))
    inputs == outputs && return Bottleneck(main, identity)
    Bottleneck(main, Chain(convolution(1, inputs => outputs; stride = stride), BatchNorm(outputs)))
end

(block::Bottleneck)(x) = relu.(block.main(x) .+ block.downsample(x))


stage(inputs, width, depth, stride) =
    Chain(Bottleneck(inputs, width, stride), (Bottleneck(4width, width, 1) for _ in 2:depth)...)


network() = Chain(conv1 = convolution(7, 3 => 64; stride = 2, pad = 3), bn1 = BatchNorm(64, relu),
                  pool = MaxPool((3, 3); stride = 2, pad = 1),
                  layer1 = stage(64, 64, 3, 1), layer2 = stage(256, 128, 4, 2),
                  layer3 = stage(512, 256, 6, 2), layer4 = stage(1024, 512, 3, 2),
                  mean = GlobalMeanPool(), flatten = Flux.flatten)


"Gives all layers within one their weights, which PyTorch counts from 0."
function load!(layer, weights, name)
    for (field, suffix) in pairs(NAMES)
        hasproperty(layer, field) && (getproperty(layer, field) .= weights[name*suffix])
    end
end

function load!(chain::Chain, weights, name)
    for (key, layer) in pairs(chain.layers)
        load!(layer, weights, "$name$(key isa Int ? key - 1 : key).")
    end
end

function load!(block::Bottleneck, weights, name)
    load!(block.main, weights, name)
    load!(block.downsample, weights, "$(name)downsample.")
end


function initialise(mode; weights = nothing)
    BLAS.set_num_threads(Threads.nthreads())
    Random.seed!(0)
    model = network()
    weights === nothing || load!(model, weights, "")
    testmode!(model)
end


step(model, inputs) = model(inputs...)


evaluate(model, inputs) = Dict("features" => step(model, inputs))


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    model = initialise(mode)
    display(evaluate(model, place(mode, data(batch = 4)))["features"][1:5, :])
end
