# The distinct ones of integers, in order, in Julia.

using Random

const MODES = ("base", "marks")


"Integers below a number, each as likely."
function data(; count = 9, below = 5)
    Random.seed!(0)
    (rand(0:below-1, count),)
end


place(mode, inputs) = inputs


distinct(x) = unique!(sort(x))


"A mark at each integer that is there, where there are not many more between the least and the largest than numbers."
function marked(x)
    least, most = extrema(x)
    0 <= most - least < 16 * length(x) || return distinct(x)
    there = fill(false, most - least + 1)
    @inbounds for v in x
        there[v-least+1] = true
    end
    y, n = Vector{Int}(undef, count(there) + 1), 1
    @inbounds for v in eachindex(there)
        y[n] = v + least - 1    # is written over by the next where no mark is: no branch is guessed wrong
        n += there[v]
    end
    resize!(y, n - 1)
end


initialise(mode) = mode == "base" ? distinct : marked


step(f, inputs) = f(inputs...)


evaluate(f, inputs) = Dict("y" => step(f, inputs))


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    println(evaluate(initialise(mode), place(mode, data())))
end
