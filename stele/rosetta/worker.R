# Runs one program of the benchmark in R, told what to do line by line, as worker.py does of those in Python.
#
#     Rscript worker.R PROGRAM THREADS
#
# A line on standard input is a JSON object {"do": ..., ...}, the answer to it one on standard output. It needs nothing
# beside R, which reads neither JSON nor NumPy's files by itself, and what the program attaches. R keeps columns of an
# array together where NumPy keeps rows: arrays have their axes in reverse here, a row of others is a column, and memory
# is the same.

SAMPLE <- 131072      # elements that are kept of a result
TICKS <- as.numeric(system2("getconf", "CLK_TCK", stdout = TRUE))

program <- new.env(parent = parent.env(globalenv()))  # what the file of the program defines
renew <- NULL         # makes its state as it was at the beginning, its switches on or off
state <- NULL         # what a call is of
things <- NULL
learns <- FALSE       # whether a call changes the state, and gives a loss
quick <- TRUE         # whether the last call was short


load <- function(mode, inputs, weights = NULL, trains = FALSE, ...) {
  # Makes the model anew, on weights of the files in a folder where they are given, and its inputs of those in another.
  state <<- things <<- NULL
  gc()
  files <- function(folder) sort(list.files(folder, full.names = TRUE))
  given <- list()
  if (!is.null(weights)) {
    given$weights <- setNames(lapply(files(weights), read_npy), sub("\\.npy$", "", basename(files(weights))))
  }
  switches <- list(...)
  renew <<- function(on) {
    switches[] <- on
    state <<- do.call(program$initialise, c(list(mode), given, switches))
  }
  renew(TRUE)
  things <<- program$place(mode, lapply(files(inputs), read_npy))
  learns <<- trains
  quick <<- TRUE
  gc()
  cat("5", file = "/proc/self/clear_refs")
  list()
}


step <- function() program$step(state, things)


call <- function() {
  # One call: the seconds it took.
  start <- now()
  step()
  seconds <- now() - start
  quick <<- seconds < 0.05
  list(seconds = seconds)
}


run <- function(seconds, least = 1, most = 2000) {
  # Calls for some time: the milliseconds of each, and how many CPUs others were using meanwhile.
  if (quick) step()     # wakes the threads
  busy <- busy_seconds()
  own <- own_seconds()
  begin <- now()
  times <- numeric(0)
  while (length(times) < least || (length(times) < most && now() - begin < seconds)) {
    start <- now()
    step()
    times <- c(times, (now() - start) * 1e3)
  }
  wall <- now() - begin
  others <- (busy_seconds() - busy) - (own_seconds() - own)
  quick <<- tail(times, 1) < 50
  list(ms = as.list(times), foreign = if (wall > 0.1) others / wall else 0)
}


check <- function(path, steps, seconds) {
  # Leaves samples of all results in a folder of .npy files: gradients and the losses of training, or what a step gives.
  #
  # Stops short of `steps` when that many seconds have passed since the first one; says how many there were, and the
  # seconds of the first.
  if (learns) {
    done <- training(steps, seconds)
  } else {
    begin <- now()
    done <- list(found = program$evaluate(state, things), steps = 0, seconds = now() - begin)
  }
  found <- done$found
  dir.create(path)
  for (name in names(found)) {
    write_npy(file.path(path, paste0(name, ".npy")), sampled(found[[name]]))
    write_npy(file.path(path, paste0("norm of ", name, ".npy")), euclidean(found[[name]]))
  }
  done[c("steps", "seconds")]
}


training <- function(steps, seconds) {
  # Results of training with all switches off, how many steps it took, and the seconds of the first.
  renew(FALSE)
  first <- program$gradients(state, things)
  begin <- now()
  losses <- step()
  end <- now()
  while (length(losses) < steps && now() < end + seconds) losses <- c(losses, step())
  found <- setNames(first[[2]], paste("gradient of", names(first[[2]])))
  found[c("first loss", "losses")] <- list(first[[1]], losses)
  if (length(losses) == steps) found[["loss after training"]] <- program$evaluate(state, things)[[1]]
  renew(TRUE)
  list(found = found, steps = length(losses), seconds = end - begin)
}


keep <- function() {
  # R cannot tell the C allocator to keep the memory that is freed: only what it is started with does.
  list(kept = FALSE)
}


memory <- function() {
  # The most megabytes the process held since `load`.
  line <- grep("^VmHWM:", readLines("/proc/self/status"), value = TRUE)
  list(mb = as.numeric(gsub("[^0-9]", "", line)) / 1024)
}


sampled <- function(x) {
  # Elements spread evenly over an array.
  x[seq(1, length(x), by = ceiling(length(x) / SAMPLE))]
}


euclidean <- function(x) {
  # The norm of the whole, by pieces, so that no second array is as large.
  starts <- seq(1, length(x), by = SAMPLE)
  sqrt(sum(vapply(starts, function(k) sum(as.numeric(x[k:min(k + SAMPLE - 1, length(x))])^2), 0)))
}


