// SPDX-License-Identifier: MIT
// Memory policies of devices: exact, limit, fraction, growth and their combinations, counted to the byte.
#include "device/device.h"
#include "zoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, CHUNK = 64 * MIB };

static struct pfld_device *open_device(const struct pfld_device_options *options)
{
	struct pfld_device *device = NULL;
	ck_pfld(pfld_device_open(&device, "cpu", options, error));
	return device;
}

static struct pfld_memory memory_of(const struct pfld_device *device)
{
	struct pfld_memory memory;
	pfld_device_memory(device, &memory);
	return memory;
}

static void take(struct pfld_device *device, size_t bytes, struct pfld_region *region)
{
	ck_pfld(pfld_device_region_create(device, bytes, PFLD_MEMORY_OTHER, "a test", region, error));
	const char *host = region->host;
	for (size_t i = 0; i < bytes; i += bytes / 7 + 1)
		if (host[i]) ck_abort_msg("byte %zu of %zu is not zero", i, bytes);
	memset(region->host, 1, bytes);
}

static void give(struct pfld_device *device, struct pfld_region *region)
{
	pfld_device_region_destroy(device, PFLD_MEMORY_OTHER, region);
}

static void refuse(struct pfld_device *device, size_t bytes)
{
	struct pfld_region region = {0};
	struct pfld_error error = {0};
	ck_assert_int_eq(pfld_device_region_create(device, bytes, PFLD_MEMORY_OTHER, "a test", &region, &error),
	                 PFLD_ERR_MEMORY);
	ck_assert_ptr_null(region.host);
	ck_assert_ptr_nonnull(strstr(error.message, "a test"));
}

// Address space of this process, in bytes.
static uint64_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%llu", &pages), 1);
	fclose(file);
	return pages * 4096;
}

START_TEST(exact_holds_what_is_taken)
{
	struct pfld_device *device = open_device(NULL);
	struct pfld_region a, b;
	take(device, 1000, &a);
	take(device, 5 * MIB + 3, &b);
	struct pfld_memory memory = memory_of(device);
	ck_assert_uint_eq(memory.current_bytes, 5 * MIB + 1003);
	ck_assert_uint_eq(memory.reserved_bytes, memory.current_bytes);
	ck_assert_uint_eq(memory.num_free_pieces, 0);
	give(device, &b);
	memory = memory_of(device);
	ck_assert_uint_eq(memory.reserved_bytes, 1000);
	ck_assert_uint_eq(memory.peak_reserved_bytes, 5 * MIB + 1003);
	ck_assert_uint_eq(memory.peak_by_class[PFLD_MEMORY_OTHER], 5 * MIB + 1003);
	give(device, &a);
	pfld_device_close(&device);
}
END_TEST

START_TEST(a_limit_is_an_edge)
{
	for (int policy = 0; policy < 2; policy++) {
		struct pfld_device *device = open_device(
		    &(struct pfld_device_options){.limit_bytes = 10 * MIB, .allow_growth = policy == 1});
		struct pfld_region a, b;
		take(device, 6 * MIB, &a);
		refuse(device, 4 * MIB + 1);
		take(device, 4 * MIB, &b);
		refuse(device, 1);
		// The chunk of a growing device ends at the limit.
		ck_assert_uint_eq(memory_of(device).reserved_bytes, 10 * MIB);
		give(device, &a);
		give(device, &b);
		pfld_device_close(&device);
	}
}
END_TEST

