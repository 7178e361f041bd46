/* Runs ONNX models on the GPU or the CPU. This is the stable C interface of the library libtaso.
 *
 * Every function that can fail returns a taso_status; taso_last_error() then tells why, in one line. No function ends
 * the process, and none throws. Names are UTF-8, and so are paths.
 *
 * Versions: TASO_API_VERSION grows with every addition. A program that was compiled against an older header works with
 * a newer library: functions stay, structures keep their layout, and numbers keep their meaning. A change that breaks
 * this rule changes the number in the library's file name. taso_api_version() is that of the library in use.
 *
 * Threads: several threads may run one session; on a GPU, runs of one session follow one another. Options must not be
 * changed while another thread uses them. A session must not be destroyed while it is in use. */
#ifndef TASO_TASO_H
#define TASO_TASO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TASO_API_VERSION 3
/* The most axes of a tensor at this interface. */
#define TASO_MAX_RANK 16

#if defined(TASO_BUILDS_LIBRARY)
#define TASO_API __attribute__((visibility("default")))
#else
#define TASO_API
#endif

/* The numbers are the exit codes of the programs. */
typedef enum taso_status {
  TASO_OK = 0,
  TASO_BUG = 1,          /* an error of taso itself */
  TASO_BAD_ARGUMENT = 2, /* a null pointer, an unknown option, a tensor that does not fit */
  TASO_BAD_MODEL = 3,    /* the model or engine file is unreadable or invalid, or cannot run */
  TASO_CHECK_FAILED = 4, /* an optimised model computes something else; it was not used */
  TASO_UNAVAILABLE = 6,  /* no memory, no such GPU, no permission */
  TASO_CANCELLED = 130
} taso_status;

/* The numbers are those of ONNX. */
typedef enum taso_type {
  TASO_UNDEFINED = 0, /* a type that tensors at this interface cannot have: text, a sequence */
  TASO_FLOAT32 = 1,
  TASO_UINT8 = 2,
  TASO_INT8 = 3,
  TASO_UINT16 = 4,
  TASO_INT16 = 5,
  TASO_INT32 = 6,
  TASO_INT64 = 7,
  TASO_BOOL = 9,
  TASO_FLOAT16 = 10,
  TASO_FLOAT64 = 11,
  TASO_UINT32 = 12,
  TASO_UINT64 = 13,
  TASO_BFLOAT16 = 16
} taso_type;

typedef enum taso_place {
  TASO_HOST = 0,
  TASO_DEVICE = 1 /* memory of the session's GPU */
} taso_place;

typedef enum taso_log_level {
  TASO_LOG_WARNING = 0, /* something is slower or other than asked for */
  TASO_LOG_INFO = 1,
  TASO_LOG_DETAIL = 2
} taso_log_level;

/* A tensor in memory of the caller: dense and row-major, without alignment beyond that of its elements. */
typedef struct taso_tensor {
  void* data;
  size_t capacity; /* bytes at `data`; an input may have more than it needs */
  int32_t type;    /* taso_type */
  int32_t place;   /* taso_place */
  int32_t rank;
  int32_t reserved; /* 0 */
  int64_t shape[TASO_MAX_RANK];
} taso_tensor;

/* An input or output of a model. */
typedef struct taso_value {
  const char* name;                      /* lives as long as the session */
  int32_t type;                          /* taso_type */
  int32_t rank;                          /* -1 if it is unknown */
  int64_t shape[TASO_MAX_RANK];          /* -1 where the size is unknown before the run */
  const char* dimensions[TASO_MAX_RANK]; /* what the model calls unknown sizes, "batch", or a
                                            formula, "past + length"; else null */
} taso_value;

typedef struct taso_options taso_options;
typedef struct taso_session taso_session;

/* Called from the thread that loads or runs; several at once, if several threads use the options or the session. */
typedef void (*taso_log_function)(void* user, int32_t level, const char* text);
/* Returns 1 to cancel a search, the measuring of kernels, or the planning for a GPU; it then ends soon with
 * TASO_CANCELLED. Runs, and loading for the host, are not cancelled. Threads of the library call it too, and several
 * may do so at once. */
typedef int32_t (*taso_cancel_function)(void* user);
/* Returns device memory, aligned to 256 bytes, or null. */
typedef void* (*taso_allocate_function)(void* user, size_t bytes);
typedef void (*taso_free_function)(void* user, void* memory, size_t bytes);

