# What uncompiled code costs around the arithmetic: small operations by the thousand, in Julia.

using Random

const MODES = ("base",)


"What to do, and normal numbers: two vectors, a table of ten columns, and weights and biases of two layers."
function data(; case = "record")
    Random.seed!(0)
    (case, randn(Float32, 16), randn(Float32, 16), randn(Float32, 16, 10), randn(Float32, 32, 16), randn(Float32, 32),
     randn(Float32, 4, 32), randn(Float32, 4))
end


place(mode, inputs) = (CASES[inputs[1]], inputs[2:end]...)


"1,000 sums that nobody looks at."
function record(x, z, _...)
    y = x
    for _ in 1:1000
        y = x + z
    end
    y
end


"100 chains of ten operations, each looked at."
function replay(x, z, _...)
    seen = x
    for _ in 1:100
        y = x
        for _ in 1:5
            y = y .* z
            y = y + x
        end
        seen = y
    end
    seen
end


"1,000 columns of a table that nobody looks at."
function index(x, z, table, _...)
    y = x
    for _ in 1:100, k in axes(table, 2)
        y = table[:, k]
    end
    y
end


"200 times two layers, each looked at."
function mlp(x, z, table, w1, b1, w2, b2)
    seen = table
    for _ in 1:200
        seen = w2 * max.(w1 * table .+ b1, 0) .+ b2
    end
    seen
end


const CASES = Dict("record" => record, "replay" => replay, "index" => index, "mlp" => mlp)


initialise(mode) = mode


step(state, inputs) = inputs[1](inputs[2:end]...)


evaluate(state, inputs) = Dict("y" => step(state, inputs))


if abspath(PROGRAM_FILE) == @__FILE__
    case = first([ARGS; "record"])
    println(evaluate(initialise(first(MODES)), place(first(MODES), data(; case = case))))
end
