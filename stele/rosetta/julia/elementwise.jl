# A chain of 20 elementwise operations, in Julia.

using Random

const MODES = ("base", "threads", "threads in-place")
const LEAST = 50_000        # numbers that are worth a thread


"Two vectors of normal numbers."
function data(; count = 1000)
    Random.seed!(0)
    randn(Float32, count), randn(Float32, count)
end


place(mode, inputs) = mode == "threads in-place" ? (similar(inputs[1]), inputs...) : inputs


@inline function chain(x, y, exp = exp, tanh = tanh)
    g = x * x * x * 0.044715f0 + x
    g = (tanh(g * 0.7978845608f0) + 1) * x * 0.5f0
    s = g * (1 / (1 + exp(-y))) + tanh(x * y)
    (s - exp(-(x * x))) * y + x
end


"exp(x) within 1 ulp, of -87 to 88 for x beyond, without branches: loops of it become vectors, of Base's they do not."
@inline function exponential(x::Float32)
    x = ifelse(x < -87.0f0, -87.0f0, ifelse(x > 88.0f0, 88.0f0, x))
    n = round(x * 1.442695f0)       # times ln 2, of which no more than a half is left
    r = muladd(n, -0.693359375f0, x)
    r = muladd(n, 2.1219444f-4, r)
    p = evalpoly(r, (1.0f0, 1.0f0, 0.49999994f0, 0.16666521f0, 0.04166839f0, 0.008368717f0, 0.0013814599f0))
    reinterpret(Float32, reinterpret(Int32, p) + unsafe_trunc(Int32, n) << 23)
end


@inline tangent(x) = 1 - 2 / (exponential(2x) + 1)


chained(x, y) = chain.(x, y)


function chained!(z, x, y)
    parts = Iterators.partition(eachindex(x), max(LEAST, cld(length(x), Threads.nthreads())))
    if length(parts) == 1
        run!(z, x, y, eachindex(x))
    else
        foreach(wait, [Threads.@spawn run!(z, x, y, part) for part in parts])
    end
    z
end


function run!(z, x, y, part)
    @inbounds @simd for k in part
        z[k] = chain(x[k], y[k], exponential, tangent)
    end
end


initialise(mode) = Dict("base" => chained, "threads" => (x, y) -> chained!(similar(x), x, y),
                        "threads in-place" => chained!)[mode]


step(f, inputs) = f(inputs...)


evaluate(f, inputs) = Dict("z" => step(f, inputs))


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    println(evaluate(initialise(mode), place(mode, data()))["z"][1:10])
end
