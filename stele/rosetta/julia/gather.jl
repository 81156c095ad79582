# Rows of a table at computed places, in Julia.

using Random

const MODES = ("base", "threads", "threads in-place")


"A table of normal numbers, and which of its columns are asked for, counted from 0."
function data(; rows = 5, width = 4, count = 3)
    Random.seed!(0)
    randn(Float32, width, rows), rand(0:rows-1, count)
end


function place(mode, inputs)
    x, i = inputs
    mode == "threads in-place" ? (similar(x, size(x, 1), length(i)), x, i .+ 1) : (x, i .+ 1)
end


taken(x, i) = x[:, i]


function taken!(y, x, i)
    parts = Iterators.partition(eachindex(i), cld(length(i), Threads.nthreads()))
    foreach(wait, [Threads.@spawn columns!(y, x, i, part) for part in parts])
    y
end


function columns!(y, x, i, part)
    for k in part
        j = i[k]
        checkbounds(x, 1, j)
        @inbounds @simd for r in axes(x, 1)
            y[r, k] = x[r, j]
        end
    end
end


initialise(mode) = Dict("base" => taken, "threads" => (x, i) -> taken!(similar(x, size(x, 1), length(i)), x, i),
                        "threads in-place" => taken!)[mode]


step(f, inputs) = f(inputs...)


evaluate(f, inputs) = Dict("y" => step(f, inputs))


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    println(evaluate(initialise(mode), place(mode, data())))
end
