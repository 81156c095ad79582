# A layer norm and its gradients, in Julia.

using Random, Statistics

const MODES = ("base", "threads", "threads in-place")


"Columns that are normalised, weight and bias, and the gradient of the result."
function data(; count = 8192, width = 1024)
    Random.seed!(0)
    randn(Float32, width, count), randn(Float32, width), randn(Float32, width), randn(Float32, width, count)
end


place(mode, inputs) = mode == "threads in-place" ? (similar(inputs[1]), similar(inputs[1]), inputs...) : inputs


"Julia has no gradients: they are written by hand."
function norm(x, weight, bias, g)
    centred = x .- mean(x; dims = 1)
    scale = 1 ./ sqrt.(mean(abs2, centred; dims = 1) .+ 1.0f-5)
    h = centred .* scale
    along = g .* weight
    dx = (along .- mean(along; dims = 1) .- h .* mean(along .* h; dims = 1)) .* scale
    h .* weight .+ bias, dx, vec(sum(g .* h; dims = 2)), vec(sum(g; dims = 2))
end


"Column by column, so that what is computed in between stays in the cache, and a part of the columns in each thread."
function norm!(y, dx, x, weight, bias, g)
    parts = Iterators.partition(axes(x, 2), cld(size(x, 2), Threads.nthreads()))
    sums = fetch.([Threads.@spawn columns!(y, dx, x, weight, bias, g, part) for part in parts])
    y, dx, sum(first, sums), sum(last, sums)
end


function columns!(y, dx, x, weight, bias, g, part)
    n = Float32(length(weight))
    dweight, dbias = zero(weight), zero(bias)
    @inbounds for k in part
        total = 0.0f0
        @simd for j in axes(x, 1)
            total += x[j, k]
        end
        middle, squares = total / n, 0.0f0
        @simd for j in axes(x, 1)
            squares += abs2(x[j, k] - middle)
        end
        scale = 1 / sqrt(squares / n + 1.0f-5)
        sum_along = sum_along_h = 0.0f0
        @simd ivdep for j in axes(x, 1)
            h, along = (x[j, k] - middle) * scale, g[j, k] * weight[j]
            y[j, k] = muladd(h, weight[j], bias[j])
            dweight[j] += g[j, k] * h
            dbias[j] += g[j, k]
            sum_along += along
            sum_along_h += along * h
        end
        @simd ivdep for j in axes(x, 1)
            h = (x[j, k] - middle) * scale
            dx[j, k] = (g[j, k] * weight[j] - sum_along / n - h * (sum_along_h / n)) * scale
        end
    end
    dweight, dbias
end


initialise(mode) = Dict("base" => norm, "threads" => (x, rest...) -> norm!(similar(x), similar(x), x, rest...),
                        "threads in-place" => norm!)[mode]


step(f, inputs) = f(inputs...)


function evaluate(f, inputs)
    names = "y", "gradient of x", "gradient of weight", "gradient of bias"
    Dict(zip(names, step(f, inputs)))
end


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    for (name, y) in evaluate(initialise(mode), place(mode, data()))
        println(name, ": mean square ", mean(abs2, y))
    end
end
