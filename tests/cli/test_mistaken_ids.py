"""When two record page faults, context switches or the like at once, the kernel may give the samples of one the event id of the other."""
import own
import recording

FIELDS = "sample=IDENTIFIER|IP|TID|TIME flags=sample_id_all period=1"
CLOCK, FAULTS, SWITCHES = (f"event {name} {FIELDS} type=1 config={config} ids={number}\n"
                           for number, (name, config) in enumerate({"cpu-clock": 0, "page-faults": 2, "context-switches": 3}.items(), 1))
SAMPLES = "comm pid=7 tid=7 time=1 name=work id=1\n" + "".join(
    f"sample id={number} ip=0x401010 pid=7 tid=7 time={time}\n" for time, number in enumerate((1, 2, 71, 1), 10))


def named(result):
    return [line.strip().split(":")[0] for line in result.stdout.splitlines()]


def events(perf, tmp_path, text):
    (tmp_path / "made.data").write_bytes(recording.make(text))
    return perf("script", "-F", "event", "-i", tmp_path / "made.data")


def test_sample_of_the_only_event_that_it_can_be_of(perf, tmp_path):
    result = events(perf, tmp_path, CLOCK + FAULTS + SAMPLES)
    assert named(result) == ["cpu-clock", "page-faults", "page-faults", "cpu-clock"] and not result.stderr


def test_sample_that_could_be_of_two_events(perf, tmp_path):
    result = events(perf, tmp_path, CLOCK + FAULTS + SWITCHES + SAMPLES)
    assert named(result) == ["cpu-clock", "page-faults", "cpu-clock"]
    assert "skipped 1 broken record" in result.stderr and "the event id of another recorder" in result.stderr


def test_sample_that_no_event_can_have(perf, tmp_path):
    result = events(perf, tmp_path, CLOCK + SAMPLES.replace("id=2 ", "id=1 "))
    assert named(result) == ["cpu-clock"] * 4, "a single event has all samples"
    result = events(perf, tmp_path, CLOCK + CLOCK.replace("ids=1", "ids=2") + SAMPLES)
    assert len(result.stdout.split()) == 3 and "sample of an unknown event" in result.stderr


def test_recordings_of_tests_are_without_such(oracle, tmp_path):
    """tests/lib/own.py takes them out: the kernel's perf refuses the rest of the recording."""
    data = recording.make(CLOCK + FAULTS + SAMPLES)
    (tmp_path / "own.data").write_bytes(own.of(data))
    result = oracle("script", "-F", "event", "-i", tmp_path / "own.data")
    assert result.returncode == 0 and named(result) == ["cpu-clock", "page-faults", "cpu-clock"], result.stderr
