/* A GPU that is not there. Preloaded before libtaso, it takes the place of the functions for devices: device memory is
 * memory of the host, and sessions on the device run on the host. So the execution provider's allocators, copies and
 * streams are tested on machines without a GPU. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <taso/taso.h>

/* What happened, for tests. */
long pretended_copies, pretended_waits, pretended_unordered, pretended_blocks, pretended_streams, pretended_events;

static void* library(void) {
  static void* found;
  if (found == NULL) found = dlopen("libtaso.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (found == NULL) abort();
  return found;
}
#define REAL(name) ((__typeof__(&name))dlsym(library(), #name))

static void add(long* counter, long change) { __atomic_fetch_add(counter, change, __ATOMIC_RELAXED); }

static taso_status make(void** made, long* counter) {
  *made = malloc(1);
  add(counter, 1);
  return TASO_OK;
}

static taso_status end(void* made, long* counter) {
  free(made);
  add(counter, -1);
  return TASO_OK;
}

static taso_status await(void) {
  add(&pretended_waits, 1);
  return TASO_OK;
}

int32_t taso_device_count(void) { return 1; }

taso_status taso_device_describe(int32_t device, const char** name, size_t* memory) {
  (void)device;
  if (name != NULL) *name = "pretended";
  if (memory != NULL) *memory = 1 << 30;
  return TASO_OK;
}

taso_status taso_device_allocate(int32_t device, int32_t place, size_t bytes, void** memory) {
  (void)device, (void)place;
  *memory = bytes == 0 ? NULL : aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*memory != NULL) add(&pretended_blocks, 1);
  return bytes > 0 && *memory == NULL ? TASO_UNAVAILABLE : TASO_OK;
}

taso_status taso_device_free(int32_t device, int32_t place, void* memory) {
  (void)device, (void)place;
  return memory == NULL ? TASO_OK : end(memory, &pretended_blocks);
}

taso_status taso_device_copy(int32_t device, void* to, const void* from, size_t bytes, void* stream) {
  (void)device, (void)stream;
  add(&pretended_copies, 1);
  if (bytes > 0) memcpy(to, from, bytes);
  return TASO_OK;
}

taso_status taso_device_wait(int32_t device) { return (void)device, await(); }
taso_status taso_stream_create(int32_t device, void** made) { return (void)device, make(made, &pretended_streams); }
taso_status taso_stream_destroy(int32_t device, void* made) { return (void)device, end(made, &pretended_streams); }
taso_status taso_stream_wait(int32_t device, void* stream) { return (void)device, (void)stream, await(); }
taso_status taso_event_create(int32_t device, void** made) { return (void)device, make(made, &pretended_events); }
taso_status taso_event_destroy(int32_t device, void* made) { return (void)device, end(made, &pretended_events); }
taso_status taso_event_record(int32_t device, void* event, void* stream) {
  return (void)device, (void)event, (void)stream, TASO_OK;
}
taso_status taso_event_wait(int32_t device, void* event) { return (void)device, (void)event, await(); }
taso_status taso_stream_wait_event(int32_t device, void* stream, void* event) {
  return (void)device, (void)event, (void)stream, TASO_OK;
}

taso_status taso_options_set(taso_options* options, const char* name, const char* value) {
  const int is_gpu = strcmp(name, "device") == 0 && (strcmp(value, "cuda") == 0 || strcmp(value, "cuda:0") == 0);
  return REAL(taso_options_set)(options, name, is_gpu ? "cpu" : value);
}

taso_status taso_session_run(taso_session* session, const taso_tensor* inputs, size_t input_count, taso_tensor* outputs,
                             size_t output_count, void* stream) {
  taso_tensor* given = malloc((input_count + 1) * sizeof *given);
  int32_t* places = malloc((output_count + 1) * sizeof *places);
  for (size_t i = 0; i < input_count; ++i) {
    given[i] = inputs[i];
    if (given[i].place == TASO_DEVICE && stream == NULL) add(&pretended_unordered, 1);
    given[i].place = TASO_HOST;
  }
  for (size_t i = 0; i < output_count; ++i) {
    places[i] = outputs[i].place;
    outputs[i].place = TASO_HOST;
  }
  const taso_status status = REAL(taso_session_run)(session, given, input_count, outputs, output_count, stream);
  for (size_t i = 0; i < output_count; ++i) outputs[i].place = places[i];
  free(given);
  free(places);
  return status;
}
