// SPDX-License-Identifier: Apache-2.0
// Loaded before a program (LD_PRELOAD), it refuses what a kernel with pages of 64 KiB would refuse.
// Mappings must begin at a multiple of that size in memory and in the file; so must the parts of
// them that are changed. It rounds sizes up as such a kernel does, and sysconf() tells the size.
// The program must be linked for such pages. The C library's own mappings are not seen.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static const uintptr_t page = 64 * 1024;

static size_t whole(size_t bytes) { return (bytes + page - 1) & ~(page - 1); }

static int is_refused(const void* address) {
  if ((uintptr_t)address % page == 0) return 0;
  errno = EINVAL;
  return 1;
}

// A function of the C library that has this one's name.
#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

static void* map(void* address, size_t bytes, int access, int flags, int file, off_t offset) {
  return REAL(void*, mmap, void*, size_t, int, int, int, off_t)(address, bytes, access, flags, file,
                                                                offset);
}

// Maps what is missing between two addresses.
static void fill(uintptr_t begin, uintptr_t end) {
  const uintptr_t small = (uintptr_t)getpagesize();
  for (uintptr_t at = begin / small * small; at < end; at += small)
    map((void*)at, small, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
        -1, 0);
}

// The first and the last page of the program's variables are whole where pages are large.
static int fill_pages(struct dl_phdr_info* program, size_t size, void* unused) {
  (void)size, (void)unused;
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &program->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_W) == 0) continue;
    const uintptr_t begin = program->dlpi_addr + part->p_vaddr;
    const uintptr_t end = begin + part->p_memsz;
    fill(begin / page * page, begin);
    fill(end, whole(end));
  }
  return 1;  // the program is the first object
}
__attribute__((constructor)) static void fill_pages_of_program(void) {
  dl_iterate_phdr(fill_pages, NULL);
}

// Maps memory where it is asked for if there is room, as the kernel does: PMIx 5 relies on it.
static void* map_there(void* address, size_t bytes, int access, int flags, int file, off_t offset) {
  if (address == NULL || (uintptr_t)address % page != 0) return MAP_FAILED;
  return map(address, bytes, access, flags | MAP_FIXED_NOREPLACE, file, offset);
}

static void* map_anywhere(size_t bytes, int access, int flags, int file, off_t offset) {
  const size_t room = bytes + page;
  char* const reserved =
      map(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return MAP_FAILED;
  const size_t before = -(uintptr_t)reserved % page;
  void* const mapped = map(reserved + before, bytes, access, flags | MAP_FIXED, file, offset);
  int (*const unmap)(void*, size_t) = REAL(int, munmap, void*, size_t);
  const int error = errno;
  if (mapped == MAP_FAILED) {
    unmap(reserved, room);
  } else {
    if (before != 0) unmap(reserved, before);
    unmap(reserved + before + bytes, page - before);
  }
  errno = error;
  return mapped;
}

void* mmap(void* address, size_t bytes, int access, int flags, int file, off_t offset) {
  const int is_fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  if (bytes == 0 || is_refused((void*)offset) || (is_fixed && is_refused(address))) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  if (is_fixed) return map(address, whole(bytes), access, flags, file, offset);
  void* const there = map_there(address, whole(bytes), access, flags, file, offset);
  if (there != MAP_FAILED) return there;
  return map_anywhere(whole(bytes), access, flags, file, offset);
}
void* mmap64(void* address, size_t bytes, int access, int flags, int file, off64_t offset) {
  return mmap(address, bytes, access, flags, file, offset);
}

int munmap(void* address, size_t bytes) {
  if (is_refused(address)) return -1;
  return REAL(int, munmap, void*, size_t)(address, whole(bytes));
}
int mprotect(void* address, size_t bytes, int access) {
  if (is_refused(address)) return -1;
  return REAL(int, mprotect, void*, size_t, int)(address, whole(bytes), access);
}
int madvise(void* address, size_t bytes, int advice) {
  if (is_refused(address)) return -1;
  return REAL(int, madvise, void*, size_t, int)(address, whole(bytes), advice);
}

long sysconf(int name) {
  if (name == _SC_PAGESIZE) return (long)page;
  const long told = REAL(long, sysconf, int)(name);
  const int is_in_pages = name == _SC_PHYS_PAGES || name == _SC_AVPHYS_PAGES;
  return is_in_pages ? told * getpagesize() / (long)page : told;
}
