/* Makes /dev/md0, a RAID 0 of /dev/ram0, /dev/ram1, /dev/ram2 and a device-mapper device with the target "delay" over /dev/ram3, whose
 * reads take so many milliseconds: stripes MILLISECONDS. "stripes off" takes it down. By the ioctls of linux/dm-ioctl.h and
 * linux/raid/md_u.h. */
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <linux/major.h>
#include <linux/raid/md_p.h>
#include <linux/raid/md_u.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { CHUNK = 64 << 10, DISKS = 4 };

struct request {
	struct dm_ioctl head;
	struct dm_target_spec target;
	char words[200];
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void mapper(int control, unsigned long command, struct request *request)
{
	request->head.version[0] = DM_VERSION_MAJOR;
	request->head.data_size = sizeof(*request);
	request->head.data_start = sizeof(request->head);
	strcpy(request->head.name, "slow");
	if (ioctl(control, command, request))
		die("device mapper");
}

static int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags);
	if (fd < 0)
		die(path);
	return fd;
}

static int open_mapper(void)
{
	char text[200] = "";
	unsigned int minor = 0;
	FILE *file = fopen("/sys/class/misc/device-mapper/dev", "r");
	if (!file || !fgets(text, sizeof(text), file) || sscanf(text, "10:%u", &minor) != 1)
		die("/sys/class/misc/device-mapper/dev");
	fclose(file);
	mkdir("/dev/mapper", 0755);
	mknod("/dev/mapper/control", S_IFCHR | 0600, makedev(10, minor));
	return open_or_die("/dev/mapper/control", O_RDWR);
}

static dev_t make_slow(int control, const char *disk, int milliseconds)
{
	uint64_t bytes;
	struct request request = {0};
	if (ioctl(open_or_die(disk, O_RDWR), BLKGETSIZE64, &bytes))
		die(disk);
	mapper(control, DM_DEV_CREATE, &request);
	request = (struct request){.head.target_count = 1, .target = {.length = bytes / 512, .target_type = "delay"}};
	snprintf(request.words, sizeof(request.words), "%s 0 %d", disk, milliseconds);
	mapper(control, DM_TABLE_LOAD, &request);
	request = (struct request){0};
	mapper(control, DM_DEV_SUSPEND, &request); /* without DM_SUSPEND_FLAG: resume */
	return makedev(request.head.dev >> 8 & 0xfff, (request.head.dev & 0xff) | (request.head.dev >> 12 & 0xfff00));
}

static void make_array(int array, const dev_t *disks)
{
	mdu_array_info_t info = {.level = 0, .raid_disks = DISKS, .nr_disks = DISKS, .not_persistent = 1, .chunk_size = CHUNK};
	if (ioctl(array, SET_ARRAY_INFO, &info))
		die("SET_ARRAY_INFO");
	for (int i = 0; i < DISKS; i++) {
		mdu_disk_info_t disk = {.number = i,
					.raid_disk = i,
					.major = (int)major(disks[i]),
					.minor = (int)minor(disks[i]),
					.state = 1 << MD_DISK_ACTIVE | 1 << MD_DISK_SYNC};
		if (ioctl(array, ADD_NEW_DISK, &disk))
			die("ADD_NEW_DISK");
	}
	if (ioctl(array, RUN_ARRAY, NULL))
		die("RUN_ARRAY");
}

static int open_array(void)
{
	FILE *file = fopen("/sys/module/md_mod/parameters/new_array", "w");
	if (file) {
		fputs("md0", file);
		fclose(file);
	}
	mknod("/dev/md0", S_IFBLK | 0600, makedev(MD_MAJOR, 0));
	return open_or_die("/dev/md0", O_RDWR);
}

int main(int argc, char **argv)
{
	int control = open_mapper(), array = open_array();
	struct request request = {0};
	if (argc == 2 && !strcmp(argv[1], "off")) {
		if (ioctl(array, STOP_ARRAY, NULL))
			die("STOP_ARRAY");
		mapper(control, DM_DEV_REMOVE, &request);
		return 0;
	}
	dev_t disks[DISKS] = {makedev(1, 0), makedev(1, 1), makedev(1, 2)};
	disks[DISKS - 1] = make_slow(control, "/dev/ram3", argc == 2 ? atoi(argv[1]) : 30);
	make_array(array, disks);
	return 0;
}
