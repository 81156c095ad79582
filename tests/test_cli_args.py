"""What the command line takes, and how it refuses."""

import subprocess
import sys
from pathlib import Path

import pytest

from stele.commands.arguments import COMMANDS, Doctor, parse, run
from stele.commands.completion import completion
from stele.commands.options import (
    BenchOptions,
    CompletionOptions,
    FeatureOptions,
    LintOptions,
    ProfileOptions,
    RunsOptions,
    TrainOptions,
    TuneOptions,
)
from stele.commands.words import UsageError, workload_or_file
from stele.errors import DataError
from stele.train.run import Run


def test_train() -> None:
    assert parse(["train", "cnn"]) == TrainOptions("cnn", None, None, 64, 0, None, None)
    assert parse(["train", "gru", "--data", "d", "--epochs=2", "--batch-size", "8", "--seed", "7", "--threads", "2",
                  "--out", "o", "--lr", ".5", "--optimizer", "adamw"]) == TrainOptions(
                      "gru", Path("d"), 2, 8, 7, 2, Path("o"), 0.5, "adamw")
    assert parse(["train", "--resume", "r"]) == TrainOptions(None, None, None, None, None, None, None,
                                                             resume=Path("r"))


def test_features(tmp_path: Path) -> None:
    image, weights = tmp_path / "a.jpg", tmp_path / "w.safetensors"
    image.touch()
    weights.touch()
    got = parse(["features", "resnet50", str(image), str(image), f"--weights={weights}", f"--out={tmp_path / 'f.npy'}"])
    assert got == FeatureOptions("resnet50", (image, image), weights, tmp_path / "f.npy", 32, None)
    assert parse(["doctor"]) == Doctor()


def test_bench(tmp_path: Path) -> None:
    assert parse(["bench"]) == BenchOptions()
    python = tmp_path / "python"
    python.touch()
    got = parse(["bench", "--quick", "--workloads", "cnn,matmul-64", "--frameworks=stele,jax", "--threads", "3",
                 f"--python=jax={python}", "--html", f"{tmp_path}/a.html", "--accuracy", "run"])
    assert got == BenchOptions(("cnn", "matmul-64"), ("stele", "jax"), {"jax": python}, (), True, 3, (Path("run"),),
                               html=tmp_path / "a.html")


