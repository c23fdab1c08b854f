/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vfs_linux.c - a file system of the Linux kernel, mounted in the virtual machine.
 *
 * Calls are system calls below the mount point. Each ends with a replay of what the kernel did to
 * the flash meanwhile, also in its own threads: what they do later counts in the next call.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mtd/ubi-user.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest_flash.h"
#include "guest_kernel.h"
#include "guest_server.h"
#include "linux_peers.h"

#define MOUNT_POINT "/mnt"
#define STAGE "/stage"              /* of a read-only file system: what its image is made from */
#define IMAGE "/image"
#define POWER_OFF "/sys/module/nf2_mtd_probe/parameters/power_off"
#define UBI_CONTROL "/dev/ubi_ctrl"
#define PATH_BYTES (VFS_PATH_MAX + 16)

struct linux_fs {
    const struct linux_peer *peer;
    struct guest_flash flash;
    bool mounted, attached;
    bool staging;                   /* read-only: calls go to the stage */
    uint64_t bytes_before;          /* what the kernel held before this mount */
    uint64_t bytes_most;            /* and the most that it held above that before an unmount */
    uint64_t image_bytes;
    struct guest_server server;     /* of FUSE */
    uint32_t mounts;                /* of the file system itself, not of the stage */
    /* Of the flash at the last mount: UBI, the mount, and what threads did then. */
    uint64_t attach_us, mount_us, after_mount_us;
    /* Of the machine, for UBI and the mount: with QEMU's -icount a nanosecond is an instruction. */
    uint64_t mount_clock_us;
};

struct linux_file {
    int fd;
    bool writes, append;
};

/* The result of a call, once the chip has done what it caused. */
static int done(struct linux_fs *fs, int result)
{
    int replayed = guest_flash_replay(&fs->flash);
    return replayed < 0 ? VFS_ERR_IO : result;
}

static int error_of(int result)
{
    return result < 0 ? -errno : 0;
}

static void full_path(const struct linux_fs *fs, const char *path, char *out)
{
    snprintf(out, PATH_BYTES, "%s%s", fs->staging ? STAGE : MOUNT_POINT, path);
}

/* ---- UBI ------------------------------------------------------------------------------------- */

static int ubi_control(unsigned long request, void *argument)
{
    int device = open(UBI_CONTROL, O_RDWR | O_CLOEXEC);
    int result = device < 0 ? -errno : error_of(ioctl(device, request, argument));
    close(device);
    return result;
}

static int attach(struct linux_fs *fs)
{
    struct ubi_attach_req request = {.ubi_num = 0, .mtd_num = 0};
    int result = fs->attached ? 0 : ubi_control(UBI_IOCATT, &request);
    fs->attached = result == 0;
    return result;
}

static int detach(struct linux_fs *fs)
{
    int32_t number = 0;
    int result = fs->attached ? ubi_control(UBI_IOCDET, &number) : 0;
    fs->attached = fs->attached && result != 0;
    return result;
}

/* One volume that takes all the space. */
static int make_volume(void)
{
    struct ubi_mkvol_req request = {.vol_id = UBI_VOL_NUM_AUTO,
                                    .alignment = 1,
                                    .vol_type = UBI_DYNAMIC_VOLUME,
                                    .name_len = 6,
                                    .name = "volume"};
    request.bytes = guest_number("/sys/class/ubi/ubi0/avail_eraseblocks") *
                    guest_number("/sys/class/ubi/ubi0/eraseblock_size");
    int device = open("/dev/ubi0", O_RDWR | O_CLOEXEC);
    int result = device < 0 ? -errno : error_of(ioctl(device, UBI_IOCMKVOL, &request));
    close(device);
    return result;
}

/* ---- volumes --------------------------------------------------------------------------------- */

static int run_command(const char *command)
{
    int status = system(command);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : VFS_ERR_IO;
}

