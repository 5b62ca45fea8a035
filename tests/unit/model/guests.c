/* Guests: machines of their own, whose files are in the host's list. */
#include "model/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PID = 100, FIRST = 8888, SECOND = 9999, MODE_KERNEL = 1, MODE_USER = 2, MODE_GUEST_KERNEL = 4, MODE_GUEST_USER = 5 };
enum { ADDRESS = 0x400000, SIZE = 0x1000 };
static const uint64_t NEVER = UINT64_MAX, KERNEL = 0xffffffff81000000;

/* A process with a file, and a kernel. */
static void fill(struct machine *machine, const char *comm)
{
	const struct map_description file = {.pid = PID, .tid = PID, .start = ADDRESS, .end = ADDRESS + SIZE, .name = "/bin/x", .inode = 7};
	const struct map_description kernel = {.start = KERNEL, .end = KERNEL + SIZE, .name = "[kernel.kallsyms]_text"};
	machine_add_comm(machine, PID, PID, comm, false, 1);
	machine_add_map(machine, &file, 2);
	machine_add_kernel_map(machine, &kernel, 0);
}

static const struct dso *dso_at(struct machine *host, struct machine *machine, uint8_t mode, uint64_t address)
{
	const struct map *map = maps_find(machine_maps(host, machine_thread(machine, PID, NEVER), mode), address, NEVER);
	return map ? map->dso : NULL;
}

static const char *comm_of(struct machine *machine)
{
	return untrusted_raw(thread_comm(machine_thread(machine, PID, NEVER), NEVER));
}

static void nothing_is_shared(void **state)
{
	struct machine *host = machine_create(), *first = machine_add_guest(host, FIRST), *second = machine_add_guest(host, SECOND);
	assert_ptr_equal(machine_add_guest(host, FIRST), first);
	assert_ptr_equal(machine_of_guest(host, SECOND), second);
	assert_ptr_equal(machine_of_guest(host, 0), host);
	assert_ptr_equal(machine_of_guest(host, 7), host);
	fill(host, "host");
	fill(first, "first");
	fill(second, "second");
	assert_string_equal(comm_of(host), "host");
	assert_string_equal(comm_of(first), "first");
	assert_string_equal(comm_of(second), "second");

	struct machine *const machines[] = {host, first, second};
	const char *const kernels[] = {"[kernel.kallsyms]", "[guest.kernel.kallsyms.8888]", "[guest.kernel.kallsyms.9999]"};
	for (size_t i = 0; i < 3; i++) {
		const struct dso *file = dso_at(host, machines[i], i ? MODE_GUEST_USER : MODE_USER, ADDRESS);
		const struct dso *kernel = dso_at(host, machines[i], i ? MODE_GUEST_KERNEL : MODE_KERNEL, KERNEL);
		assert_int_equal(file->guest_pid, machines[i]->guest_pid);
		assert_string_equal(file->name, "/bin/x");
		assert_string_equal(kernel->name, kernels[i]);
		assert_ptr_equal(host->dsos.data[file->index], file);
		assert_ptr_equal(host->dsos.data[kernel->index], kernel);
		assert_ptr_equal(dso_at(host, machines[i], MODE_KERNEL, KERNEL), kernel); /* as chains have it */
	}
	assert_null(dso_at(host, host, MODE_GUEST_USER, ADDRESS));
	assert_int_not_equal(maps_epoch(first->kernel_maps, NEVER), maps_epoch(second->kernel_maps, NEVER));
	machine_destroy(host);
}

/* What options tell of guests' kernels is for those whose recordings tell nothing, too. */
static void a_kernel_of_options(void **state)
{
	struct machine *host = machine_create(), *guest = machine_add_guest(host, FIRST);
	machine_add_comm(guest, PID, PID, "guest", false, 1);
	machine_add_guest_kernel(host, 0, KERNEL, KERNEL + SIZE);
	assert_string_equal(dso_at(host, guest, MODE_GUEST_KERNEL, KERNEL)->name, "[guest.kernel.kallsyms]");
	machine_add_guest_kernel(host, FIRST, KERNEL, KERNEL + SIZE);
	assert_string_equal(dso_at(host, guest, MODE_GUEST_KERNEL, KERNEL)->name, "[guest.kernel.kallsyms.8888]");
	machine_destroy(host);
}

static void a_build_id_is_one_machines(void **state)
{
	struct machine *host = machine_create(), *guest = machine_add_guest(host, FIRST);
	const struct buildid id = {.size = 20, .data = {1}};
	machine_note_build_id(guest, "/bin/x", &id, false, false);
	machine_note_build_id(guest, "[guest.kernel.kallsyms.8888]", &id, true, true);
	fill(host, "host");
	fill(guest, "guest");
	assert_int_equal(dso_at(host, host, MODE_USER, ADDRESS)->build_id.size, 0);
	assert_int_equal(dso_at(host, host, MODE_KERNEL, KERNEL)->build_id.size, 0);
	assert_int_equal(dso_at(host, guest, MODE_GUEST_USER, ADDRESS)->build_id.size, 20);
	assert_int_equal(dso_at(host, guest, MODE_GUEST_KERNEL, KERNEL)->build_id.size, 20);
	machine_destroy(host);
}

static void guests_outlive_an_epoch(void **state)
{
	struct machine *host = machine_create(), *guest = machine_add_guest(host, FIRST);
	fill(host, "host");
	fill(guest, "guest");
	const struct thread *thread = machine_thread(guest, PID, NEVER);
	for (unsigned int i = 0; i < 3; i++)
		machine_forget(host, 1000, NULL, NULL);
	assert_ptr_equal(machine_thread(guest, PID, NEVER), thread);
	assert_string_equal(comm_of(guest), "guest");
	assert_string_equal(dso_at(host, guest, MODE_GUEST_USER, ADDRESS)->name, "/bin/x");
	assert_int_equal(dso_at(host, guest, MODE_GUEST_USER, ADDRESS)->generation, host->generation);
	machine_finish(host);
	assert_string_equal(untrusted_raw(thread_comm(machine_thread_or_new(guest, 7, 7, 5), 5)), ":7");
	machine_destroy(host);
}

int model_guests_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_shared),
		cmocka_unit_test(a_kernel_of_options),
		cmocka_unit_test(a_build_id_is_one_machines),
		cmocka_unit_test(guests_outlive_an_epoch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
