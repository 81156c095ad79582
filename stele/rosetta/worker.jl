# Runs one program of the benchmark in Julia, told what to do line by line, as worker.py does of those in Python.
#
#     julia worker.jl PROGRAM THREADS
#
# A line on standard input is a JSON object {"do": ..., ...}, the answer to it one on standard output. It needs nothing
# beside Julia, which reads neither JSON nor NumPy's files by itself, and what the program uses. Julia keeps columns of an
# array together where NumPy keeps rows: arrays have their axes in reverse here, a row of others is a column, and memory
# is the same.

const SAMPLE = 131072       # elements that are kept of a result
const TICKS = ccall(:sysconf, Clong, (Cint,), 2)        # of a second, in which Linux counts what CPUs worked
const M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
const PR_SET_PDEATHSIG = 1
const MOST_CPUS = 1024
const TYPES = Dict("<f4" => Float32, "<f8" => Float64, "<i4" => Int32, "<i8" => Int64)
const ESCAPES = Dict('n' => '\n', 't' => '\t', 'r' => '\r', 'b' => '\b', 'f' => '\f')

const program = Module(:Program)        # what the file of the program defines

mutable struct Worker
    renew::Any      # makes the state as it was at the beginning, its switches on or off
    state::Any      # what a call is of
    inputs::Any
    trains::Bool    # whether a call changes the state, and gives a loss
    quick::Bool     # whether the last call was short
end
const worker = Worker(nothing, nothing, nothing, false, true)


"Makes the model anew, on weights of the files in a folder where they are given, and its inputs of those in another."
function load(; mode, inputs, weights = nothing, trains = false, switches...)
    worker.state = worker.inputs = nothing
    GC.gc()
    given = weights === nothing ? () : (:weights => Dict(first(splitext(name)) => read_npy(joinpath(weights, name))
                                                        for name in readdir(weights)),)
    worker.renew = on -> worker.state = program.initialise(mode; given..., (name => on for name in keys(switches))...)
    worker.renew(true)
    worker.inputs = program.place(mode, Tuple(map(read_npy, readdir(inputs; join = true))))
    worker.trains, worker.quick = trains, true
    GC.gc()
    write("/proc/self/clear_refs", "5")
    Dict()
end


step() = program.step(worker.state, worker.inputs)


"One call: the seconds it took."
function call()
    start = now()
    step()
    seconds = now() - start
    worker.quick = seconds < 0.05
    Dict("seconds" => seconds)
end


"Calls for some time: the milliseconds of each, and how many CPUs others were using meanwhile."
function run(; seconds, least = 1, most = 2000)
    worker.quick && step()      # wakes the threads
    busy, own, start = busy_seconds(), own_seconds(), now()
    times = Float64[]
    while length(times) < least || (length(times) < most && now() - start < seconds)
        before = now()
        step()
        push!(times, (now() - before) * 1e3)
    end
    wall = now() - start
    others = (busy_seconds() - busy) - (own_seconds() - own)
    worker.quick = last(times) < 50
    Dict("ms" => times, "foreign" => wall > 0.1 ? others / wall : 0.0)
end


"""
Leaves samples of all results in a folder of .npy files: gradients and the losses of training, or what a step gives.

Stops short of `steps` when that many seconds have passed since the first one; says how many there were, and the
seconds of the first.
"""
function check(; path, steps, seconds)
    losses, start = Float64[], now()
    if worker.trains
        found, losses, start, stop = training(steps, seconds)
    else
        found, stop = program.evaluate(worker.state, worker.inputs), now()
    end
    mkdir(path)
    for (name, y) in found
        flat = y isa AbstractArray ? vec(y) : [y]
        write_npy(joinpath(path, "$name.npy"), flat[1:cld(length(flat), SAMPLE):end])
        write_npy(joinpath(path, "norm of $name.npy"), [sqrt(sum(abs2 ∘ Float64, flat))])
    end
    Dict("steps" => length(losses), "seconds" => stop - start)
end


"Results and losses of training with all switches off, and when its first step began and ended."
function training(steps, seconds)
    worker.renew(false)
    loss, gradients = program.gradients(worker.state, worker.inputs)
    found = Dict{String,Any}("gradient of $name" => g for (name, g) in gradients)
    start = now()
    losses = Float64[step()]
    stop = now()
    while length(losses) < steps && now() < stop + seconds
        push!(losses, step())
    end
    found["first loss"], found["losses"] = loss, losses
    if length(losses) == steps
        found["loss after training"] = first(program.evaluate(worker.state, worker.inputs))
    end
    worker.renew(true)
    found, losses, start, stop
end


"From now on the C allocator keeps the memory that is freed, as worker.py has it."
function keep()
    set(option, n) = ccall(:mallopt, Cint, (Cint, Cint), option, n) == 1
    Dict("kept" => set(M_MMAP_MAX, 0) && set(M_TRIM_THRESHOLD, -1))
