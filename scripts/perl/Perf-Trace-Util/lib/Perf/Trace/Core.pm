package Perf::Trace::Core;

# Names of flags and symbolic values. perf calls the define_*() functions before the first event of a tracepoint, with what its print format says.

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(
	define_flag_field define_flag_value flag_str dump_flag_fields
	define_symbolic_field define_symbolic_value symbol_str dump_symbolic_fields
	trace_flag_str
);
our @EXPORT_OK = @EXPORT;
our %EXPORT_TAGS = (all => \@EXPORT);
our $VERSION = '1.0';

# enum trace_flag_type of the kernel
my @trace_flags = ([0x01, 'IRQS_OFF'], [0x02, 'IRQS_NOSUPPORT'], [0x04, 'NEED_RESCHED'], [0x08, 'HARDIRQ'], [0x10, 'SOFTIRQ']);

# event → field → { delimiter, names }
my %flag_fields;
my %symbolic_fields;

# The common_flags of an event in words.
sub trace_flag_str
{
	my ($value) = @_;

	return 'NONE' unless $value;
	return join(' | ', map { $_->[1] } grep { $value & $_->[0] } @trace_flags);
}

sub define_flag_field
{
	my ($event, $field, $delimiter) = @_;

	$flag_fields{$event}{$field}{delimiter} = $delimiter;
}

sub define_flag_value
{
	my ($event, $field, $value, $name) = @_;

	$flag_fields{$event}{$field}{names}{$value} = $name;
}

sub define_symbolic_field
{
	my ($event, $field) = @_;

	$symbolic_fields{$event}{$field}{names} //= {};
}

sub define_symbolic_value
{
	my ($event, $field, $value, $name) = @_;

	$symbolic_fields{$event}{$field}{names}{$value} = $name;
}

# The names of the bits of a value, joined as the kernel joins them.
sub flag_str
{
	my ($event, $field, $value) = @_;
	my $known = exists $flag_fields{$event} ? $flag_fields{$event}{$field} : undef;

	return '' unless $known;
	return $known->{names}{0} // '' unless $value;
	my @words;
	foreach my $bits (sort { $a <=> $b } keys %{$known->{names}}) {
		next unless $bits && ($value & $bits) == $bits;
		push @words, $known->{names}{$bits};
		$value &= ~$bits;
	}
	return join(length($known->{delimiter} // '') ? " $known->{delimiter} " : ' ', @words);
}

# The name of a value.
sub symbol_str
{
	my ($event, $field, $value) = @_;
	my $known = exists $symbolic_fields{$event} ? $symbolic_fields{$event}{$field} : undef;

	return $known ? $known->{names}{$value} // '' : '';
}

sub dump_fields
{
	my ($fields) = @_;

	foreach my $event (sort keys %$fields) {
		print "event $event:\n";
		foreach my $field (sort keys %{$fields->{$event}}) {
			my $known = $fields->{$event}{$field};
			print "    field: $field:\n";
			print "        delim: $known->{delimiter}\n" if defined $known->{delimiter};
			printf("            value: %d %s\n", $_, $known->{names}{$_}) foreach sort { $a <=> $b } keys %{$known->{names}};
		}
	}
}

sub dump_flag_fields { dump_fields(\%flag_fields) }

sub dump_symbolic_fields { dump_fields(\%symbolic_fields) }

1;
