// SPDX-License-Identifier: MIT
// Programs: one a family of kernels, built once a device, when the first op is prepared that needs it. What it is built
// from is the whole of what its kernels depend on: the sources, the options, device, driver and platform; under a digest of
// these it is looked for on disk first (cache.c).
#include "opencl/cl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// formulas.cl is read twice; see there.
static const char one_number[] = "#define REAL float\n#define INT int\n#define INT_RTE convert_int_rte\n"
								 "#define AS_REAL as_float\n#define AS_INT as_int\n#define TO_REAL convert_float\n"
								 "#define LOAD(at, count) (*(at))\n#define NAME(name) name##_1\n";
static const char vector[] = "#undef REAL\n#undef INT\n#undef INT_RTE\n#undef AS_REAL\n#undef AS_INT\n#undef TO_REAL\n"
							 "#undef LOAD\n#undef NAME\n"
							 "#define REAL vec\n#define INT vec_int\n#define INT_RTE VEC_INT_RTE\n#define AS_REAL AS_VEC\n"
							 "#define AS_INT AS_VEC_INT\n#define TO_REAL TO_VEC\n"
							 "#define LOAD load_vec\n#define NAME(name) name##_v\n";

// The end of what the compiler says, which names the first error in most compilers' words, cut to a message.
static enum pfld_status fail_build(struct pfld_backend_device *device, cl_program program, cl_int code, const char *name,
                                   struct pfld_error *error)
{
	enum { SHOWN = 600 };
	char call[64], *log = NULL, cut[SHOWN + 1] = "";
	size_t bytes = 0;
	snprintf(call, sizeof call, "clBuildProgram of %s", name);
	enum pfld_status status = pfld_cl_fail(error, code, call);
	clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
	if (bytes > 1) log = pfld_calloc(bytes + 1, 1);
	if (!log) return status;
	clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
	pfld_log_write(&device->log, PFLD_LOG_ERROR, "%s: %s", call, log);
	const char *first = strstr(log, "error");
	snprintf(cut, sizeof cut, "%s", first ? first : log);
	free(log);
	return pfld_fail(error, status, "%s: error %d: %s", call, (int)code, cut);
}

static enum pfld_status build(struct pfld_backend_device *device, enum pfld_cl_family family, cl_program *built,
                              struct pfld_error *error)
{
	const struct pfld_cl_source *source = &pfld_cl_sources[family];
	const char *texts[] = {pfld_cl_common.text,   one_number,  pfld_cl_formulas.text, vector,
	                       pfld_cl_formulas.text, source->text};
	char options[96], key[65];
	cl_int code;
	snprintf(options, sizeof options, "-cl-std=CL1.2 -D V=%d -D HAS_FMA=%d", (int)device->class.vector_width,
	         (int)device->class.has_fma);
	pfld_cl_cache_key(device, texts, PFLD_COUNT(texts), options, key);
	*built = pfld_cl_cache_load(device, key, options);
	if (*built) return PFLD_OK;
	cl_program program = clCreateProgramWithSource(device->context, PFLD_COUNT(texts), texts, NULL, &code);
	if (code != CL_SUCCESS) return pfld_cl_fail(error, code, "clCreateProgramWithSource");
	code = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
	if (code != CL_SUCCESS) {
		enum pfld_status status = fail_build(device, program, code, source->name, error);
		clReleaseProgram(program);
		return status;
	}
	memcpy(device->unkept[family], key, sizeof key);
	*built = program;
	return PFLD_OK;
}

enum pfld_status pfld_cl_kernel_create(struct pfld_backend_device *device, enum pfld_cl_family family, const char *name,
                                       cl_kernel *kernel, struct pfld_error *error)
{
	cl_program *program = &device->programs[family];
	enum pfld_status status = *program ? PFLD_OK : build(device, family, program, error);
	if (status != PFLD_OK) return status;
	cl_int code;
	*kernel = clCreateKernel(*program, name, &code);
	return code == CL_SUCCESS ? PFLD_OK : pfld_cl_fail(error, code, "clCreateKernel");
}
