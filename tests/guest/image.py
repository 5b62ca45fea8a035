"""What a guest boots: the folder that becomes its root, and the cpio archive that the kernel unpacks into memory."""
import lzma
import os
import pathlib
import re
import shutil
import stat
import subprocess

MODULE_NAME = re.compile(r"\.ko(\.xz)?$")


def needed_libraries(elf):
    """The interpreter and the libraries that an ELF file asks for."""
    text = subprocess.run(["readelf", "-W", "-l", "-d", elf], capture_output=True, text=True, check=False).stdout
    return re.findall(r"Requesting program interpreter: (\S+)\]", text) + re.findall(r"\(NEEDED\).*\[(.+)\]", text)


def loaded_later(perf):
    """The libraries that perf isn't linked to and loads when a command needs them (src/base/library.h)."""
    return sorted({name.decode() for name in re.findall(rb"(lib(?:archive|capstone|ipt|pfm)\.so\.[0-9]+)\0", perf.read_bytes())})


class Root:
    """A root folder with merged /usr, built from programs, the libraries that they need, and kernel modules."""

    def __init__(self, folder, library_folders):
        self.folder = folder
        self.library_folders = library_folders
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "proc", "sys", "dev", "tmp", "root", "etc", "run", "test"):
            (folder / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (folder / name).symlink_to(f"usr/{name}")
        (folder / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
        (folder / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")

    def add_file(self, source, name):
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)

    def add_program(self, source, name):
        self.add_file(source, name)
        self.add_libraries_of(source)

    def add_libraries_of(self, elf):
        for needed in needed_libraries(elf):
            self.add_library(elf, needed)

    def add_library(self, elf, needed):
        """An interpreter keeps its path; a library gets to where the loader looks."""
        name = needed.lstrip("/") if needed.startswith("/") else "usr/lib/" + needed
        if (self.folder / name).exists():
            return
        for folder in self.library_folders:
            source = folder / needed.rpartition("/")[2]
            if source.exists():
                self.add_file(source, name)
                (self.folder / name).chmod(0o755)
                self.add_libraries_of(source)
                return
        raise FileNotFoundError(f"{elf} needs {needed}, which is in none of {', '.join(map(str, self.library_folders))}")

    def add_modules(self, kernel_folder, version, names):
        """The modules with what they depend on, and the modules.dep that modprobe reads."""
        base = kernel_folder / "lib/modules" / version
        paths = {MODULE_NAME.sub("", path.name).replace("-", "_"): path for path in base.rglob("*.ko*")}
        target = pathlib.Path("usr/lib/modules") / version
        lines, waiting, seen = [], [name.replace("-", "_") for name in names], set()
        while waiting:
            name = waiting.pop()
            if name in seen or name not in paths: # built into this kernel
                continue
            seen.add(name)
            data = paths[name].read_bytes()
            data = lzma.decompress(data) if paths[name].suffix == ".xz" else data
            where = re.sub(r"\.xz$", "", str(paths[name].relative_to(base)))
            (self.folder / target / where).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / target / where).write_bytes(data)
            depends = re.search(rb"\0depends=([^\0]*)\0", data)
            after = [word.replace("-", "_") for word in depends.group(1).decode().split(",") if word] if depends else []
            waiting += after
            lines.append((where, after))
        where_of = {MODULE_NAME.sub("", where.rpartition("/")[2]).replace("-", "_"): (where, after) for where, after in lines}
        text = "".join(f"{where}:{''.join(' ' + path for path in dependencies_of(after, where_of))}\n" for where, after in sorted(lines))
        (self.folder / target).mkdir(parents=True, exist_ok=True)
        (self.folder / target / "modules.dep").write_text(text)


def dependencies_of(names, where_of):
    """Paths of the modules that must be there first, the last one first, as depmod writes them."""
    paths = []
    for name in names:
        if name in where_of:
            where, after = where_of[name]
            paths += [where, *dependencies_of(after, where_of)]
    return list(dict.fromkeys(paths))


def cpio_entry(name, mode, data, number):
    """One member in the kernel's "newc" format (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    encoded = os.fsencode(name) + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def write_cpio(folder, output):
    """The folder as an archive in which everything belongs to root."""
    with open(output, "wb") as file:
        for number, path in enumerate(sorted(folder.rglob("*")), 1):
            mode = path.lstat().st_mode
            data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            file.write(cpio_entry(path.relative_to(folder), mode if not stat.S_ISDIR(mode) else stat.S_IFDIR | 0o755, data, number))
        file.write(cpio_entry("TRAILER!!!", 0, b"", 0))