// Sums to the byte: enough is enough, and one byte less is too little, whatever the policy.
START_TEST(sums_are_edges)
{
	static const size_t sizes[] = {3 * MIB, 64, 20 * MIB, 5 * MIB + 64, 70 * MIB};
	uint64_t sum = 0;
	for (size_t i = 0; i < PFLD_COUNT(sizes); i++) sum += sizes[i];
	for (int policy = 0; policy < 4; policy++) {
		for (int less = 0; less < 2; less++) {
			struct pfld_device_options options = {.limit_bytes = sum - (uint64_t)less,
			                                      .memory_fraction = policy & 1 ? 0.9 : 0,
			                                      .allow_growth = policy & 2};
			struct pfld_device *device = open_device(&options);
			struct pfld_region regions[PFLD_COUNT(sizes)];
			int num = (int)PFLD_COUNT(sizes) - less;
			for (int i = 0; i < num; i++) take(device, sizes[i], &regions[i]);
			if (less) refuse(device, sizes[num]);
			ck_assert_uint_le(memory_of(device).reserved_bytes, options.limit_bytes);
			if (!less) {
				ck_assert_uint_eq(memory_of(device).current_bytes, sum);
				ck_assert_uint_eq(memory_of(device).reserved_bytes, sum);
				ck_assert_uint_eq(memory_of(device).num_free_pieces, 0);
			}
			for (int i = 0; i < num; i++) give(device, &regions[i]);
			ck_assert_uint_eq(memory_of(device).current_bytes, 0);
			pfld_device_close(&device);
		}
	}
}
END_TEST

START_TEST(a_fraction_is_reserved_at_open)
{
	uint64_t before = address_space();
	struct pfld_device *device = open_device(&(struct pfld_device_options){.memory_fraction = 0.25});
	struct pfld_device_limits limits;
	pfld_device_get_limits(device, &limits);
	uint64_t share = limits.memory_bytes / 4 / limits.alignment_bytes * limits.alignment_bytes;
	struct pfld_memory memory = memory_of(device);
	ck_assert_uint_eq(memory.reserved_bytes, share);
	ck_assert_uint_eq(memory.current_bytes, 0);
	ck_assert_uint_eq(memory.largest_free_bytes, share);
	ck_assert_uint_eq(memory.num_free_pieces, 1);
	ck_assert_uint_ge(address_space(), before + share);
	struct pfld_region parts[3];
	for (int i = 0; i < 3; i++) take(device, MIB, &parts[i]);
	give(device, &parts[1]);
	memory = memory_of(device);
	ck_assert_uint_eq(memory.current_bytes, 2 * MIB);
	ck_assert_uint_eq(memory.num_free_pieces, 2);
	ck_assert_uint_eq(memory.largest_free_bytes, share - 3 * MIB);
	// The gap is used again, zeroed, and its neighbours keep what they hold.
	take(device, MIB, &parts[1]);
	ck_assert(((char *)parts[0].host)[MIB - 1] == 1 && ((char *)parts[2].host)[0] == 1);
	ck_assert_uint_eq(memory_of(device).num_free_pieces, 1);
	if (share < SIZE_MAX) refuse(device, (size_t)share - 3 * MIB + 1);
	for (int i = 0; i < 3; i++) give(device, &parts[i]);
	ck_assert_uint_eq(memory_of(device).largest_free_bytes, share);
	pfld_device_close(&device);
	ck_assert_uint_lt(address_space(), before + share);
}
END_TEST

START_TEST(growth_takes_whole_chunks)
{
	struct pfld_device *device = open_device(&(struct pfld_device_options){.allow_growth = true});
	struct pfld_region a, b, c;
	ck_assert_uint_eq(memory_of(device).reserved_bytes, 0);
	take(device, MIB, &a);
	ck_assert_uint_eq(memory_of(device).reserved_bytes, CHUNK);
	take(device, CHUNK - MIB, &b);
	ck_assert_uint_eq(memory_of(device).reserved_bytes, CHUNK);
	take(device, CHUNK + 1, &c);
	ck_assert_uint_eq(memory_of(device).reserved_bytes, 3 * (uint64_t)CHUNK);
	give(device, &b);
	give(device, &c);
	// Chunks stay.
	ck_assert_uint_eq(memory_of(device).reserved_bytes, 3 * (uint64_t)CHUNK);
	ck_assert_uint_eq(memory_of(device).largest_free_bytes, 2 * (uint64_t)CHUNK);
	take(device, 2 * CHUNK, &c);
	ck_assert_uint_eq(memory_of(device).reserved_bytes, 3 * (uint64_t)CHUNK);
	give(device, &a);
	give(device, &c);
	pfld_device_close(&device);
}
END_TEST

