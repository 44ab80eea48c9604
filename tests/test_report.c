// SPDX-License-Identifier: MIT
// run.json, log.csv and report.html: always valid, whatever the numbers, texts and locale; resumed without a seam.
#include <pfld/report.h>

#include "scratch.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *folder, const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "rb");
	ck_assert_msg(file != NULL, "%s is missing", path);
	size_t capacity = 1 << 20;
	char *text = malloc(capacity);
	ck_assert_ptr_nonnull(text);
	size_t num = fread(text, 1, capacity - 1, file);
	text[num] = '\0';
	fclose(file);
	return text;
}

static json_t *read_run(const char *folder)
{
	char *text = read_file(folder, "run.json");
	json_error_t reason;
	json_t *run = json_loads(text, 0, &reason);
	ck_assert_msg(run != NULL, "run.json, line %d: %s", reason.line, reason.text);
	free(text);
	return run;
}

static struct pfld_report *make_report(void)
{
	struct pfld_report *report = NULL;
	struct pfld_report_options options = {.title = "A run <of> ours", .command = "pfld train --x \"a b\""};
	ck_assert_int_eq(pfld_report_create(&report, &options, NULL), PFLD_OK);
	return report;
}

static struct pfld_report_epoch make_epoch(int32_t number)
{
	return (struct pfld_report_epoch){.epoch = number,
									  .train_loss = 10.0 / number,
									  .test_loss = number % 2 ? NAN : 12.0 / number,
									  .nme = number % 2 ? NAN : 0.1 / number,
									  .nme_median = number % 2 ? NAN : 0.09 / number,
									  .failure_rate = number % 2 ? NAN : 0.5 / number,
									  .auc = number % 2 ? NAN : 1 - 0.5 / number,
									  .learning_rate = 0.001,
									  .seconds = 2.5,
									  .seconds_test = 0.5,
									  .images_per_second = 100 + number,
									  .data_wait_share = 0.25,
									  .decode_seconds = 1.5,
									  .augment_seconds = 0.25};
}

static void add_epochs(struct pfld_report *report, int32_t first, int32_t last)
{
	for (int32_t i = first; i <= last; i++) {
		struct pfld_report_epoch epoch = make_epoch(i);
		ck_assert_int_eq(pfld_report_epoch(report, &epoch, NULL), PFLD_OK);
	}
}

static void write_report(struct pfld_report *report, const char *folder)
{
	struct pfld_error error = {0};
	ck_assert_msg(pfld_report_write(report, folder, &error) == PFLD_OK, "%s", error.message);
}

static void add_everything(struct pfld_report *report)
{
	const uint64_t by_class[PFLD_MEMORY_NUM_CLASSES] = {1, 2, 3, UINT64_C(5000000000), 5, 6, 7};
	const struct pfld_report_skip skips[] = {{"a.jpg", "cannot be opened", 3}, {"b.png", "truncated", 0}};
	uint8_t pixels[4 * 4 * 3] = {200, 10, 30};
	struct pfld_image image = {.pixels = pixels, .width = 4, .height = 4, .capacity_bytes = sizeof pixels};
	const float truth[] = {1, 1, 2, 2}, prediction[] = {1.5f, 1, 2, NAN};
	struct pfld_report_face face = {&image, truth, prediction, 2, 0.0625};
	ck_assert_int_eq(pfld_report_option(report, "batch_size", "32", NULL), PFLD_OK);
	ck_assert_int_eq(pfld_report_text(report, "device", "cpu", NULL), PFLD_OK);
	ck_assert_int_eq(pfld_report_number(report, "threads", 7, NULL), PFLD_OK);
	ck_assert_int_eq(pfld_report_number(report, "threads", 2, NULL), PFLD_OK);
	ck_assert_int_eq(pfld_report_memory(report, 5000000024, 5000000000, by_class, NULL), PFLD_OK);
	ck_assert_int_eq(pfld_report_skips(report, skips, 2, NULL), PFLD_OK);
	ck_assert_int_eq(pfld_report_faces(report, &face, 1, NULL), PFLD_OK);
	add_epochs(report, 1, 4);
}

