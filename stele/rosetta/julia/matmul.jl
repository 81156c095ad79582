# The product of two square matrices, in Julia.

using LinearAlgebra, Random

const MODES = ("blas", "blas in-place")


"Two matrices of normal numbers."
function data(; size = 1024)
    Random.seed!(0)
    randn(Float32, size, size), randn(Float32, size, size)
end


place(mode, inputs) = mode == "blas" ? inputs : (similar(inputs[1]), inputs...)


# Both arrive with their axes in reverse, and so does the product go.
product(a, b) = b * a


product!(y, a, b) = mul!(y, b, a)


function initialise(mode)
    BLAS.set_num_threads(Threads.nthreads())
    mode == "blas" ? product : product!
end


step(f, inputs) = f(inputs...)


evaluate(f, inputs) = Dict("y" => step(f, inputs))


if abspath(PROGRAM_FILE) == @__FILE__
    mode = first([ARGS; MODES...])
    display(evaluate(initialise(mode), place(mode, data()))["y"][1:5, 1:3])
end