def test_lint(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.touch()
    assert parse(["lint", str(file)]) == LintOptions(file, (), frozenset(), False)
    assert parse(["lint", str(file), "--json", "--without", "host-sync", "--", "--epochs", "1"]) == \
        LintOptions(file, ("--epochs", "1"), frozenset({"host-sync"}), True)


def test_profile(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.touch()
    assert parse(["profile", str(file)]) == ProfileOptions(file, ())
    assert parse(["profile", str(file), "--trace=a.json", "--html", "a.html", "--", "-q"]) == \
        ProfileOptions(file, ("-q",), Path("a.json"), Path("a.html"))


def test_tune(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.touch()
    assert parse(["tune", "cnn"]) == TuneOptions(Path("cnn"), (), 60, None)
    assert parse(["tune", str(file), "--seconds", "5", "--threads=2", "--", "-q"]) == TuneOptions(file, ("-q",), 5, 2)


def test_shells_complete_commands_options_and_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["completion", "zsh"]) == CompletionOptions("zsh")
    pytest.importorskip("shtab", reason="pip install shtab")
    completion(CompletionOptions("bash"))
    script = capsys.readouterr().out
    for part in ("sgd adam adamw", "--sweep", "features", "host-sync", "cnn gru"):
        assert part in script.replace("' '", " ")


BAD = [
    ("trian cnn", "Did you mean train?"),
    ("train", "needs a workload, cnn or gru, or --resume RUN, or a file"),
    ("train rnn", "a workload needs to be cnn or gru, got 'rnn'"),
    ("train cnn gru", "stele train got gru, which it does not take. Try: stele train --help"),
    ("train cnn 3", "stele train got 3, which it does not take. Try: stele train --help"),
    ("train cnn adam", "stele train got adam, which it does not take. Did you mean --optimizer adam?"),
    ("train cnn --epoch 3", "Did you mean --epochs?"),
    ("train cnn --rate=3", "got --rate."),
    ("train cnn --learning-rate 3", "got --learning-rate. Did you mean --lr?"),
    ("train cnn -e 3", "got -e 3"),
    ("--verbose", "stele knows --help, --version, got --verbose. Did you mean --version?"),
    ("train cnn --epochs many", "--epochs needs a whole number, got 'many'"),
    ("train cnn --epochs 0", "--epochs needs a number in 1..100000, got 0"),
    ("train cnn --batch-size 0", "--batch-size needs"),
    ("train cnn --seed -1", "--seed needs"),
    ("train cnn --threads 1000000", "--threads needs"),
    ("train cnn --data", "needs a value after --data"),
    ("train cnn --out {file}", "--out needs a folder, got the file"),
    ("features", "needs {resnet50}, IMAGE"),
    ("features resnet18 {file}", "Did you mean resnet50?"),
    ("features resnet50", "needs IMAGE"),
    ("features resnet50 none.jpg", "an image needs to be an existing file, got nothing at none.jpg"),
    ("features resnet50 {folder}", "got the folder"),
    ("features resnet50 {file} --weights none.safetensors", "--weights needs an existing .safetensors file"),
    ("features resnet50 {file} --weights {file}", "--weights needs a .safetensors file"),
    ("features resnet50 {file} --out f.txt", "ending in .npy"),
    ("features resnet50 {file} --out none/f.npy", "a file to write needs an existing folder, got none. Make it first."),
    ("lint", "needs FILE"),
    ("lint nothing.py", "a file to run needs to exist, got nothing at nothing.py"),
    ("lint {file} --without host-sink", "Did you mean host-sync?"),
    ("lint {file} --epochs 3", "stele lint knows --help, --without, --json, got --epochs. Arguments of the file go"),
    ("tune", "needs WHAT"),
    ("tune rnn", "a workload needs to be cnn or gru or resnet50, got 'rnn'"),
    ("tune none.py", "got nothing at none.py. Is"),
    ("tune cnn --seconds 0", "--seconds needs a number in 1..86400, got 0"),
    ("doctor -- --all", "stele doctor runs no file that could take arguments"),
    ("bench eager-act", "stele bench got eager-act, which it does not take. Did you mean --workloads eager-act?"),
    ("bench mlp cnn --quick", "Did you mean --workloads mlp,cnn?"),
    ("bench jax", "Did you mean --frameworks jax?"),
    ("bench nothing", "stele bench got nothing, which it does not take. Try: stele bench --help"),
    ("profile {file} --chrome a.json", "stele profile knows --help, --trace, --html, got --chrome. Did you mean"),
    ("profile {file} --trace nowhere/a.json", "a file to write needs an existing folder, got nowhere"),
    ("lint {file} host-sync", "Did you mean --without host-sync?"),
    ("bench --workloads cn", "a workload needs to be one of cnn, gru"),
    ("bench --workloads matmul-1025", "Did you mean matmul-1024?"),
    ("bench --frameworks torch", "Did you mean pytorch?"),
    ("bench --python pytorch", "--python needs FRAMEWORK=PATH, got 'pytorch'"),
    ("bench --python torch={file}", "got 'torch'"),
    ("bench --python jax={folder}/none", "--python needs an existing interpreter"),
    ("bench --json none/rows.json", "a file to write needs an existing folder"),
    ("bench --json {folder}", "a file to write needs a name of its own, got the folder"),
    ("bench --markdown {folder}", "needs a name of its own"),
    ("bench --html {folder}", "Write a name behind it."),
    ("bench --frameworks=", "a list of frameworks needs a name, got ''. Leave the option out for all."),
    ("bench --workloads=,", "a list of workloads needs a name, got ','. Leave the option out for all."),
    ("completion fish", "a shell needs to be bash or zsh or tcsh, got 'fish'. Did you mean zsh?"),
    ("completion", "needs {bash,zsh,tcsh}"),
    ("doctor --all", "stele doctor knows --help, got --all"),
]


@pytest.mark.parametrize("words, message", BAD)
def test_bad_input_is_one_line(words: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    arguments = words.format(cnn="", resnet50="", file=tmp_path / "file", folder=tmp_path).split()
    before = sorted(tmp_path.rglob("*"))
    assert run(arguments, {}) == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith("error: ") and err.count("\n") == 1 and message in err
    assert sorted(tmp_path.rglob("*")) == before


def test_messages_are_distinct() -> None:
    assert len({message for _, message in BAD}) == len(BAD)


def test_errors_of_a_command_are_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(options: TrainOptions) -> None:
        raise DataError("a file needs this,\ngot that")
    assert run(["train", "cnn"], {TrainOptions: fail}) == 2
    assert capsys.readouterr().err == "error: a file needs this, got that\n"


def test_a_full_disk_is_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    def full(options: Doctor) -> None:
        raise OSError(28, "No space left on device", "runs/a/history.json")
    assert run(["doctor"], {Doctor: full}) == 2
    assert capsys.readouterr().err == "error: No space left on device: runs/a/history.json\n"


def test_who_stops_reading_gets_no_error() -> None:
    with subprocess.Popen([sys.executable, "-m", "stele", "doctor"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as child:
        assert child.stdout and child.stderr
        child.stdout.close()
        assert (child.stderr.read(), child.wait()) == ("", 141)


def test_ctrl_c_says_where_the_run_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(options: TrainOptions) -> None:
        with Run(tmp_path, {}):
            raise KeyboardInterrupt
    assert run(["train", "cnn"], {TrainOptions: interrupt}) == 130
    assert capsys.readouterr().err == \
        f"interrupted; the run so far is in {tmp_path}, go on with: stele train --resume {tmp_path}\n"


def test_ctrl_c_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(options: Doctor) -> None:
        raise KeyboardInterrupt
    assert run(["doctor"], {Doctor: interrupt}) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_defect_is_not_hidden() -> None:
    def defect(options: Doctor) -> None:
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError):
        run(["doctor"], {Doctor: defect})


@pytest.mark.parametrize("words", ["", "--help", "train --help", "features --help", "bench --help", "doctor --help",
                                   "--version"])
def test_help(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(words.split(), {})
    out, err = capsys.readouterr()
    assert ended.value.code == 0 and out and not err
    if words in ("", "--help", "train --help", "features --help"):
        assert ("stele train cnn" in out) == (words != "features --help")
        assert ("stele features resnet50 cat.jpg" in out) == (words != "train --help")



@pytest.mark.parametrize("width", [60, 80, 120])
def test_help_fits_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch,
                                capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for words in (["--help"], *([name, "--help"] for name in COMMANDS)):
        with pytest.raises(SystemExit):
            run(words, {})
        said = capsys.readouterr().out
        assert max(map(len, said.splitlines())) < width, f"{words}: {said}"
        assert "\t" not in said


def test_defaults_are_those_of_the_options(tmp_path: Path) -> None:
    file = str(tmp_path / "a.py")
    Path(file).touch()
    assert parse(["bench"]) == BenchOptions() and parse(["lint", file]) == LintOptions(Path(file))
    assert parse(["tune", file]) == TuneOptions(Path(file)) and parse(["runs", str(tmp_path)]) == RunsOptions(tmp_path)
    assert parse(["features", "resnet50", file]) == FeatureOptions("resnet50", (Path(file),))


@pytest.mark.parametrize("name, more", [("net.tml", r" Did you mean \.toml\?"), ("data.csv", "")])
def test_train_says_which_files_it_takes(name: str, more: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    with pytest.raises(UsageError, match=rf"end in \.py, a program, or in \.toml, .*, got .*{name}\.{more}"):
        workload_or_file(str(tmp_path / name))
