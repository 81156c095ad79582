# The running sums of numbers, in Julia.

using Random

const MODES = ("base", "threads", "threads in-place")


"Normal numbers."
function data(; count = 5)
    Random.seed!(0)
    (randn(Float32, count),)
end


place(mode, inputs) = mode == "threads in-place" ? (similar(inputs[1]), inputs...) : inputs


running(x) = cumsum(x)


"Each thread has a part, and begins with the sum of what is before it."
function running!(y, x)
    parts = collect(Iterators.partition(eachindex(x), cld(length(x), Threads.nthreads())))
    sums = fetch.([Threads.@spawn sum(view(x, part)) for part in parts[1:end-1]])
    before = cumsum([0.0f0; sums])
    foreach(wait, [Threads.@spawn run!(y, x, part, start) for (part, start) in zip(parts, before)])
    y
end


function run!(y, x, part, total)
    @inbounds for k in part
        total += x[k]
        y[k] = total
    end
end


initialise(mode) = Dict("base" => running, "threads" => x -> running!(similar(x), x),
                        "threads in-place" => running!)[mode]


step(f, inputs) = f(inputs...)


evaluate(f, inputs) = Dict("y" => step(f, inputs))


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    println(evaluate(initialise(mode), place(mode, data())))
end