START_TEST(policies_combine)
{
	struct pfld_device *device = open_device(
	    &(struct pfld_device_options){.memory_fraction = 0.5, .limit_bytes = 100 * MIB, .allow_growth = true});
	struct pfld_region a, b;
	ck_assert_uint_eq(memory_of(device).reserved_bytes, 0);
	take(device, 10 * MIB, &a);
	ck_assert_uint_eq(memory_of(device).reserved_bytes, CHUNK);
	refuse(device, 90 * MIB + 1);
	take(device, 90 * MIB, &b); // what the first chunk holds unused goes back for it
	ck_assert_uint_eq(memory_of(device).reserved_bytes, 100 * MIB);
	ck_assert_uint_eq(((char *)a.host)[10 * MIB - 1], 1);
	give(device, &a);
	take(device, 10 * MIB, &a);
	give(device, &b);
	give(device, &a);
	take(device, 100 * MIB, &a); // both chunks go back for it
	ck_assert_uint_eq(memory_of(device).reserved_bytes, 100 * MIB);
	give(device, &a);
	pfld_device_close(&device);
	device = open_device(&(struct pfld_device_options){.memory_fraction = 0.5, .limit_bytes = 100 * MIB});
	ck_assert_uint_eq(memory_of(device).reserved_bytes, 100 * MIB);
	pfld_device_close(&device);
	const double wrong[] = {-0.1, 1.5, 0.0 / 0.0};
	for (size_t i = 0; i < PFLD_COUNT(wrong); i++) {
		struct pfld_error error = {0};
		ck_assert_int_eq(
		    pfld_device_open(&device, "cpu", &(struct pfld_device_options){.memory_fraction = wrong[i]}, &error),
		    PFLD_ERR_ARGUMENT);
	}
}
END_TEST

// A whole trainer is the same under every policy, and takes as much.
START_TEST(training_under_every_policy)
{
	const struct pfld_device_options policies[] = {
	    {.num_threads = 2},
	    {.num_threads = 2, .allow_growth = true},
	    {.num_threads = 2, .memory_fraction = 0.1},
	    {.num_threads = 2, .memory_fraction = 0.2, .allow_growth = true, .limit_bytes = 200 * MIB},
	};
	char first[65];
	for (size_t i = 0; i < PFLD_COUNT(policies); i++) {
		struct pfld_device *device = open_device(&policies[i]);
		struct pfld_net *net = small_net();
		struct pfld_weights *weights = NULL;
		struct pfld_trainer *trainer = NULL;
		struct pfld_trainer_options options = {.batch = 4, .loss = {.kind = PFLD_LOSS_L2}};
		ck_pfld(pfld_weights_create(&weights, device, net, 5, error));
		ck_pfld(pfld_trainer_create(&trainer, weights, &options, error));
		struct pfld_batch *batch = pfld_trainer_slots(trainer, NULL);
		zoo_batch(batch, net, 4, 9);
		for (int step = 0; step < 3; step++) ck_pfld(pfld_trainer_step(trainer, batch, NULL, error));
		char sha256[65];
		struct pfld_plan_summary plan;
		ck_pfld(pfld_weights_sha256(weights, sha256, error));
		if (i == 0) strcpy(first, sha256);
		ck_assert_str_eq(sha256, first);
		pfld_plan_summary(pfld_trainer_plan(trainer), &plan);
		ck_assert_uint_eq(memory_of(device).peak_bytes, plan.planned_peak_bytes);
		ck_assert_uint_ge(memory_of(device).reserved_bytes, plan.planned_peak_bytes);
		pfld_trainer_destroy(&trainer);
		pfld_weights_destroy(&weights);
		pfld_net_destroy(&net);
		pfld_device_close(&device);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policies");
	TCase *cases = tcase_create("policies");
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, exact_holds_what_is_taken);
	tcase_add_test(cases, a_limit_is_an_edge);
	tcase_add_test(cases, sums_are_edges);
	tcase_add_test(cases, a_fraction_is_reserved_at_open);
	tcase_add_test(cases, growth_takes_whole_chunks);
	tcase_add_test(cases, policies_combine);
	tcase_add_test(cases, training_under_every_policy);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
