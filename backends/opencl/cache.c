// SPDX-License-Identifier: MIT
// Programs kept on disk, in the folder that the host names and nobody else may write to: one file a program, under the
// SHA-256 of all that it depends on. Whatever is wrong with a file or the folder, the program comes from its source, and the
// log says why. Called by program.c.
#include "base/file.h"
#include "base/sha256.h"
#include "opencl/cl.h"

#include <stdlib.h>
#include <string.h>

// A file: this line, the key, the SHA-256 of the program, the program.
static const char format[] = "libpfld kernels 1\n"; // with another number, files of before are not found
enum { KEY_BYTES = 64, HEAD_BYTES = sizeof format - 1 + 2 * KEY_BYTES, MOST_BYTES = 256 << 20 };

void pfld_cl_cache_open(struct pfld_backend_device *device, const char *folder)
{
	struct pfld_error error = {0};
	if (!folder) return;
	if (pfld_make_private_folder(folder, &error) != PFLD_OK) {
		pfld_log_write(&device->log, PFLD_LOG_WARNING, "kernels are not kept: %s", error.message);
		return;
	}
	device->cache_folder = pfld_strdup(folder); // NULL: nothing is kept
}

// ---- the key ----

static void add(struct pfld_sha256 *sha, const char *text)
{
	pfld_sha256_update(sha, text, strlen(text) + 1); // with its end, so that no two lists of texts are one
}

static void add_device_text(struct pfld_sha256 *sha, cl_device_id id, cl_device_info name)
{
	char text[1024] = "";
	clGetDeviceInfo(id, name, sizeof text - 1, text, NULL);
	add(sha, text);
}

static void add_platform_text(struct pfld_sha256 *sha, cl_platform_id id, cl_platform_info name)
{
	char text[1024] = "";
	clGetPlatformInfo(id, name, sizeof text - 1, text, NULL);
	add(sha, text);
}

void pfld_cl_cache_key(const struct pfld_backend_device *device, const char *const *texts, size_t num_texts,
                       const char *options, char key[65])
{
	struct pfld_sha256 sha;
	pfld_sha256_init(&sha);
	add(&sha, format);
	add(&sha, options);
	add_platform_text(&sha, device->platform, CL_PLATFORM_NAME);
	add_platform_text(&sha, device->platform, CL_PLATFORM_VERSION);
	add_device_text(&sha, device->id, CL_DEVICE_NAME);
	add_device_text(&sha, device->id, CL_DEVICE_VENDOR);
	add_device_text(&sha, device->id, CL_DEVICE_VERSION);
	add_device_text(&sha, device->id, CL_DRIVER_VERSION);
	for (size_t i = 0; i < num_texts; i++) add(&sha, texts[i]);
	pfld_sha256_finish(&sha, key);
}

static char *path_of(const struct pfld_backend_device *device, const char *key)
{
	return pfld_strprintf("%s/%s.clbin", device->cache_folder, key);
}

static void digest_of(const void *bytes, size_t num_bytes, char hex[65])
{
	struct pfld_sha256 sha;
	pfld_sha256_init(&sha);
	pfld_sha256_update(&sha, bytes, num_bytes);
	pfld_sha256_finish(&sha, hex);
}

// ---- reading ----

// Whether the file is one of ours, whole, and this program's.
static bool is_sound(const uint8_t *bytes, size_t num_bytes, const char *key)
{
	char digest[65];
	if (num_bytes <= HEAD_BYTES || memcmp(bytes, format, sizeof format - 1) != 0) return false;
	digest_of(bytes + HEAD_BYTES, num_bytes - HEAD_BYTES, digest);
	bytes += sizeof format - 1;
	return !memcmp(bytes, key, KEY_BYTES) && !memcmp(bytes + KEY_BYTES, digest, KEY_BYTES);
}

static cl_program build(struct pfld_backend_device *device, const uint8_t *bytes, size_t num_bytes, const char *options)
{
	cl_int code, accepted;
	cl_program program = clCreateProgramWithBinary(device->context, 1, &device->id, &num_bytes, &bytes, &accepted, &code);
	if (code != CL_SUCCESS) return NULL;
	if (accepted == CL_SUCCESS && clBuildProgram(program, 1, &device->id, options, NULL, NULL) == CL_SUCCESS) return program;
	clReleaseProgram(program);
	return NULL;
}

cl_program pfld_cl_cache_load(struct pfld_backend_device *device, const char *key, const char *options)
{
	struct pfld_error error = {0};
	char *path = device->cache_folder ? path_of(device, key) : NULL;
	uint8_t *bytes = NULL;
	size_t num_bytes = 0;
	cl_program program = NULL;
	if (!path || pfld_path_kind(path) == PFLD_PATH_ABSENT) {
		free(path);
		return NULL;
	}
	if (pfld_file_read(path, MOST_BYTES, &bytes, &num_bytes, &error) != PFLD_OK)
		pfld_log_write(&device->log, PFLD_LOG_WARNING, "kernels are built from source: %s", error.message);
	else if (!is_sound(bytes, num_bytes, key))
		pfld_log_write(&device->log, PFLD_LOG_WARNING, "kernels are built from source: %s is damaged", path);
	else if (!(program = build(device, bytes + HEAD_BYTES, num_bytes - HEAD_BYTES, options)))
		pfld_log_write(&device->log, PFLD_LOG_WARNING, "kernels are built from source: the driver refuses %s", path);
	free(bytes);
	free(path);
	return program;
}

// ---- writing ----

// A program's only binary in a file's form; NULL: there is none.
static uint8_t *file_of(cl_program program, const char *key, size_t *num_bytes)
{
	size_t bytes = 0;
	char digest[65];
	if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS || !bytes ||
	    bytes > MOST_BYTES - HEAD_BYTES)
		return NULL;
	uint8_t *file = pfld_calloc(HEAD_BYTES + bytes, 1);
	if (!file) return NULL;
	uint8_t *binary = file + HEAD_BYTES;
	if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) != CL_SUCCESS) {
		free(file);
		return NULL;
	}
	digest_of(binary, bytes, digest);
	memcpy(file, format, sizeof format - 1);
	memcpy(file + sizeof format - 1, key, KEY_BYTES);
	memcpy(file + sizeof format - 1 + KEY_BYTES, digest, KEY_BYTES);
	*num_bytes = HEAD_BYTES + bytes;
	return file;
}

static void store(struct pfld_backend_device *device, const char *key, cl_program program)
{
	struct pfld_error error = {0};
	// Some drivers compile when kernels are made: their binaries hold nothing before that.
	cl_kernel kernels[PFLD_CL_MOST_KERNELS];
	cl_uint num = 0;
	if (clCreateKernelsInProgram(program, PFLD_CL_MOST_KERNELS, kernels, &num) == CL_SUCCESS)
		for (cl_uint i = 0; i < num; i++) clReleaseKernel(kernels[i]);
	size_t num_bytes = 0;
	uint8_t *file = file_of(program, key, &num_bytes);
	char *path = path_of(device, key);
	if (file && path && pfld_file_replace_unflushed(path, file, num_bytes, &error) != PFLD_OK)
		pfld_log_write(&device->log, PFLD_LOG_WARNING, "kernels are not kept: %s", error.message);
	free(file);
	free(path);
}

void pfld_cl_cache_store(struct pfld_backend_device *device)
{
	for (int32_t i = 0; device->cache_folder && i < PFLD_CL_NUM_FAMILIES; i++)
		if (device->programs[i] && device->unkept[i][0]) store(device, device->unkept[i], device->programs[i]);
}
