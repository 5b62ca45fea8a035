package Perf::Trace::Context;

# What a handler may ask about the event that it is called for. The functions are in perf itself:
#
#	common_pc($context), common_flags($context), common_lock_depth($context)

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(common_pc common_flags common_lock_depth);
our @EXPORT_OK = @EXPORT;
our %EXPORT_TAGS = (all => \@EXPORT);
our $VERSION = '1.0';

1;