TASO_API int32_t taso_api_version(void);
/* "0.1.0" */
TASO_API const char* taso_version(void);
/* Why the last function of this thread failed; valid until the thread calls the next one. Never null. */
TASO_API const char* taso_last_error(void);
/* The name of a status, "TASO_BAD_MODEL"; "unknown" for other numbers. */
TASO_API const char* taso_status_name(int32_t status);
/* The number of GPUs that can be used, and a line for people about them, or why there is none. */
TASO_API int32_t taso_device_count(void);
TASO_API const char* taso_device_text(void);

/* Memory, streams and events of GPUs, for programs that do not link CUDA themselves; since version 2. They are CUDA's
 * own and may be mixed with those of the caller. `device` is the number of a GPU in CUDA's order, below
 * taso_device_count(). Without such a GPU these functions return TASO_UNAVAILABLE.
 *
 * A GPU's name, and its memory in bytes; both may be null. The name lives until the process ends. */
TASO_API taso_status taso_device_describe(int32_t device, const char** name, size_t* memory);
/* TASO_DEVICE: memory of the GPU, aligned to 256 bytes. TASO_HOST: memory of the host that copies to and from the GPU
 * use without a detour. No bytes give a null pointer. */
TASO_API taso_status taso_device_allocate(int32_t device, int32_t place, size_t bytes, void** memory);
/* Waits until the GPU does not use the memory any more. A null pointer is ignored. */
TASO_API taso_status taso_device_free(int32_t device, int32_t place, void* memory);
/* Queues a copy on a stream (null: the default stream), between any two places. Host memory that is not from
 * taso_device_allocate has been read or written when the function returns. */
TASO_API taso_status taso_device_copy(int32_t device, void* to, const void* from, size_t bytes, void* stream);
/* Waits until everything has ended that is queued on the default stream and on streams that take turns with it: those
 * of taso_stream_create, and others that are not non-blocking. */
TASO_API taso_status taso_device_wait(int32_t device);
/* A cudaStream_t that takes turns with the default stream, as CUDA's streams do unless they are made non-blocking. */
TASO_API taso_status taso_stream_create(int32_t device, void** stream);
TASO_API taso_status taso_stream_destroy(int32_t device, void* stream);
/* Waits until everything that is queued on the stream has ended. */
TASO_API taso_status taso_stream_wait(int32_t device, void* stream);
/* A cudaEvent_t marks a place in a stream, which the host (taso_event_wait) or another stream waits for. */
TASO_API taso_status taso_event_create(int32_t device, void** event);
TASO_API taso_status taso_event_destroy(int32_t device, void* event);
TASO_API taso_status taso_event_record(int32_t device, void* event, void* stream);
TASO_API taso_status taso_event_wait(int32_t device, void* event);
TASO_API taso_status taso_stream_wait_event(int32_t device, void* stream, void* event);

/* Options
 *
 * precision, measure, streams, memory and the allocator matter only on a GPU. If one is set for a session that runs on
 * the CPU, the log says so.
 *
 * device      "auto" (a GPU if there is one that can run the model; default), "cpu", "cuda", "cuda:1"
 * precision   "float32" (default: what the model says, or the engine file), "tf32", "float16", "bfloat16": how a GPU
 *             computes float32. Inputs and outputs keep the types of the model.
 * optimize    "0" (default), or the seconds that a search for a faster model may take, while it is loaded. It searches
 *             for what is fast on a GPU, with prices of an NVIDIA H200 unless `prices` has others. The result may be no
 *             faster on a CPU; the log says so.
 * measure     "1": measure kernels that have no recorded price while the model is loaded. Default "0".
 * prices      a file of measured prices, instead of the user's own
 * threads     on the host; "0" (default): all processors
 * streams     the most concurrent streams on a GPU, default "16"
 * trust       "1" (default): run the compiled kernels of an engine file. "0": compile them anew; for files from others.
 * plans       how many plans for different input shapes are kept, default "8"
 * memory      the most bytes of device memory for them, default "0": no limit
 * past_capacity  "0" (default), or the rows of the caches that a model's growing past is run with; since version 3,
 *             for models that append new rows to inputs of unknown length (Concat). These inputs and their outputs then
 *             have the capacity as their length, and may be the same memory: only the new rows are written. One more
 *             input, the last one, says how many rows are filled: "past_length" (with a number behind it if the model
 *             uses that name), an int64 without axes, in memory of the host. Other inputs with a size
 *             for all tokens, such as an attention mask, are given for the capacity; what they have behind the new
 *             tokens counts for nothing. All rows of a cache must be finite, and no larger than keys and values are:
 *             fill it with zeros before the first run. A run that exceeds the capacity is TASO_BAD_ARGUMENT, and writes
 *             nothing. A model that does something else with the length is TASO_BAD_MODEL, with the node that does it.
 */
