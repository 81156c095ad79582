# The largest numbers of rows and where they stand, in Julia.

using Random

const MODES = ("base", "threads")
const K = 50
const TOGETHER = 64


"Columns of normal numbers."
function data(; rows = 2, count = 60)
    Random.seed!(0)
    (randn(Float32, count, rows),)
end


place(mode, inputs) = inputs


function largest(x)
    i = mapslices(column -> partialsortperm(column, 1:K; rev = true), x; dims = 1)
    x[CartesianIndex.(i, axes(x, 2)')], i
end


"A walk along each column, a part of them in each thread."
function walked(x)
    values, places = fill(-Inf32, K, size(x, 2)), zeros(Int, K, size(x, 2))
    parts = Iterators.partition(axes(x, 2), cld(size(x, 2), Threads.nthreads()))
    foreach(wait, [Threads.@spawn foreach(k -> column!(values, places, x, k), part) for part in parts])
    values, places
end


"Keeps the K largest so far in order: few of many numbers come among them, and in most groups none does."
function column!(values, places, x, k)
    least = values[K, k]
    for low in 1:TOGETHER:size(x, 1)
        group, larger = low:min(low + TOGETHER - 1, size(x, 1)), false
        @inbounds @simd for j in group
            larger |= x[j, k] > least
        end
        larger || continue
        @inbounds for j in group
            x[j, k] > least || continue
            at = K
            while at > 1 && x[j, k] > values[at-1, k]
                values[at, k], places[at, k] = values[at-1, k], places[at-1, k]
                at -= 1
            end
            values[at, k], places[at, k] = x[j, k], j
            least = values[K, k]
        end
    end
end


initialise(mode) = mode == "base" ? largest : walked


step(f, inputs) = f(inputs...)


function evaluate(f, inputs)
    values, positions = step(f, inputs)
    Dict("values" => values, "positions" => positions .- 1)
end


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    println(evaluate(initialise(mode), place(mode, data())))
end
