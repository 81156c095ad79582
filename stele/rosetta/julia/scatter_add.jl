# Sums of the numbers that go to each place, in Julia.

using Random

const MODES = ("base", "threads")


"Normal numbers, the place each of them goes to, which counts from 0, and what they are added to."
function data(; count = 9, places = 5)
    Random.seed!(0)
    randn(Float32, count), rand(0:places-1, count), zeros(Float32, places)
end


place(mode, inputs) = (inputs[1], inputs[2] .+ 1, inputs[3])


function add!(y, x, i, part = eachindex(x))
    @inbounds for k in part
        y[i[k]] += x[k]
    end
    y
end


summed(x, i, y) = add!(copy(y), x, i)


"Each thread adds a part to a row of its own."
function shared(x, i, y)
    parts = Iterators.partition(eachindex(x), cld(length(x), Threads.nthreads()))
    rows = fetch.([Threads.@spawn add!(part[1] == 1 ? copy(y) : zero(y), x, i, part) for part in parts])
    reduce((a, b) -> a .+= b, rows)
end


initialise(mode) = mode == "base" ? summed : shared


step(f, inputs) = f(inputs...)


evaluate(f, inputs) = Dict("y" => step(f, inputs))


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    println(evaluate(initialise(mode), place(mode, data())))
end