TASO_API taso_status taso_options_create(taso_options** options);
TASO_API void taso_options_destroy(taso_options* options);
TASO_API taso_status taso_options_set(taso_options* options, const char* name, const char* value);
TASO_API taso_status taso_options_set_log(taso_options* options, taso_log_function log, void* user);
TASO_API taso_status taso_options_set_cancel(taso_options* options, taso_cancel_function cancel, void* user);
/* Device memory of sessions comes from here, instead of cudaMalloc. */
TASO_API taso_status taso_options_set_allocator(taso_options* options, taso_allocate_function allocate,
                                                taso_free_function free, void* user);

/* Loads an ONNX model or an engine file and plans it. `options` may be null, and may be destroyed afterwards. External
 * weights are read when they are needed: their files must stay as they are while the session exists. */
TASO_API taso_status taso_session_load(const char* path, const taso_options* options, taso_session** session);
/* The same from memory, which may be freed afterwards. External weights are looked for in `folder`; null: there are
 * none. */
TASO_API taso_status taso_session_load_bytes(const void* bytes, size_t size, const char* folder,
                                             const taso_options* options, taso_session** session);
/* Writes an engine file: the model with its weights, and everything that was found out about running it on this
 * machine, for the shapes that it has run or was warmed up with. Loading it skips searching, measuring and compiling.
 * All or nothing is written. */
TASO_API taso_status taso_session_save_engine(taso_session* session, const char* path);
/* Waits for runs that have not ended. */
TASO_API void taso_session_destroy(taso_session* session);

TASO_API size_t taso_session_input_count(const taso_session* session);
TASO_API size_t taso_session_output_count(const taso_session* session);
TASO_API taso_status taso_session_input(const taso_session* session, size_t index, taso_value* value);
TASO_API taso_status taso_session_output(const taso_session* session, size_t index, taso_value* value);
/* 1 if the model has a default for this input: an initializer that callers may override (IR version 4 and newer). Such
 * an input may be left out: its tensor then has the type TASO_UNDEFINED, rank 0 and null as `data`, as taso_tensor{0}.
 * A session is planned for calls that leave these inputs out. */
TASO_API int32_t taso_session_input_is_optional(const taso_session* session, size_t index);
/* Whether it runs on a GPU (TASO_DEVICE); what it runs on, for people; and everything about it, as JSON. */
TASO_API int32_t taso_session_place(const taso_session* session);
TASO_API const char* taso_session_device(const taso_session* session);
/* Lives until the session is destroyed or asked again. */
TASO_API const char* taso_session_report(taso_session* session);

/* Fills in type, rank and shape of the outputs that inputs of these shapes give; only the shapes of inputs count, and
 * which are left out. A size that depends on the content of inputs is -1, an unknown rank too. */
TASO_API taso_status taso_session_infer(const taso_session* session, const taso_tensor* inputs, size_t input_count,
                                        taso_tensor* outputs, size_t output_count);
/* Makes the plan for inputs of these shapes now, instead of in the first run; only the shapes of inputs count. */
TASO_API taso_status taso_session_warm_up(taso_session* session, const taso_tensor* inputs, size_t input_count);

/* Runs the model. Inputs and outputs are in the order of the model. Type, rank and shape of outputs are filled in;
 * their memory is `data` with `capacity` bytes. An output whose `data` is null gets memory of the host, which
 * taso_tensor_free frees. Inputs are not changed, but an output may lie in the memory of an input. If both begin at the
 * same address, and the model only writes some elements over that input, as a decoder into its cache, it does so in
 * place; else the input is copied.
 *
 * Sizes that the model leaves open may be 0, as in the first step of a decoder without a past. Such a run does what the
 * model says, without the rewrites of clean-ups and search. For a session on a GPU, the
 * host computes it, and the log says so.
 *
 * `stream` is a cudaStream_t of the caller; null is the default stream. The run is ordered after the work that is
 * queued there. If all tensors are on the device, and all operators too, the call returns before the run has ended;
 * else it returns when the outputs are there. Tensors on the host may be mixed with others; pointers to device memory
 * are used without copies from their second use on. On the host, `stream` is ignored. */
TASO_API taso_status taso_session_run(taso_session* session, const taso_tensor* inputs, size_t input_count,
                                      taso_tensor* outputs, size_t output_count, void* stream);
/* Frees memory that taso_session_run allocated, and clears the pointer. */
TASO_API void taso_tensor_free(taso_tensor* tensor);

#ifdef __cplusplus
}
#endif

#endif
