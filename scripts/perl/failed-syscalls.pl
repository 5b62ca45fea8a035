# Counts system calls that failed, by program: perf script report failed-syscalls [comm].
use strict;
use warnings;
use lib "$ENV{'PERF_EXEC_PATH'}/scripts/perl/Perf-Trace-Util/lib";
use Perf::Trace::Core;
use Perf::Trace::Context;
use Perf::Trace::Util;

my $for_comm = shift;
my %failures;

sub raw_syscalls::sys_exit
{
	my ($event_name, $context, $common_cpu, $common_secs, $common_nsecs, $common_pid, $common_comm, $common_callchain, $id, $ret) = @_;

	$failures{$common_comm}++ if $ret < 0 && $ret >= -4095 && (!defined $for_comm || $common_comm eq $for_comm);
}

sub trace_end
{
	print "\nSystem calls that failed\n\n";
	printf("%-20s %10s\n", "comm", "failed");
	printf("%-20s %10s\n", "-" x 20, "-" x 10);
	printf("%-20s %10d\n", $_, $failures{$_}) foreach sort { $failures{$b} <=> $failures{$a} || $a cmp $b } keys %failures;
}