START_TEST(run_json_holds_what_was_given)
{
	char folder[] = "report-XXXXXX";
	make_scratch(folder);
	struct pfld_report *report = make_report();
	add_everything(report);
	write_report(report, folder);
	json_t *run = read_run(folder);
	ck_assert_str_eq(json_string_value(json_object_get(run, "version")), pfld_version());
	ck_assert_str_eq(json_string_value(json_object_get(run, "command")), "pfld train --x \"a b\"");
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(run, "options"), "batch_size")), "32");
	ck_assert_str_eq(json_string_value(json_object_get(run, "device")), "cpu");
	ck_assert_int_eq(json_integer_value(json_object_get(run, "threads")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(run, "planned_peak_bytes")), 5000000024);
	ck_assert_int_eq(json_integer_value(json_object_get(run, "measured_peak_bytes")), 5000000000);
	ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(run, "memory"), "activations")), 5000000000);
	ck_assert_double_eq_tol(json_number_value(json_object_get(run, "images_per_second")), 102.5, 1e-9);
	ck_assert_double_eq_tol(json_number_value(json_object_get(run, "data_wait_share")), 0.25, 1e-12);
	const json_t *epochs = json_object_get(run, "epochs"), *skipped = json_object_get(run, "skipped");
	ck_assert_uint_eq(json_array_size(epochs), 4);
	const json_t *second = json_array_get(epochs, 1);
	ck_assert_int_eq(json_integer_value(json_object_get(second, "epoch")), 2);
	ck_assert_double_eq(json_number_value(json_object_get(second, "nme")), 0.1 / 2);
	ck_assert(json_is_null(json_object_get(json_array_get(epochs, 0), "nme")));
	ck_assert_uint_eq(json_array_size(skipped), 2);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(skipped, 0), "path")), "a.jpg");
	ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(skipped, 0), "line")), 3);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(skipped, 1), "reason")), "truncated");
	json_decref(run);
	pfld_report_destroy(&report);
	ck_assert_ptr_null(report);
	remove_tree(folder);
}
END_TEST

START_TEST(an_empty_report_is_valid)
{
	char folder[] = "report-XXXXXX";
	make_scratch(folder);
	struct pfld_report *report = NULL;
	ck_assert_int_eq(pfld_report_create(&report, NULL, NULL), PFLD_OK);
	write_report(report, folder);
	json_t *run = read_run(folder);
	ck_assert(json_is_null(json_object_get(run, "images_per_second")));
	ck_assert_uint_eq(json_array_size(json_object_get(run, "epochs")), 0);
	json_decref(run);
	pfld_report_destroy(&report);
	pfld_report_destroy(&report);
	pfld_report_destroy(NULL);
	remove_tree(folder);
}
END_TEST

// A diverged run, and names that no encoding knows.
START_TEST(hostile_values_stay_valid)
{
	char folder[] = "report-XXXXXX";
	make_scratch(folder);
	struct pfld_report *report = make_report();
	const char *hostile = "quote \" back\\slash new\nline tab\t bell\a bad\xff\xc3( <b>&\xed\xa0\x80 \xe2\x82";
	struct pfld_report_epoch epoch = make_epoch(1);
	epoch.train_loss = NAN;
	epoch.test_loss = INFINITY;
	epoch.nme = -INFINITY;
	ck_assert_int_eq(pfld_report_epoch(report, &epoch, NULL), PFLD_OK);
	ck_assert_int_eq(pfld_report_option(report, hostile, hostile, NULL), PFLD_OK);
	ck_assert_int_eq(pfld_report_number(report, "best", INFINITY, NULL), PFLD_OK);
	ck_assert_int_eq(pfld_report_skips(report, &(struct pfld_report_skip){hostile, hostile, 1}, 1, NULL), PFLD_OK);
	write_report(report, folder);
	json_t *run = read_run(folder);
	const json_t *row = json_array_get(json_object_get(run, "epochs"), 0);
	ck_assert(json_is_null(json_object_get(row, "train_loss")));
	ck_assert(json_is_null(json_object_get(row, "test_loss")));
	ck_assert(json_is_null(json_object_get(row, "nme")));
	ck_assert(json_is_null(json_object_get(run, "best")));
	const char *path = json_string_value(json_object_get(json_array_get(json_object_get(run, "skipped"), 0), "path"));
	ck_assert_str_eq(path, "quote \" back\\slash new\nline tab\t bell\a bad\xef\xbf\xbd\xef\xbf\xbd( <b>&"
						   "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd");
	char *csv = read_file(folder, "log.csv");
	ck_assert_ptr_null(strstr(csv, "nan"));
	ck_assert_ptr_null(strstr(csv, "inf"));
	ck_assert_ptr_nonnull(strstr(csv, "\n1,,,,,,,0.001,"));
	char *html = read_file(folder, "report.html");
	ck_assert_ptr_null(strstr(html, "<b>&"));
	ck_assert_ptr_null(strstr(html, ">nan"));
	free(html);
	free(csv);
	json_decref(run);
	pfld_report_destroy(&report);
	remove_tree(folder);
}
END_TEST

