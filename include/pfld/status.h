// SPDX-License-Identifier: MIT
// Status codes, caller-owned error text and the optional log. Every call that can fail returns a status; what
// happened is written into the struct pfld_error the caller passes last (NULL is allowed). Nothing is global, nothing
// is printed. All of this is safe to use from any thread, each thread with its own struct pfld_error.
#ifndef PFLD_STATUS_H
#define PFLD_STATUS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PFLD_API __attribute__((visibility("default")))
#define PFLD_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define PFLD_MUST_USE __attribute__((warn_unused_result))
#else
#define PFLD_API
#define PFLD_PRINTF(fmt, args)
#define PFLD_MUST_USE
#endif
// On every function that can fail: exported, and a compiler warning where the status is ignored.
#define PFLD_API_STATUS PFLD_API PFLD_MUST_USE

// What the caller can do about a failure. Zero is success.
enum pfld_status {
	PFLD_OK = 0,
	PFLD_ERR_MEMORY,      // does not fit: the message names bytes needed and bytes there are
	PFLD_ERR_ARGUMENT,    // an argument or option is outside its documented range
	PFLD_ERR_STATE,       // the call is right, the moment is not
	PFLD_ERR_SHAPE,       // shapes, counts or types do not agree
	PFLD_ERR_UNSUPPORTED, // valid, but this build or device does not do it
	PFLD_ERR_NO_DEVICE,   // no such device, or it is masked
	PFLD_ERR_DATA,        // a file's content is not what its format promises
	PFLD_ERR_IO,          // the operating system refused: open, read, write, rename
	PFLD_ERR_DEVICE_LOST, // the device failed; every later call on it returns this at once
	PFLD_ERR_CANCELLED,   // the caller asked to stop
	PFLD_END,             // not a failure: no more items (end of an epoch)
};

#define PFLD_ERROR_MESSAGE_BYTES 1024

// Written by the call that failed, untouched by calls that succeed. `message` is one or more full sentences in
// UTF-8 that name the file, line, layer or size concerned and what was expected; it is always terminated.
struct pfld_error {
	enum pfld_status status;
	char message[PFLD_ERROR_MESSAGE_BYTES];
	const char *source_file; // where in the library, for reports; static storage
	int source_line;
	bool transient; // of PFLD_ERR_IO: the cause may pass (no descriptors left), and says nothing about the file
};

// The name of a status, such as "out of memory". Static storage, never NULL.
PFLD_API const char *pfld_status_name(enum pfld_status status);

enum pfld_log_level { PFLD_LOG_ERROR, PFLD_LOG_WARNING, PFLD_LOG_INFO };

// Where warnings and notes go. A NULL `write` is silence. `write` may be called from any thread that is inside a
// libpfld call or a loader thread; it must not call back into the same object.
struct pfld_log {
	void (*write)(void *context, enum pfld_log_level level, const char *text);
	void *context;
};

// "0.1.0"; static storage.
PFLD_API const char *pfld_version(void);

#ifdef __cplusplus
}
#endif
#endif
