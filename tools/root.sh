# For tools that try something on a Debian where nothing is installed: a root made by debootstrap, kept as it was made, in which programs run as on a machine
# of their own. To be sourced; the tool needs root, debootstrap and a Debian mirror, the one of the host's apt, and sets $tool to its name.
# shellcheck shell=sh

# The exit status is 77 when such a root can't be had here.
cannot() {
	echo "$tool: $*"
	exit 77
}

# Comes first: does the rest of the tool in namespaces of its own, so that mounts go with it, and with --pid --fork what is started. Arguments: options of
# unshare, and the tool with its arguments.
in_namespaces() {
	[ -z "$INSIDE_NAMESPACES" ] || return 0
	[ "$(id -u)" = 0 ] || cannot "needs root"
	command -v debootstrap >/dev/null || cannot "debootstrap is not installed"
	INSIDE_NAMESPACES=1 exec unshare --mount "$@"
}

# make_root FOLDER SUITE [PACKAGE,...]
make_root() {
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
	mirror=${mirror:-http://deb.debian.org/debian}
	[ ! -e "$1/made" ] || return 0
	rm -rf "$1"
	mkdir -p "$1"
	echo "$tool: debootstrap $2 from $mirror"
	debootstrap --variant=minbase --include="ca-certificates${3:+,$3}" "$2" "$1/root" "$mirror" >"$1/log" 2>&1 || {
		tail -n 5 "$1/log"
		cannot "debootstrap failed"
	}
	# The host's proxies and certificates, and where it is the same Debian its sources with their keys.
	for part in /etc/apt/apt.conf /etc/apt/apt.conf.d; do
		[ ! -e "$part" ] || cp -a "$part" "$1/root${part%/*}/"
	done
	if [ "$2" = "$(. /etc/os-release && echo "$VERSION_CODENAME")" ]; then
		for part in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/trusted.gpg /etc/apt/trusted.gpg.d /etc/apt/keyrings /usr/share/keyrings; do
			[ ! -e "$part" ] || cp -a "$part" "$1/root${part%/*}/"
		done
	fi
	cp -aL /etc/ssl/certs/ca-certificates.crt "$1/root/etc/ssl/certs/" 2>/dev/null
	rm -f "$1/root/var/lib/dpkg/lock"*
	: >"$1/made"
}

# enter_root FOLDER: $fresh is that root; what is written goes to a layer above, which is thrown away.
enter_root() {
	work=$(mktemp -d) || exit 1
	mount -t tmpfs -o size=14g none "$work" && mkdir "$work/upper" "$work/work" "$work/merged" || cannot "can't mount a tmpfs"
	mount -t overlay -o "lowerdir=$1/root,upperdir=$work/upper,workdir=$work/work" none "$work/merged" || cannot "can't mount an overlay"
	trap leave_root EXIT
	fresh=$work/merged
	mount -t proc proc "$fresh/proc" && mount --rbind /sys "$fresh/sys" && mount --rbind /dev "$fresh/dev" || cannot "can't mount /proc, /sys and /dev"
	cp -L /etc/resolv.conf "$fresh/etc/resolv.conf"
	cp /etc/hosts "$fresh/etc/hosts"
	chmod 0700 "$fresh/root"
}

leave_root() {
	umount -R -l "$work"
	rmdir "$work"
	trap - EXIT
}

# inside COMMAND: by a shell that ends with the first failure. It is the root of its mount namespace, as on a machine of its own: in a mere chroot the kernel
# tells paths from the root above.
inside() {
	unshare --mount sh -c 'cd "$0" && mkdir -p .old && pivot_root . .old && umount -l .old && rmdir .old && exec chroot . "$@"' "$fresh" \
		env -i HOME=/root LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin ${http_proxy:+http_proxy="$http_proxy"} \
		${https_proxy:+https_proxy="$https_proxy"} sh -ec "cd /root; $1" </dev/null
}