static void check_csv(const char *folder, int32_t num_epochs)
{
	char *csv = read_file(folder, "log.csv");
	int32_t epoch = 0, commas_wanted = -1;
	for (char *line = strtok(csv, "\n"); line; line = strtok(NULL, "\n"), epoch++) {
		int32_t commas = 0;
		for (const char *c = line; *c; c++) commas += *c == ',';
		if (commas_wanted < 0) commas_wanted = commas;
		ck_assert_int_eq(commas, commas_wanted);
		if (epoch > 0)
			ck_assert_int_eq(atoi(line), epoch);
		else
			ck_assert_int_eq(strncmp(line, "epoch,train_loss,test_loss,nme,", 31), 0);
	}
	ck_assert_int_eq(epoch, num_epochs + 1);
	free(csv);
}

START_TEST(a_resumed_log_has_no_seam)
{
	char folder[] = "report-XXXXXX", whole_folder[] = "report-XXXXXX";
	make_scratch(folder);
	make_scratch(whole_folder);
	struct pfld_report *first = make_report(), *second = make_report(), *whole = make_report();
	add_epochs(first, 1, 4);
	write_report(first, folder);
	check_csv(folder, 4);
	// The checkpoint stands after epoch 3: epoch 4 is run again.
	ck_assert_int_eq(pfld_report_resume(second, folder, 3, NULL), PFLD_OK);
	add_epochs(second, 4, 6);
	write_report(second, folder);
	check_csv(folder, 6);
	add_epochs(whole, 1, 6);
	write_report(whole, whole_folder);
	const char *const names[] = {"run.json", "log.csv", "report.html"};
	for (int i = 0; i < 3; i++) {
		char *a = read_file(folder, names[i]), *b = read_file(whole_folder, names[i]);
		ck_assert_str_eq(a, b);
		free(a);
		free(b);
	}
	add_epochs(whole, 2, 2);
	write_report(whole, whole_folder);
	check_csv(whole_folder, 2);
	pfld_report_destroy(&first);
	pfld_report_destroy(&second);
	pfld_report_destroy(&whole);
	remove_tree(folder);
	remove_tree(whole_folder);
}
END_TEST

