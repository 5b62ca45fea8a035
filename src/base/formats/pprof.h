/* Numbers of the fields of pprof's profiles (https://github.com/google/pprof/blob/main/proto/profile.proto), for who writes and who reads
 * them. */
#pragma once

enum pprof_profile_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE,
	PPROF_MAPPING,
	PPROF_LOCATION,
	PPROF_FUNCTION,
	PPROF_STRING,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_SAMPLE_TYPE = 14,
};
enum pprof_value_type_field { PPROF_VALUE_TYPE = 1, PPROF_VALUE_UNIT };
enum pprof_sample_field { PPROF_SAMPLE_LOCATION = 1, PPROF_SAMPLE_VALUE, PPROF_SAMPLE_LABEL };
enum pprof_label_field { PPROF_LABEL_KEY = 1, PPROF_LABEL_TEXT, PPROF_LABEL_NUMBER };
enum pprof_mapping_field {
	PPROF_MAPPING_ID = 1,
	PPROF_MAPPING_START,
	PPROF_MAPPING_LIMIT,
	PPROF_MAPPING_OFFSET,
	PPROF_MAPPING_FILE,
	PPROF_MAPPING_BUILD_ID,
	PPROF_MAPPING_HAS_FUNCTIONS
};
enum pprof_location_field { PPROF_LOCATION_ID = 1, PPROF_LOCATION_MAPPING, PPROF_LOCATION_ADDRESS, PPROF_LOCATION_LINE };
enum pprof_line_field { PPROF_LINE_FUNCTION = 1, PPROF_LINE_NUMBER };
enum pprof_function_field { PPROF_FUNCTION_ID = 1, PPROF_FUNCTION_NAME, PPROF_FUNCTION_SYSTEM_NAME, PPROF_FUNCTION_FILE };
