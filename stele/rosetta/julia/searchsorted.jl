# Where numbers would go into a sorted row, in Julia.

using Random

const MODES = ("base", "threads", "threads in-place")
const TOGETHER = 256


"A sorted row of normal numbers, and the numbers to look for."
function data(; size = 5, count = 3)
    Random.seed!(0)
    sort(randn(Float32, size)), randn(Float32, count)
end


place(mode, inputs) = mode == "threads in-place" ? (similar(inputs[2], Int32), inputs...) : inputs


places(x, z) = searchsortedfirst.(Ref(x), z) .- 1       # how many are less: what counts from 0 elsewhere


"Many numbers take each step of the search together, so that no step waits for the memory of another."
function places!(i, x, z)
    parts = Iterators.partition(eachindex(z), cld(length(z), Threads.nthreads()))
    foreach(wait, [Threads.@spawn search!(i, x, z, part) for part in parts])
    i
end


function search!(i, x, z, part)
    for some in Iterators.partition(part, TOGETHER)
        @inbounds i[some] .= 0
        left = length(x)
        while left > 0
            half = cld(left, 2)
            @inbounds @simd ivdep for k in some
                i[k] += ifelse(x[i[k]+half] < z[k], Int32(half), Int32(0))
            end
            left -= half
        end
    end
end


initialise(mode) = Dict("base" => places, "threads" => (x, z) -> places!(similar(z, Int32), x, z),
                        "threads in-place" => places!)[mode]


step(f, inputs) = f(inputs...)


evaluate(f, inputs) = Dict("i" => step(f, inputs))


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    println(evaluate(initialise(mode), place(mode, data())))
end
