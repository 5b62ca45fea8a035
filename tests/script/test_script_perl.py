"""Scripts in Perl: the same script on the same recording, run by the kernel's perf and by ours, gives the same output."""
import os
import re
import subprocess

import pytest

RECORDINGS = {
    "switches": ["-a", "-g", "-m", "1M", "-e", "sched:sched_switch"],
    "calls": ["-e", "raw_syscalls:sys_enter"],
    "memory": ["-e", "kmem:kmalloc"],
    "samples": ["-g", "-e", "page-faults", "-c", "1"],
}

EVERYTHING = r"""
use Data::Dumper;
$Data::Dumper::Indent = 0; $Data::Dumper::Sortkeys = 1; $Data::Dumper::Terse = 1; $Data::Dumper::Useqq = 1;
use lib "$ENV{'PERF_EXEC_PATH'}/scripts/perl/Perf-Trace-Util/lib";
use Perf::Trace::Core;
use Perf::Trace::Context;
use Perf::Trace::Util;

sub show { my @words = @_; $words[1] = "context"; print Dumper(\@words), " ", common_pc($_[1]), " ", trace_flag_str(common_flags($_[1])), "\n"; }
sub trace_begin { print "begin @ARGV\n"; }
sub trace_end { print "end ", avg(9, 3), " ", nsecs(3, 7), "\n"; }
sub sched::sched_switch { show(@_); print flag_str("sched::sched_switch", "prev_state", $_[11]), "\n"; }
sub trace_unhandled { show(@_); }
"""

