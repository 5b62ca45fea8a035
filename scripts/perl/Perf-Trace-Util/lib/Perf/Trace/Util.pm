package Perf::Trace::Util;

# Times and averages.

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(avg nsecs nsecs_secs nsecs_nsecs nsecs_usecs print_nsecs nsecs_str clear_term);
our @EXPORT_OK = @EXPORT;
our %EXPORT_TAGS = (all => \@EXPORT);
our $VERSION = '1.0';

my $NSECS_PER_SEC = 1_000_000_000;

sub avg
{
	my ($total, $n) = @_;

	return $total / $n;
}

sub nsecs
{
	my ($secs, $nsecs) = @_;

	return $secs * $NSECS_PER_SEC + $nsecs;
}

sub nsecs_secs { return int($_[0] / $NSECS_PER_SEC) }

sub nsecs_nsecs { return $_[0] % $NSECS_PER_SEC }

sub nsecs_usecs { return int(nsecs_nsecs($_[0]) / 1000) }

sub nsecs_str
{
	my ($nsecs) = @_;

	return sprintf('%5u.%09u', nsecs_secs($nsecs), nsecs_nsecs($nsecs));
}

sub print_nsecs { print nsecs_str($_[0]) }

# Empties the terminal.
sub clear_term { print "\x1b[H\x1b[2J" }

1;
