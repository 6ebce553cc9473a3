// SPDX-License-Identifier: Apache-2.0
// Is a tool of Kokkos (KOKKOS_TOOLS_LIBS) that shows one step: what the host did when, to STEP_TRACE_FILE, and to `ncu
// --profile-from-start off` the kernels of that step alone. STEP_TRACE: which step, counted from the first (default 20).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_events = 4096, name_size = 96 };
struct event {
  double begin, end;
  const char* kind;
  char name[name_size];
};
static struct event events[most_events];
static int count, wanted = 20, depth;
static long step = -1;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void profiler(const char* call) {
  int (*function)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, call);
  if (function) function();
}

static uint64_t begin(const char* kind, const char* name) {
  if (step != wanted || count == most_events) return most_events;
  events[count] = (struct event){.begin = now(), .kind = kind};
  snprintf(events[count].name, name_size, "%*s%s", 2 * depth, "", name);
  return (uint64_t)count++;
}
static void end(uint64_t event) {
  if (event < most_events) events[event].end = now();
}

static void write_events(void) {
  const char* path = getenv("STEP_TRACE_FILE");
  FILE* file = path ? fopen(path, "w") : stderr;
  if (!file) return;
  fprintf(file, "     at us    for us  what\n");
  for (int e = 0; e < count; ++e)
    fprintf(file, "%10.1f %9.1f  %-6s %s\n", events[e].begin - events[0].begin, events[e].end - events[e].begin,
            events[e].kind, events[e].name);
  if (path) fclose(file);
}

// Without it Kokkos would wait for the device before and after each event.
struct tool_settings {
  bool requires_global_fencing;
  bool padding[255];
};
void kokkosp_request_tool_settings(uint32_t settings, struct tool_settings* wish) {
  (void)settings, wish->requires_global_fencing = false;
}

void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, void* info) {
  (void)sequence, (void)version, (void)devices, (void)info;
  if (getenv("STEP_TRACE")) wanted = atoi(getenv("STEP_TRACE"));
}

static uint64_t regions[16];
void kokkosp_push_profile_region(const char* name) {
  if (strcmp(name, "input_dist") == 0) {  // the first phase of a step
    ++step;
    if (step == wanted) profiler("cudaProfilerStart");
    if (step == wanted + 1) profiler("cudaProfilerStop"), write_events();
  }
  if (depth < 16) regions[depth] = begin("region", name);
  ++depth;
}
void kokkosp_pop_profile_region(void) {
  if (depth > 0 && --depth < 16) end(regions[depth]);
}
void kokkosp_begin_parallel_for(const char* name, uint32_t device, uint64_t* id) { (void)device, *id = begin("for", name); }
void kokkosp_end_parallel_for(uint64_t id) { end(id); }
void kokkosp_begin_parallel_scan(const char* name, uint32_t device, uint64_t* id) { (void)device, *id = begin("scan", name); }
void kokkosp_end_parallel_scan(uint64_t id) { end(id); }
void kokkosp_begin_parallel_reduce(const char* name, uint32_t device, uint64_t* id) {
  (void)device, *id = begin("reduce", name);
}
void kokkosp_end_parallel_reduce(uint64_t id) { end(id); }
void kokkosp_begin_fence(const char* name, uint32_t device, uint64_t* id) { (void)device, *id = begin("fence", name); }
void kokkosp_end_fence(uint64_t id) { end(id); }

struct space {
  char name[64];
};
static uint64_t copy;
void kokkosp_begin_deep_copy(struct space to, const char* to_name, const void* to_pointer, struct space from,
                             const char* from_name, const void* from_pointer, uint64_t size) {
  (void)to_pointer, (void)from_pointer;
  char name[name_size];
  snprintf(name, name_size, "%.20s %.20s <- %.20s, %lu bytes", to.name, to_name, from_name[0] ? from_name : from.name,
           (unsigned long)size);
  copy = begin("copy", name);
}
void kokkosp_end_deep_copy(void) { end(copy); }
