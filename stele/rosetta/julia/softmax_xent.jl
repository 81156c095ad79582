# The mean cross-entropy of logits and its gradient, in Julia.

using Random

const MODES = ("base", "threads", "threads in-place")


"Logits, a column for each label, and the labels, which count from 0."
function data(; count = 16, classes = 32_000)
    Random.seed!(0)
    randn(Float32, classes, count), rand(0:classes-1, count)
end


function place(mode, inputs)
    x, y = inputs
    mode == "threads in-place" ? (similar(x), x, y .+ 1) : (x, y .+ 1)
end


"Julia has no gradients: they are written by hand."
function loss(x, y)
    labels = CartesianIndex.(y, axes(x, 2))
    top = maximum(x; dims = 1)
    p = exp.(x .- top)
    total = sum(p; dims = 1)
    value = sum(log.(total) .+ top) - sum(x[labels])
    p ./= total .* length(y)
    p[labels] .-= 1.0f0 / length(y)
    value / length(y), p
end


"Column by column, so that what is computed in between stays in the cache, and a part of the columns in each thread."
function loss!(p, x, y)
    parts = Iterators.partition(axes(x, 2), cld(size(x, 2), Threads.nthreads()))
    sum(fetch, [Threads.@spawn columns!(p, x, y, part) for part in parts]) / length(y), p
end


function columns!(p, x, y, part)
    n, value = Float32(length(y)), 0.0
    @inbounds for k in part
        most, total = typemin(Int32), 0.0f0
        @simd for j in axes(x, 1)
            most = max(most, ranked(x[j, k]))
        end
        top = reinterpret(Float32, ranked(most))
        @simd for j in axes(x, 1)
            total += p[j, k] = exponential(x[j, k] - top)
        end
        scale = 1 / (total * n)
        @simd for j in axes(x, 1)
            p[j, k] *= scale
        end
        p[y[k], k] -= 1 / n
        value += log(total) + top - x[y[k], k]
    end
    value
end


"An integer that is less than another where the number is, and back: loops find the largest of integers in vectors."
@inline function ranked(x)
    bits = reinterpret(Int32, x)
    bits ⊻ (bits >> 31 & typemax(Int32))
end


"exp(x) of no more than 0 within 1 ulp, without branches: loops of it become vectors, of Base's they do not."
@inline function exponential(x::Float32)
    x = ifelse(x < -87.0f0, -87.0f0, x)
    n = round(x * 1.442695f0)       # times ln 2, of which no more than a half is left
    r = muladd(n, -0.693359375f0, x)
    r = muladd(n, 2.1219444f-4, r)
    p = evalpoly(r, (1.0f0, 1.0f0, 0.49999994f0, 0.16666521f0, 0.04166839f0, 0.008368717f0, 0.0013814599f0))
    reinterpret(Float32, reinterpret(Int32, p) + unsafe_trunc(Int32, n) << 23)
end


initialise(mode) = Dict("base" => loss, "threads" => (x, y) -> loss!(similar(x), x, y),
                        "threads in-place" => loss!)[mode]


step(f, inputs) = f(inputs...)


function evaluate(f, inputs)
    value, gradient = step(f, inputs)
    Dict("loss" => value, "gradient of x" => gradient)
end


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    println(evaluate(initialise(mode), place(mode, data()))["loss"])
end