START_TEST(resume_refuses_what_is_not_a_run)
{
	char folder[] = "report-XXXXXX";
	make_scratch(folder);
	struct pfld_report *report = make_report();
	struct pfld_error error = {0};
	ck_assert_int_eq(pfld_report_resume(report, folder, 9, &error), PFLD_ERR_IO);
	ck_assert_ptr_nonnull(strstr(error.message, "run.json"));
	const char *const bad[] = {"",
							   "{\"epochs\": [{\"epoch\": 1, \"nme\": 0.",
							   "[]",
							   "{\"epochs\": 3}",
							   "{\"epochs\": [{\"epoch\": 0}]}",
							   "{\"epochs\": [{\"epoch\": 99999999999}]}",
							   "{\"epochs\": [7]}",
							   "{\"epochs\": [{\"epoch\": 1, \"nme\": \"low\"}]}"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put_file(folder, "run.json", bad[i]);
		ck_assert_msg(pfld_report_resume(report, folder, 9, &error) == PFLD_ERR_DATA, "taken: %s", bad[i]);
		ck_assert_ptr_nonnull(strstr(error.message, "run.json"));
	}
	put_file(folder, "run.json", "{\"epochs\": [{\"epoch\": 1, \"nme\": 1e-3, \"auc\": null}]}");
	ck_assert_int_eq(pfld_report_resume(report, folder, 9, &error), PFLD_OK);
	write_report(report, folder);
	char *csv = read_file(folder, "log.csv");
	ck_assert_ptr_nonnull(strstr(csv, "\n1,,,0.001,,,,,,,,,,\n"));
	free(csv);
	pfld_report_destroy(&report);
	remove_tree(folder);
}
END_TEST

START_TEST(a_failed_write_is_reported)
{
	struct pfld_report *report = make_report();
	struct pfld_error error = {0};
	ck_assert_int_eq(pfld_report_write(report, "no/such/folder", &error), PFLD_ERR_IO);
	ck_assert_ptr_nonnull(strstr(error.message, "no/such/folder"));
	pfld_report_destroy(&report);
}
END_TEST

START_TEST(a_decimal_comma_changes_nothing)
{
	char plain[] = "report-XXXXXX", comma[] = "report-XXXXXX";
	make_scratch(plain);
	make_scratch(comma);
	struct pfld_report *report = make_report();
	add_everything(report);
	write_report(report, plain);
	if (comma_locale_set()) {
		write_report(report, comma);
		struct pfld_report *resumed = make_report();
		ck_assert_int_eq(pfld_report_resume(resumed, comma, 9, NULL), PFLD_OK);
		write_report(resumed, plain);
		char *a = read_file(plain, "log.csv"), *b = read_file(comma, "log.csv");
		ck_assert_str_eq(a, b);
		free(a);
		free(b);
		write_report(report, plain);
		const char *const names[] = {"run.json", "log.csv", "report.html"};
		for (int i = 0; i < 3; i++) {
			a = read_file(plain, names[i]);
			b = read_file(comma, names[i]);
			ck_assert_str_eq(a, b);
			free(a);
			free(b);
		}
		pfld_report_destroy(&resumed);
	}
	pfld_report_destroy(&report);
	remove_tree(plain);
	remove_tree(comma);
}
END_TEST

START_TEST(the_page_stands_alone)
{
	char folder[] = "report-XXXXXX";
	make_scratch(folder);
	struct pfld_report *report = make_report();
	add_everything(report);
	write_report(report, folder);
	char *html = read_file(folder, "report.html");
	ck_assert_ptr_nonnull(strstr(html, "A run &#60;of&#62; ours"));
	ck_assert_ptr_nonnull(strstr(html, "base64,"));
	ck_assert_ptr_nonnull(strstr(html, "M1.5 1.5h0M2.5 2.5h0")); // the true points, half a pixel on
	ck_assert_ptr_nonnull(strstr(html, "<polyline"));
	ck_assert_ptr_null(strstr(html, "http:"));
	ck_assert_ptr_null(strstr(html, "https:"));
	ck_assert_ptr_null(strstr(html, "src="));
	free(html);
	pfld_report_destroy(&report);
	remove_tree(folder);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report");
	TCase *tests = tcase_create("report");
	tcase_set_timeout(tests, 40); // making a locale takes a while on a busy machine
	tcase_add_test(tests, run_json_holds_what_was_given);
	tcase_add_test(tests, an_empty_report_is_valid);
	tcase_add_test(tests, hostile_values_stay_valid);
	tcase_add_test(tests, a_resumed_log_has_no_seam);
	tcase_add_test(tests, resume_refuses_what_is_not_a_run);
	tcase_add_test(tests, a_failed_write_is_reported);
	tcase_add_test(tests, a_decimal_comma_changes_nothing);
	tcase_add_test(tests, the_page_stands_alone);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
