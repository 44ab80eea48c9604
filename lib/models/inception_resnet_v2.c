// SPDX-License-Identifier: MIT
// InceptionResNetV2: blocks of branches side by side, joined and added to their input with a factor. Names count in the
// order in which Keras creates layers, branch by branch; Keras's list of layers, and so this net, has them by their
// distance from the end of the block, all branches abreast.
#include "models/backbone.h"

enum { MAX_BRANCHES = 4, MAX_UNITS = 3 };

struct unit {
	int32_t filters; // 0: none
	int32_t kernel_h, kernel_w;
	bool halves; // stride 2, VALID; else stride 1, SAME
};
enum pool { NO_POOL, MAX_POOL, AVG_POOL }; // before the units of a branch
struct branch {
	struct unit units[MAX_UNITS]; // the last one last: shorter branches begin with empty ones
	enum pool pool;
};

// A convolution, batch norm and relu, numbered.
static struct pfld_layer_name numbered(const char *kind, int32_t number)
{
	return pfld_automatic_name(kind, &number);
}

static pfld_value add_conv(const struct pfld_backbone_build *build, pfld_value x, const struct unit *unit,
						   int32_t number)
{
	struct pfld_layer_name name = numbered("conv2d", number);
	return pfld_keras_conv(build, x,
						   &(struct pfld_keras_conv){.name = name.text,
													 .filters = unit->filters,
													 .kernel_h = unit->kernel_h,
													 .kernel_w = unit->kernel_w,
													 .stride = unit->halves ? 2 : 1,
													 .padding = unit->halves ? PFLD_VALID : PFLD_SAME});
}

static pfld_value add_pool(const struct pfld_backbone_build *build, pfld_value x, enum pool pool)
{
	if (pool == NO_POOL) return x;
	if (pool == MAX_POOL) return pfld_keras_max_pool(build, x, NULL, 3, 2, PFLD_VALID);
	return pfld_avg_pool(build->net, x,
						 &(struct pfld_pool_options){.kernel = {3, 3}, .stride = {1, 1}, .padding = PFLD_SAME});
}

// The branches on x, and their join.
static pfld_value branches(struct pfld_backbone_build *build, pfld_value x, const struct branch *all, int32_t num,
						   const char *name)
{
	pfld_value y[MAX_BRANCHES];
	int32_t numbers[MAX_BRANCHES][MAX_UNITS] = {{0}};
	for (int32_t b = 0; b < num; b++) {
		y[b] = add_pool(build, x, all[b].pool);
		for (int u = 0; u < MAX_UNITS; u++)
			if (all[b].units[u].filters) numbers[b][u] = build->num_convs++;
	}
	for (int u = 0; u < MAX_UNITS; u++) {
		for (int32_t b = 0; b < num; b++)
			if (all[b].units[u].filters) y[b] = add_conv(build, y[b], &all[b].units[u], numbers[b][u]);
		for (int32_t b = 0; b < num; b++)
			if (all[b].units[u].filters)
				y[b] = pfld_keras_norm(build, y[b], numbered("batch_normalization", numbers[b][u]).text);
		for (int32_t b = 0; b < num; b++)
			if (all[b].units[u].filters) y[b] = pfld_relu(build->net, y[b], numbered("activation", numbers[b][u]).text);
	}
	return pfld_concat(build->net, y, num, name);
}

// The branches, a 1 x 1 convolution with bias back to the input's channels, and input + scale times it; relu or not.
static pfld_value residual(struct pfld_backbone_build *build, pfld_value x, const struct branch *all, int32_t num,
						   const char *name, double scale, bool with_relu)
{
	int32_t channels;
	pfld_net_shape(build->net, x, NULL, NULL, &channels);
	pfld_value y = branches(build, x, all, num, pfld_layer_name("%s_mixed", name).text);
	struct pfld_layer_name conv_name = pfld_layer_name("%s_conv", name);
	struct pfld_keras_conv conv = {
		.name = conv_name.text, .filters = channels, .kernel_h = 1, .kernel_w = 1, .bias = true};
	y = pfld_keras_conv(build, y, &conv);
	x = pfld_add(build->net, (pfld_value[]){x, y}, 2, (double[]){1, scale}, name);
	return with_relu ? pfld_relu(build->net, x, pfld_layer_name("%s_ac", name).text) : x;
}

// ---- the blocks ----

