# Rows of numbers in ascending order, in Julia.

using Random

const MODES = ("base", "threads", "radix threads")


"Columns of normal numbers; a single one has one axis."
function data(; rows = 2, count = 5)
    Random.seed!(0)
    (rows > 1 ? randn(Float32, count, rows) : randn(Float32, count),)
end


place(mode, inputs) = inputs


ordered(x) = sort(x; dims = 1)


ordered(x::Vector) = sort(x)


shared(x) = shared!(count -> sort!, copy(x))


radix(x) = shared!(Radix, copy(x))


"Sorts a part of the columns in each thread, by what `sorting` makes for columns of a length."
function shared!(sorting, y)
    parts = Iterators.partition(axes(y, 2), cld(size(y, 2), Threads.nthreads()))
    foreach(wait, [Threads.@spawn columns!(sorting(size(y, 1)), y, part) for part in parts])
    y
end


columns!(sort!, y, part) = foreach(k -> sort!(view(y, :, k)), part)


shared!(sorting, y::Vector) = halves!(sorting, y, 1, length(y), cld(length(y), Threads.nthreads()))


"Sorts a half in another thread as long as there are more than `few` numbers, and merges the two."
function halves!(sorting, y, low, high, few)
    if high - low < few
        sorting(high - low + 1)(view(y, low:high))
        return y
    end
    middle = (low + high) >> 1
    half = Threads.@spawn halves!(sorting, y, low, middle, few)
    halves!(sorting, y, middle + 1, high, few)
    wait(half)
    left = y[low:middle]
    i, j, k = 1, middle + 1, low
    @inbounds while k < j <= high
        second = isless(y[j], left[i])
        y[k] = ifelse(second, y[j], left[i])
        i, j, k = i + !second, j + second, k + 1
    end
    copyto!(y, k, left, i, j - k)
end


"Sorts columns of a length by one byte of their numbers after the other, the lowest first, in memory of its own."
struct Radix
    keys::Vector{UInt32}
    others::Vector{UInt32}
    places::Matrix{Int}
end


Radix(count) = Radix(Vector{UInt32}(undef, count), Vector{UInt32}(undef, count), Matrix{Int}(undef, 256, 4))


function (sort!::Radix)(y)
    keys, others, places = sort!.keys, sort!.others, fill!(sort!.places, 0)
    keys .= key.(y)
    @inbounds for k in keys, byte in 1:4
        places[digit(k, byte), byte] += 1
    end
    @inbounds for byte in 1:4
        total = 1
        for d in 1:256
            places[d, byte], total = total, total + places[d, byte]
        end
        for k in keys
            d = digit(k, byte)
            others[places[d, byte]] = k
            places[d, byte] += 1
        end
        keys, others = others, keys
    end
    y .= number.(keys)
end


@inline digit(k, byte) = Int(k >> (8byte - 8) & 0xff) + 1


"An integer that is less than another where the number is; all that are NaN come last."
@inline function key(x)
    bits = reinterpret(UInt32, x)
    ifelse(isnan(x), typemax(UInt32), bits & 0x80000000 == 0 ? bits | 0x80000000 : ~bits)
end


@inline number(k) = reinterpret(Float32, k & 0x80000000 == 0 ? ~k : k & 0x7fffffff)


initialise(mode) = Dict("base" => ordered, "threads" => shared, "radix threads" => radix)[mode]


step(f, inputs) = f(inputs...)


evaluate(f, inputs) = Dict("y" => step(f, inputs))


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    display(evaluate(initialise(mode), place(mode, data()))["y"])
end