EVENTS = r"""
sub process_event {
	my ($event, $attr, $sample, $raw) = @_;
	print join(",", unpack("LSS", $event), unpack("LLQQQQQLLQQ", $attr), unpack("QLLQQQQQQQQQL", $sample), length($raw) // "none"), "\n";
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("script_perl")
    (path / "everything.pl").write_text(EVERYTHING)
    (path / "events.pl").write_text(EVENTS)
    return path


@pytest.fixture(scope="module")
def perl(perf):
    """This build has the plugin, and libperl is there."""
    built = perf.path.rsplit("/", 1)[0] + "/perf-perl.so"
    result = subprocess.run(["ldd", built], capture_output=True, text=True, check=False)
    if result.returncode or "libperl" not in result.stdout or "not found" in result.stdout:
        pytest.skip("this build has no plugin for Perl (package libperl-dev)")


@pytest.fixture(scope="module")
def record(folder, oracle, make_recorder):
    return make_recorder(oracle, folder, RECORDINGS, "ls", "-l", "/usr/share/perl", "/usr/bin")


@pytest.fixture(scope="module")
def speaks_perl(oracle, perl):
    if not re.search(r"libperl: \[ on", oracle("version", "--build-options").stdout):
        pytest.skip("this kernel's perf is built without Perl")


def lines_of(program, *words, cwd):
    result = program(*words, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.parametrize("name, script", [("switches", "everything.pl"), ("calls", "everything.pl"), ("memory", "everything.pl"),
                                          ("samples", "events.pl"), ("calls", "events.pl")])
def test_everything_that_scripts_get(perf, oracle, speaks_perl, record, folder, name, script):
    words = ["script", "-i", record(name), "-s", script, "one", "--two"]
    theirs, ours = lines_of(oracle, *words, cwd=folder), lines_of(perf, *words, cwd=folder)
    assert len(theirs) > 10 and len(ours) == len(theirs)
    different = [pair for pair in zip(theirs, ours) if pair[0] != pair[1]]
    # Symbols differ in a line here and there, as they do in the text of perf script.
    assert len(different) <= len(theirs) / 100, different[:3]


@pytest.mark.parametrize("name", ["switches", "calls", "memory"])
def test_skeletons(perf, oracle, speaks_perl, record, tmp_path, name):
    path = record(name)
    for maker in (oracle, perf):
        made = maker("script", "-i", path, "-g", "perl", cwd=tmp_path)
        assert "generated Perl script: perf-script.pl" in made.stdout + made.stderr
        text = (tmp_path / "perf-script.pl").read_text()
        # The kernel's own prints a Dumper's text for each event, and 0 for addresses without names.
        text = text.replace("sub process_event", "sub other_event").replace("$node{ip}", "$node->{ip}")
        (tmp_path / f"{'theirs' if maker is oracle else 'ours'}.pl").write_text(text)
    texts = {(script, runner): lines_of(runner, "script", "-i", path, "-s", script, cwd=tmp_path)
             for script in ("theirs.pl", "ours.pl") for runner in (oracle, perf)}
    assert len(texts["theirs.pl", oracle]) > 10
    for runner in (oracle, perf):
        assert texts["ours.pl", runner] == texts["theirs.pl", runner]
    different = [pair for pair in zip(texts["ours.pl", oracle], texts["ours.pl", perf]) if pair[0] != pair[1]]
    assert len(different) <= len(texts["ours.pl", oracle]) / 100, different[:3]


@pytest.mark.parametrize("text, status, output, message", [
    ("print 'top'; exit 3;", 3, "top", ""),
    ("sub trace_begin { exit 4 }", 4, "", ""),
    ("END { $? = 5 }", 5, "", ""),
    ("sub trace_end { system('exit 6') }", 0, "", ""),
    ("sub trace_begin { print 'a'; exit 0 } sub trace_end { print 'b' }", 0, "a", ""),
    ("sub trace_unhandled { die 'broken' }", 255, "", "broken"),
    ("sub trace_begin {", 255, "", "Missing right curly"),
])
def test_ends_of_scripts(perf, perl, record, folder, text, status, output, message):
    (folder / "case.pl").write_text(text)
    result = perf("script", "-i", record("calls"), "-s", "case.pl", cwd=folder)
    assert result.returncode == status and result.stdout == output
    assert message in result.stderr


def test_perl_of_another_version(perf, perl, record, folder, tmp_path):
    """A plugin is linked to one version's library: here there is none that can be loaded."""
    needed = subprocess.run(["readelf", "-d", perf.path.rsplit("/", 1)[0] + "/perf-perl.so"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"libperl\.so\.([0-9.]+)", needed).group(1)
    (tmp_path / f"libperl.so.{version}").write_text("no library")
    (folder / "case.pl").write_text("print 'text'")
    result = subprocess.run([perf.path, "script", "-i", record("calls"), "-s", "case.pl"], cwd=folder, env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
                            capture_output=True, text=True, check=False)
    assert result.returncode == 255 and not result.stdout
    assert f"Perl scripts require Perl {version}, for which the plugin" in result.stderr and f"install libperl{version}, or write the script in Python" in result.stderr


@pytest.mark.parametrize("text", ["print 'text'", "sub trace_end { print 'text' }", "END { print 'text' }", "$| = 1; sub trace_end { print 'text' or die $! }"])
def test_full_disk(perf, perl, record, folder, text):
    (folder / "case.pl").write_text(text)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = perf("script", "-i", record("calls"), "-s", "case.pl", cwd=folder, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode and "No space left" in done.stderr


def test_a_recording_cannot_call_into_modules(perf, perl, record, folder, tmp_path):
    """A tracepoint that is called like a function of a module that the script has loaded."""
    (folder / "Danger.pm").write_text("package other; sub x { print 'local' } 1;")
    data = record("calls").read_bytes()
    name, evil = b"name: sys_enter\n", b"name: basename\n\n"
    assert name in data and data.count(b"\0raw_syscalls\0") >= 1
    path = tmp_path / "evil.data"
    path.write_bytes(data.replace(name, evil[:len(name)]).replace(b"\0raw_syscalls\0", b"\0FileBasename\0"))
    (folder / "case.pl").write_text("package FileBasename; use Scalar::Util; *basename = \\&Scalar::Util::blessed; "
                                    "package main; sub trace_unhandled { $n++ } sub trace_end { print 'unhandled' if $n }")
    result = perf("script", "-i", path, "-s", "case.pl", cwd=folder)
    assert result.stdout == "unhandled", result.stderr


def test_a_recording_cannot_call_the_subs_of_a_script(perf, perl, record, folder, tmp_path):
    """A tracepoint main:kmalloc, and a script that has a sub of that name for its own use."""
    data = record("memory").read_bytes()
    path = tmp_path / "evil.data"
    assert b"\0kmem\0" in data
    path.write_bytes(data.replace(b"\0kmem\0", b"\0main\0"))
    (folder / "case.pl").write_text("sub kmalloc { print 'called' } sub trace_unhandled { $n++ } sub trace_end { print 'unhandled' if $n }")
    result = perf("script", "-i", path, "-s", "case.pl", cwd=folder)
    assert result.stdout == "unhandled", result.stderr