static const struct branch mixed_5b[4] = {
	{.units = {{0}, {0}, {96, 1, 1, false}}},
	{.units = {{0}, {48, 1, 1, false}, {64, 5, 5, false}}},
	{.units = {{64, 1, 1, false}, {96, 3, 3, false}, {96, 3, 3, false}}},
	{.units = {{0}, {0}, {64, 1, 1, false}}, .pool = AVG_POOL},
};
static const struct branch block35[3] = {
	{.units = {{0}, {0}, {32, 1, 1, false}}},
	{.units = {{0}, {32, 1, 1, false}, {32, 3, 3, false}}},
	{.units = {{32, 1, 1, false}, {48, 3, 3, false}, {64, 3, 3, false}}},
};
static const struct branch mixed_6a[3] = {
	{.units = {{0}, {0}, {384, 3, 3, true}}},
	{.units = {{256, 1, 1, false}, {256, 3, 3, false}, {384, 3, 3, true}}},
	{.pool = MAX_POOL},
};
static const struct branch block17[2] = {
	{.units = {{0}, {0}, {192, 1, 1, false}}},
	{.units = {{128, 1, 1, false}, {160, 1, 7, false}, {192, 7, 1, false}}},
};
static const struct branch mixed_7a[4] = {
	{.units = {{0}, {256, 1, 1, false}, {384, 3, 3, true}}},
	{.units = {{0}, {256, 1, 1, false}, {288, 3, 3, true}}},
	{.units = {{256, 1, 1, false}, {288, 3, 3, false}, {320, 3, 3, true}}},
	{.pool = MAX_POOL},
};
static const struct branch block8[2] = {
	{.units = {{0}, {0}, {192, 1, 1, false}}},
	{.units = {{192, 1, 1, false}, {224, 1, 3, false}, {256, 3, 1, false}}},
};

// VALID without a stride is what SAME is for 1 x 1; the two of 3 x 3 say so themselves.
static pfld_value stem_conv(struct pfld_backbone_build *build, pfld_value x, int32_t filters, int32_t kernel,
							int32_t stride, enum pfld_padding padding)
{
	int32_t number = build->num_convs++;
	struct pfld_layer_name name = numbered("conv2d", number);
	x = pfld_keras_conv(build, x,
						&(struct pfld_keras_conv){.name = name.text,
												  .filters = filters,
												  .kernel_h = kernel,
												  .kernel_w = kernel,
												  .stride = stride,
												  .padding = padding});
	x = pfld_keras_norm(build, x, numbered("batch_normalization", number).text);
	return pfld_relu(build->net, x, numbered("activation", number).text);
}

static pfld_value stem(struct pfld_backbone_build *build, pfld_value x)
{
	x = stem_conv(build, x, 32, 3, 2, PFLD_VALID);
	x = stem_conv(build, x, 32, 3, 1, PFLD_VALID);
	x = stem_conv(build, x, 64, 3, 1, PFLD_SAME);
	x = pfld_keras_max_pool(build, x, NULL, 3, 2, PFLD_VALID);
	x = stem_conv(build, x, 80, 1, 1, PFLD_VALID);
	x = stem_conv(build, x, 192, 3, 1, PFLD_VALID);
	return pfld_keras_max_pool(build, x, NULL, 3, 2, PFLD_VALID);
}

static pfld_value features(struct pfld_backbone_build *build, pfld_value x)
{
	x = branches(build, stem(build, x), mixed_5b, 4, "mixed_5b");
	for (int i = 1; i <= 10; i++) x = residual(build, x, block35, 3, pfld_layer_name("block35_%d", i).text, 0.17, true);
	x = branches(build, x, mixed_6a, 3, "mixed_6a");
	for (int i = 1; i <= 20; i++) x = residual(build, x, block17, 2, pfld_layer_name("block17_%d", i).text, 0.1, true);
	x = branches(build, x, mixed_7a, 4, "mixed_7a");
	for (int i = 1; i <= 9; i++) x = residual(build, x, block8, 2, pfld_layer_name("block8_%d", i).text, 0.2, true);
	x = residual(build, x, block8, 2, "block8_10", 1, false);
	struct pfld_keras_conv conv = {.name = "conv_7b", .filters = 1536, .kernel_h = 1, .kernel_w = 1};
	x = pfld_keras_norm(build, pfld_keras_conv(build, x, &conv), "conv_7b_bn");
	return pfld_relu(build->net, x, "conv_7b_ac");
}

const struct pfld_backbone_family pfld_inception_resnet_v2_family = {features, pfld_keras_top};