end


"The most megabytes the process held since `load`."
memory() = Dict("mb" => parse(Int, match(r"VmHWM:\s*(\d+)", read("/proc/self/status", String))[1]) / 1024)


now() = time_ns() / 1e9


"Seconds that CPUs have worked for this process."
function own_seconds()
    fields = split(last(split(read("/proc/self/stat", String), ") ")))
    sum(parse.(Int, fields[12:13])) / TICKS
end


"Seconds that all CPUs have worked so far."
function busy_seconds()
    fields = parse.(Int, split(readline("/proc/stat"))[2:9])
    sum(fields[[1:3; 6:8]]) / TICKS     # but those that they were idle or waited
end


"The array in a file of NumPy's, its axes in reverse; a text where it holds one."
function read_npy(path)
    open(path) do file
        read(file, 8)       # what files of version 1.0 begin with
        header = String(read(file, ltoh(read(file, UInt16))))
        type, order, shape = match(r"'descr': '(.*)', 'fortran_order': (\w+), 'shape': \((.*)\)", header).captures
        type[1:2] == "<U" && return String(Char.(read!(file, Vector{UInt32}(undef, parse(Int, type[3:end])))))
        haskey(TYPES, type) || error("numbers of type $type are none that this worker reads")
        order == "False" || error("the columns of an array are together, where this worker reads rows")
        sizes = [parse(Int, size.match) for size in eachmatch(r"\d+", shape)]
        read!(file, Array{TYPES[type]}(undef, reverse(sizes)...))
    end
end


"A file of NumPy's with numbers in a row."
function write_npy(path, x)
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': ($(length(x)),), }\n"
    open(path, "w") do file
        write(file, b"\x93NUMPY\x01\x00", htol(UInt16(length(header))), header, Float64.(x))
    end
end


"The object in a line: texts, numbers and truths under names."
function read_json(line)
    members = eachmatch(r"\"((?:\\.|[^\"\\])*)\": *(?:\"((?:\\.|[^\"\\])*)\"|([^\",{}]+))", line)
    value(m) = m[2] !== nothing ? unescaped(m[2]) : m[3] in ("true", "false") ? m[3] == "true" : parse(Float64, m[3])
    Dict{Symbol,Any}(Symbol(unescaped(m[1])) => value(m) for m in members)
end


unescaped(text) = replace(text, r"\\(?:u[dD][89abAB]..\\u....|u....|.)" => character)


"What stands behind a backslash; Python writes what needs more than 16 bits as two halves."
function character(escape)
    code(k) = parse(UInt32, escape[k:k+3]; base = 16)
    length(escape) == 2 && return get(ESCAPES, escape[2], escape[2])
    Char(length(escape) == 6 ? code(3) : 0x10000 + ((code(3) & 0x3ff) << 10) + (code(9) & 0x3ff))
end


"Numbers, truths, rows of them, and objects of those, as a line."
write_json(x) = string(x)
write_json(x::Vector) = "[$(join(map(write_json, x), ", "))]"
write_json(x::Dict) = "{$(join(("\"$name\": $(write_json(y))" for (name, y) in x), ", "))}"


"Holds all threads of this process to the first so many of its CPUs."
function hold(threads)
    cpus = falses(MOST_CPUS)
    size = sizeof(cpus.chunks)
    ccall(:sched_getaffinity, Cint, (Cint, Csize_t, Ptr{UInt64}), 0, size, cpus.chunks)
    cpus[findall(cpus)[threads+1:end]] .= false
    for thread in parse.(Cint, readdir("/proc/self/task"))
        ccall(:sched_setaffinity, Cint, (Cint, Csize_t, Ptr{UInt64}), thread, size, cpus.chunks)
    end
end


const COMMANDS = Dict("load" => load, "call" => call, "run" => run, "check" => check, "keep" => keep,
                      "memory" => memory)


"Does what is asked until nobody asks."
function serve(answers)
    for line in eachline(stdin)
        asked = read_json(line)
        answer = COMMANDS[pop!(asked, :do)](; asked...)
        println(answers, write_json(answer))
        flush(answers)
    end
end


function main(path, threads)
    # nobody is left to ask, however the parent ended
    ccall(:prctl, Cint, (Cint, Culong), PR_SET_PDEATHSIG, Base.SIGKILL)
    hold(threads)
    answers = stdout
    redirect_stdout(stderr)     # whatever the program prints goes to the errors
    Base.include(program, path)
    Base.invokelatest(serve, answers)       # which knows what was included meanwhile
end


try
    main(ARGS[1], parse(Int, ARGS[2]))
catch problem
    println(stderr, "Error: ", replace(sprint(showerror, problem), r"\s+" => " "))
    exit(1)
end