static int linux_format(void *context)
{
    struct linux_fs *fs = context;
    int result = fs->mounted ? VFS_ERR_INVAL : guest_flash_blank(&fs->flash, fs->peer->markers);
    if (result == 0 && fs->peer->ubi) {
        result = attach(fs);
        result = result == 0 ? make_volume() : result;
        int settled = guest_flash_settle(&fs->flash);
        int detached = detach(fs);
        result = result != 0 ? result : settled != 0 ? settled : detached;
    }
    if (result == 0 && fs->peer->fuse) {
        result = guest_server_format(fs->flash.chip);
    }
    if (result == 0 && fs->peer->make_image != NULL) {
        fs->staging = true;
        result = run_command("rm -rf " STAGE " && mkdir " STAGE);
    }
    return done(fs, result);
}

static uint64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t flash_us(const struct linux_fs *fs)
{
    return fs->flash.foreground_us + fs->flash.background_us;
}

/* What the kernel's threads do once the volume is mounted is a part of the call. */
static int mount_volume(struct linux_fs *fs)
{
    uint64_t start_us = flash_us(fs), clock_start_us = clock_us();
    int result = fs->peer->ubi ? attach(fs) : 0;
    uint64_t clock_attached_us = clock_us();
    result = done(fs, result);
    uint64_t attached_us = flash_us(fs), clock_mount_us = clock_us();
    if (result == 0) {
        result = fs->peer->fuse ? guest_server_mount(&fs->server, fs->flash.chip, MOUNT_POINT) :
                                  error_of(mount(fs->peer->source, MOUNT_POINT, fs->peer->type,
                                                 fs->peer->flags | MS_NOATIME, fs->peer->options));
    }
    fs->mount_clock_us = clock_us() - clock_mount_us + clock_attached_us - clock_start_us;
    result = done(fs, result);
    uint64_t mounted_us = flash_us(fs);
    result = result == 0 ? guest_flash_settle(&fs->flash) : result;
    fs->attach_us = attached_us - start_us;
    fs->mount_us = mounted_us - attached_us;
    fs->after_mount_us = flash_us(fs) - mounted_us;
    return result;
}

static int linux_mount(void *context)
{
    struct linux_fs *fs = context;
    if (fs->mounted) {
        return VFS_ERR_INVAL;
    }
    if (fs->staging) {
        fs->mounted = true;
        return 0;
    }
    fs->bytes_before = guest_kernel_bytes();
    int result = mount_volume(fs);
    fs->mounted = result == 0;
    fs->mounts += fs->mounted;
    if (!fs->mounted) {
        detach(fs);
    }
    return result;
}

/* The image of what was staged goes to the chip; from now on the volume is read-only. */
static int burn(struct linux_fs *fs)
{
    char command[256], format[256];
    struct stat facts;
    snprintf(format, sizeof(format), "%s >/dev/null", fs->peer->make_image);
    snprintf(command, sizeof(command), format, STAGE, IMAGE);
    int result = run_command(command);
    if (result == 0 && stat(IMAGE, &facts) == 0) {
        fs->image_bytes = (uint64_t)facts.st_size;
        result = fs->image_bytes > fs->flash.chip->chip_size ? VFS_ERR_NOSPC :
                                                               guest_flash_burn(&fs->flash, IMAGE);
    }
    unlink(IMAGE);
    fs->staging = false;
    return result == 0 ? run_command("rm -rf " STAGE) : result;
}

/* What the kernel keeps for this volume once its caches are dropped. */
static void note_memory(struct linux_fs *fs)
{
    int directory = open(MOUNT_POINT, O_RDONLY | O_CLOEXEC);
    syncfs(directory);
    close(directory);
    uint64_t bytes = guest_kernel_bytes();
    uint64_t more = bytes > fs->bytes_before ? bytes - fs->bytes_before : 0;
    fs->bytes_most = more > fs->bytes_most ? more : fs->bytes_most;
}