now <- function() {
  # Seconds; proc.time() counts whole milliseconds.
  as.numeric(Sys.time())
}


own_seconds <- function() {
  # Seconds that CPUs have worked for this process.
  sum(proc.time()[c("user.self", "sys.self")])
}


busy_seconds <- function() {
  # Seconds that all CPUs have worked so far.
  fields <- as.numeric(strsplit(readLines("/proc/stat", 1), " +")[[1]][2:9])
  sum(fields[-c(4, 5)]) / TICKS     # but those that they were idle or waited
}


read_npy <- function(path) {
  # The array in a file of NumPy's, its axes in reverse; a text where it holds one.
  file <- file(path, "rb")
  on.exit(close(file))
  readBin(file, "raw", 8)       # what files of version 1.0 begin with
  header <- readChar(file, readBin(file, "integer", 1, size = 2, signed = FALSE, endian = "little"))
  part <- function(pattern) regmatches(header, regexec(pattern, header))[[1]][[2]]
  shape <- as.integer(strsplit(gsub("[^0-9,]", "", part("'shape': \\(([^)]*)\\)")), ",")[[1]])
  type <- part("'descr': '([^']*)'")
  if (part("'fortran_order': (\\w+)") != "False") {
    stop("the columns of an array are together, where this worker reads rows")
  }
  size <- as.integer(substring(type, 3))
  x <- switch(substr(type, 1, 2),
              "<f" = readBin(file, "double", prod(shape), size, endian = "little"),
              "<i" = read_integers(file, prod(shape), size),
              "<U" = intToUtf8(readBin(file, "integer", size, endian = "little")),
              stop("numbers of type ", type, " are none that this worker reads"))
  if (length(shape) > 1) dim(x) <- rev(shape)
  x
}


read_integers <- function(file, count, size) {
  # Integers of 32 bits, the longest that R has, out of those of 32 or 64.
  words <- matrix(readBin(file, "integer", count * size / 4, 4, endian = "little"), size / 4)
  if (size == 8 && !isTRUE(all(words[2, ] == -(words[1, ] < 0)))) stop("R has no integers of more than 32 bits")
  words[1, ]
}


write_npy <- function(path, x) {
  # A file of NumPy's with numbers in a row.
  file <- file(path, "wb")
  on.exit(close(file))
  header <- sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }\n", length(x))
  writeBin(c(as.raw(0x93), charToRaw("NUMPY"), as.raw(c(1, 0))), file)
  writeBin(nchar(header), file, size = 2, endian = "little")
  writeChar(header, file, eos = NULL)
  writeBin(as.double(x), file, endian = "little")
}


read_json <- function(text) {
  # The object in a line: texts, numbers, true, false, null and further objects, under names.
  words <- regmatches(text, gregexpr('"(\\\\.|[^"\\\\])*"|[{}:,]|[^{}:,[:space:]]+', text))[[1]]
  at <- 0
  following <- function() words[[at <<- at + 1]]
  value <- function(word) {
    switch(substr(word, 1, 1), "{" = members(list()), "\"" = str2lang(word), t = TRUE, f = FALSE, n = NULL,
           as.numeric(word))
  }
  members <- function(found) {
    word <- following()
    if (word == "}") return(found)
    if (word == ",") return(members(found))
    following()         # the colon
    found[str2lang(word)] <- list(value(following()))
    members(found)
  }
  value(following())
}


write_json <- function(found) {
  # A list of numbers, truths and lists of numbers as a line.
  value <- function(x) {
    if (is.list(x)) return(sprintf("[%s]", paste(vapply(x, value, ""), collapse = ", ")))
    if (is.logical(x)) tolower(x) else sprintf("%.12g", x)
  }
  sprintf("{%s}", paste(sprintf("\"%s\": %s", names(found), vapply(found, value, "")), collapse = ", "))
}


serve <- function(path, threads) {
  # Does what is asked until nobody asks.
  parallel::mcaffinity(head(parallel::mcaffinity(), threads))
  Sys.setlocale("LC_CTYPE", "C.UTF-8")      # as Python has names of files, whatever the locale is
  answers <- file("/dev/stdout", "w")
  sink(stderr())        # whatever the program prints goes to the errors
  commands <- list(load = load, call = call, run = run, check = check, keep = keep, memory = memory)
  for (part in parse(path)) {
    eval(part, program)
    parent.env(program) <- parent.env(globalenv())      # with the packages that this part attached
  }
  asking <- file("stdin", "r")
  while (length(line <- readLines(asking, 1))) {
    asked <- read_json(line)
    answer <- do.call(commands[[asked$do]], asked[names(asked) != "do"])
    writeLines(write_json(answer), answers)
    flush(answers)
  }
}


given <- commandArgs(TRUE)
tryCatch(serve(given[[1]], as.integer(given[[2]])), error = function(e) {
  cat("Error:", gsub("\\s+", " ", conditionMessage(e)), "\n", file = stderr())
  quit(status = 1)
})
