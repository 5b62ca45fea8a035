"""What is used of public definitions of messages, and protoc, which decodes by them."""
import shutil
import subprocess

import pytest

# pprof's profile.proto.
PPROF = """syntax = "proto3";
message Profile { repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3; repeated Location location = 4;
  repeated Function function = 5; repeated string string_table = 6; int64 time_nanos = 9; int64 duration_nanos = 10; ValueType period_type = 11; int64 period = 12; repeated int64 comment = 13;
  int64 default_sample_type = 14; }
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; repeated Label label = 3; }
message Label { int64 key = 1; int64 str = 2; int64 num = 3; }
message Mapping { uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; uint64 file_offset = 4; int64 filename = 5; int64 build_id = 6;
  bool has_functions = 7; bool has_filenames = 8; bool has_line_numbers = 9; bool has_inline_frames = 10; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; }
message Line { uint64 function_id = 1; int64 line = 2; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; }
"""

# OpenTelemetry's profiles, v1development, as a request to a collector has them.
OTLP = """syntax = "proto3";
message Data { repeated ResourceProfiles resource_profiles = 1; Dictionary dictionary = 2; }
message Dictionary { repeated Mapping mapping_table = 1; repeated Location location_table = 2; repeated Function function_table = 3; repeated Link link_table = 4;
  repeated string string_table = 5; repeated Attribute attribute_table = 6; repeated Stack stack_table = 7; }
message ResourceProfiles { Resource resource = 1; repeated ScopeProfiles scope_profiles = 2; }
message Resource { repeated KeyValue attributes = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; int64 int_value = 3; } }
message ScopeProfiles { Scope scope = 1; repeated Profile profiles = 2; }
message Scope { string name = 1; string version = 2; }
message Profile { ValueType sample_type = 1; repeated Sample samples = 2; fixed64 time_unix_nano = 3; uint64 duration_nano = 4; ValueType period_type = 5; int64 period = 6;
  bytes profile_id = 7; }
message ValueType { int32 type_strindex = 1; int32 unit_strindex = 2; }
message Sample { int32 stack_index = 1; repeated int32 attribute_indices = 2; int32 link_index = 3; repeated int64 values = 4; }
message Mapping { uint64 memory_start = 1; uint64 memory_limit = 2; uint64 file_offset = 3; int32 filename_strindex = 4; repeated int32 attribute_indices = 5; }
message Location { int32 mapping_index = 1; uint64 address = 2; repeated Line lines = 3; }
message Line { int32 function_index = 1; int64 line = 2; }
message Function { int32 name_strindex = 1; int32 system_name_strindex = 2; int32 filename_strindex = 3; }
message Link { bytes trace_id = 1; }
message Stack { repeated int32 location_indices = 1; }
message Attribute { int32 key_strindex = 1; AnyValue value = 2; int32 unit_strindex = 3; }
"""

# Pyroscope's push.v1 and types.v1.
PYROSCOPE = """syntax = "proto3";
message PushRequest { repeated Series series = 1; }
message Series { repeated Label labels = 1; repeated Sample samples = 2; }
message Label { string name = 1; string value = 2; }
message Sample { bytes raw_profile = 1; string ID = 2; }
"""


def protoc(tmp_path, schema, message, data):
    if not shutil.which("protoc"):
        pytest.skip("protoc is not installed (package protobuf-compiler)")
    (tmp_path / "schema.proto").write_text(schema)
    done = subprocess.run(["protoc", f"--proto_path={tmp_path}", f"--decode={message}", "schema.proto"], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()