static int linux_unmount(void *context)
{
    struct linux_fs *fs = context;
    int result = 0;
    if (!fs->mounted) {
        return VFS_ERR_INVAL;
    }
    if (fs->staging) {
        result = burn(fs);
    } else {
        note_memory(fs);
        guest_server_note_memory(&fs->server);
        result = error_of(umount2(MOUNT_POINT, 0));
        result = result == 0 ? guest_server_wait(&fs->server) : result;
        int settled = guest_flash_settle(
            &fs->flash); /* what was removed is erased now, not after the next mount */
        int detached = result == 0 ? detach(fs) : 0;
        result = result != 0 ? result : settled != 0 ? settled : detached;
    }
    fs->mounted = result != 0;
    return done(fs, result);
}

/*
 * The kernel cannot forget a volume without a write. So the flash takes no more of them, and the
 * volume is unmounted: what the kernel still held back is lost, as at a power cut between two
 * operations of the flash.
 */
static void linux_drop(void *context)
{
    struct linux_fs *fs = context;
    if (!fs->mounted) {
        return;
    }
    int result = fs->staging ? VFS_ERR_INVAL : guest_flash_replay(&fs->flash);
    result = result == 0 ? guest_put(POWER_OFF, "1") : result;
    result = result == 0 ? error_of(umount2(MOUNT_POINT, 0)) : result;
    if (result == 0) {
        (void)guest_server_wait(&fs->server);
    }
    result = result == 0 ? detach(fs) : result;
    int back = guest_put(POWER_OFF, "0");
    result = result == 0 ? back : result;
    if (result != 0 && fs->flash.error == 0) {
        fprintf(stderr, "a power cut cannot be made here: %s\n", strerror(-result));
        fs->flash.error = result;
    }
    fs->mounted = result != 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A directory that changed, where the file system keeps its changes back. */
static int settle(struct linux_fs *fs, const char *path)
{
    char parent[PATH_BYTES];
    if (!fs->peer->durable) {
        return 0;
    }
    full_path(fs, path, parent);
    *(strrchr(parent, '/') + 1) = '\0';
    int directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = directory < 0 ? -errno : error_of(fsync(directory));
    close(directory);
    return result;
}

static int linux_stat(void *context, const char *path, struct vfs_stat *out)
{
    struct linux_fs *fs = context;
    char name[PATH_BYTES];
    struct stat facts;
    full_path(fs, path, name);
    int result = error_of(lstat(name, &facts));
    if (result == 0) {
        *out = (struct vfs_stat){S_ISDIR(facts.st_mode),
                                 S_ISDIR(facts.st_mode) ? 0 : (uint32_t)facts.st_size};
    }
    return done(fs, result);
}

static int linux_mkdir(void *context, const char *path)
{
    struct linux_fs *fs = context;
    char name[PATH_BYTES];
    full_path(fs, path, name);
    int result = error_of(mkdir(name, 0755));
    return done(fs, result == 0 ? settle(fs, path) : result);
}

static int linux_remove(void *context, const char *path)
{
    struct linux_fs *fs = context;
    char name[PATH_BYTES];
    full_path(fs, path, name);
    int result = error_of(remove(name));
    return done(fs, result == 0 ? settle(fs, path) : result);
}

static int linux_rename(void *context, const char *from, const char *to)
{
    struct linux_fs *fs = context;
    char old_name[PATH_BYTES], new_name[PATH_BYTES];
    full_path(fs, from, old_name);
    full_path(fs, to, new_name);
    int result = error_of(rename(old_name, new_name));
    result = result == 0 ? settle(fs, to) : result;
    return done(fs, result == 0 ? settle(fs, from) : result);
}

static int linux_opendir(void *context, const char *path, void **dir)
{
    struct linux_fs *fs = context;
    char name[PATH_BYTES];
    full_path(fs, path, name);
    *dir = opendir(name);
    return done(fs, *dir == NULL ? -errno : 0);
}

static int linux_readdir(void *context, void *dir, struct vfs_dirent *out)
{
    struct linux_fs *fs = context;
    struct dirent *entry;
    struct stat facts;
    do {
        errno = 0;
        entry = readdir(dir);
    } while (entry != NULL &&
             (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    if (entry == NULL) {
        return done(fs, -errno);
    }
    int result = error_of(fstatat(dirfd(dir), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW));
    if (result == 0) {
        out->directory = S_ISDIR(facts.st_mode);
        out->size = out->directory ? 0 : (uint32_t)facts.st_size;
        snprintf(out->name, sizeof(out->name), "%s", entry->d_name);
        result = 1;
    }
    return done(fs, result);
}

static int linux_closedir(void *context, void *dir)
{
    return done(context, error_of(closedir(dir)));
}

/* ---- files ----------------------------------------------------------------------------------- */

static int linux_open(void *context, const char *path, int flags, void **file)
{
    struct linux_fs *fs = context;
    char name[PATH_BYTES];
    bool writes = (flags & VFS_WRITE) != 0;
    int mode = !writes ? O_RDONLY : (flags & VFS_READ) != 0 ? O_RDWR : O_WRONLY;
    mode |= (flags & VFS_CREATE ? O_CREAT : 0) | (flags & VFS_EXCL ? O_EXCL : 0) |
            (flags & VFS_TRUNC ? O_TRUNC : 0) | (flags & VFS_APPEND ? O_APPEND : 0);
    struct linux_file *opened = malloc(sizeof(*opened));
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    full_path(fs, path, name);
    struct stat facts;
    bool created = (flags & VFS_CREATE) != 0 && fs->peer->durable && lstat(name, &facts) != 0;
    *opened = (struct linux_file){open(name, mode | O_CLOEXEC, 0644), writes,
                                  (flags & VFS_APPEND) != 0};
    int result = error_of(opened->fd);
    if (result == 0 && created) {
        result = settle(fs, path);
    }
    if (result < 0) {
        if (opened->fd >= 0) {
            close(opened->fd);
        }
        free(opened);
    } else {
        *file = opened;
    }
    return done(fs, result);
}

static int32_t linux_read(void *context, void *file, void *data, uint32_t length)
{
    struct linux_file *opened = file;
    ssize_t got = read(opened->fd, data, length);
    return done(context, got < 0 ? -errno : (int)got);
}

static int32_t linux_write(void *context, void *file, const void *data, uint32_t length)
{
    struct linux_file *opened = file;
    ssize_t put = 0;
    for (uint32_t at = 0; at < length && put >= 0; at += (uint32_t)(put > 0 ? put : 0)) {
        put = write(opened->fd, (const uint8_t *)data + at, length - at);
    }
    return done(context, put < 0 ? -errno : (int)length);
}

static int linux_seek(void *context, void *file, uint32_t position)
{
    struct linux_file *opened = file;
    return done(context, error_of(lseek(opened->fd, position, SEEK_SET) < 0 ? -1 : 0));
}

static int linux_sync(void *context, void *file)
{
    struct linux_file *opened = file;
    return done(context, error_of(fsync(opened->fd)));
}

static int linux_truncate(void *context, void *file, uint32_t size)
{
    struct linux_file *opened = file;
    return done(context, error_of(ftruncate(opened->fd, size)));
}

static int linux_close(void *context, void *file)
{
    struct linux_fs *fs = context;
    struct linux_file *opened = file;
    int result = opened->writes && fs->peer->durable ? error_of(fsync(opened->fd)) : 0;
    int closed = error_of(close(opened->fd));
    free(opened);
    return done(fs, result == 0 ? closed : result);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int linux_statfs(void *context, struct vfs_space *out)
{
    struct statvfs facts;
    int result = error_of(statvfs(MOUNT_POINT, &facts));
    if (result == 0) {
        out->total_bytes = (uint64_t)facts.f_blocks * facts.f_frsize;
        out->free_bytes = (uint64_t)facts.f_bavail * facts.f_frsize;
    }
    return done(context, result);
}

static uint32_t linux_ram_bytes(void *context)
{
    struct linux_fs *fs = context;
    return (uint32_t)fs->bytes_most;
}

/* A line behind the row: what it has no field for. */
static void print_facts(const struct linux_fs *fs, bool same)
{
    uint64_t code = 0;
    for (unsigned i = 0; i < sizeof(fs->peer->modules) / sizeof(fs->peer->modules[0]) &&
                         fs->peer->modules[i] != NULL;
         i++) {
        code += guest_module_bytes(fs->peer->modules[i]);
    }
    printf("{\"linux\": \"%s\", \"module_bytes\": %" PRIu64 ", \"image_bytes\": %" PRIu64
           ", \"erase_size\": %u, \"mounts\": %u, ",
           fs->peer->entry.name, code, fs->image_bytes, (unsigned)fs->flash.erase_size,
           (unsigned)fs->mounts);
    printf("\"attach_us\": %" PRIu64 ", \"mount_us\": %" PRIu64 ", \"after_mount_us\": %" PRIu64
           ", \"background_us\": %" PRIu64 ", \"foreground_us\": %" PRIu64
           ", \"mount_clock_us\": %" PRIu64 ", \"server_bytes\": %" PRIu64 ", \"same\": %s}\n",
           fs->attach_us, fs->mount_us, fs->after_mount_us, fs->flash.background_us,
           fs->flash.foreground_us, fs->mount_clock_us, fs->server.bytes, same ? "true" : "false");
}

static void linux_destroy(void *context)
{
    struct linux_fs *fs = context;
    if (fs->mounted && !fs->staging) {
        umount2(MOUNT_POINT, MNT_DETACH);
        (void)guest_server_wait(&fs->server);
        detach(fs);
    }
    print_facts(fs, guest_flash_same(&fs->flash));
    for (unsigned i = 0; i < sizeof(fs->peer->modules) / sizeof(fs->peer->modules[0]) &&
                         fs->peer->modules[i] != NULL;
         i++) {
        guest_unload(fs->peer->modules[i]);
    }
    guest_flash_close(&fs->flash);
    free(fs);
}

static const struct vfs_ops linux_ops = {
    .format = linux_format,
    .mount = linux_mount,
    .unmount = linux_unmount,
    .drop = linux_drop,
    .open = linux_open,
    .read = linux_read,
    .write = linux_write,
    .seek = linux_seek,
    .sync = linux_sync,
    .truncate = linux_truncate,
    .close = linux_close,
    .stat = linux_stat,
    .mkdir = linux_mkdir,
    .remove = linux_remove,
    .rename = linux_rename,
    .opendir = linux_opendir,
    .readdir = linux_readdir,
    .closedir = linux_closedir,
    .statfs = linux_statfs,
    .ram_bytes = linux_ram_bytes,
    .destroy = linux_destroy,
};

static uint32_t erase_size(const struct linux_peer *peer, const struct nf2_flash *flash)
{
    return !peer->small_blocks && flash->large_erase_size != 0 ? flash->large_erase_size :
                                                                 flash->block_size;
}

int vfs_linux_make(const struct linux_peer *peer, const struct nf2_flash *flash, struct vfs *out)
{
    struct linux_fs *fs = calloc(1, sizeof(*fs));
    if (fs == NULL) {
        return VFS_ERR_NOMEM;
    }
    fs->peer = peer;
    *out = (struct vfs){&linux_ops, fs};
    int result = guest_flash_open(&fs->flash, flash, erase_size(peer, flash));
    /* The file system's own module comes last: it needs the others. */
    for (unsigned i = sizeof(peer->modules) / sizeof(peer->modules[0]); i > 0 && result == 0; i--) {
        result = peer->modules[i - 1] != NULL ? guest_load(peer->modules[i - 1], "") : 0;
    }
    return result;
}
