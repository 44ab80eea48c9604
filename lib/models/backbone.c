// SPDX-License-Identifier: MIT
// The image classifiers' common parts: names, sizes, preprocessing, and Keras's layers with Keras's defaults. The nets
// themselves are one file a family.
#include "models/backbone.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	struct pfld_backbone_info info;
	const struct pfld_backbone_family *family;
	double bn_momentum; // Keras's 0.99 is 0.01 here
	bool bn_no_gamma;
} backbones[PFLD_NUM_BACKBONES] = {
	[PFLD_VGG16] = {{"vgg16", 224, 32, false, PFLD_PREPROCESS_CAFFE}, &pfld_vgg_family, 0, false},
	[PFLD_VGG19] = {{"vgg19", 224, 32, false, PFLD_PREPROCESS_CAFFE}, &pfld_vgg_family, 0, false},
	[PFLD_XCEPTION] = {{"xception", 299, 71, false, PFLD_PREPROCESS_TF}, &pfld_xception_family, 0.01, false},
	[PFLD_INCEPTION_RESNET_V2] = {{"inception_resnet_v2", 299, 75, false, PFLD_PREPROCESS_TF},
								  &pfld_inception_resnet_v2_family,
								  0.01,
								  true},
	[PFLD_MOBILENET_V1] = {{"mobilenet_v1", 224, 32, true, PFLD_PREPROCESS_TF}, &pfld_mobilenet_v1_family, 0.01, false},
	[PFLD_MOBILENET_V2] = {{"mobilenet_v2", 224, 32, true, PFLD_PREPROCESS_TF},
						   &pfld_mobilenet_v2_family,
						   0.001,
						   false},
	[PFLD_SQUEEZENET] = {{"squeezenet", 224, 48, false, PFLD_PREPROCESS_CAFFE}, &pfld_squeezenet_family, 0, false},
};
static const char *const preprocessing_names[PFLD_NUM_PREPROCESSINGS] = {"none", "tf", "caffe", "torch"};

bool pfld_backbone_get_info(enum pfld_backbone backbone, struct pfld_backbone_info *info)
{
	if ((unsigned)backbone >= PFLD_NUM_BACKBONES) return false;
	*info = backbones[backbone].info;
	return true;
}

bool pfld_backbone_from_name(const char *name, enum pfld_backbone *backbone)
{
	for (int i = 0; name && i < PFLD_NUM_BACKBONES; i++)
		if (!strcmp(name, backbones[i].info.name)) {
			*backbone = (enum pfld_backbone)i;
			return true;
		}
	return false;
}

const char *pfld_preprocessing_name(enum pfld_preprocessing preprocessing)
{
	return (unsigned)preprocessing < PFLD_NUM_PREPROCESSINGS ? preprocessing_names[preprocessing] : "unknown";
}

bool pfld_preprocessing_from_name(const char *name, enum pfld_preprocessing *preprocessing)
{
	for (int i = 0; name && i < PFLD_NUM_PREPROCESSINGS; i++)
		if (!strcmp(name, preprocessing_names[i])) {
			*preprocessing = (enum pfld_preprocessing)i;
			return true;
		}
	return false;
}

void pfld_preprocess(enum pfld_preprocessing preprocessing, float *rgb, size_t num_pixels)
{
	static const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
	for (float *p = rgb, *end = rgb + 3 * num_pixels; p < end; p += 3) {
		float r = p[0], b = p[2];
		switch (preprocessing) {
		case PFLD_PREPROCESS_TF:
			for (int c = 0; c < 3; c++) p[c] = p[c] / 127.5f - 1;
			break;
		case PFLD_PREPROCESS_CAFFE:
			p[0] = b - 103.939f;
			p[1] -= 116.779f;
			p[2] = r - 123.68f;
			break;
		case PFLD_PREPROCESS_TORCH:
			for (int c = 0; c < 3; c++) p[c] = (p[c] / 255 - mean[c]) / deviation[c];
			break;
		default: return;
		}
	}
}

// ---- parts ----

struct pfld_layer_name pfld_layer_name(const char *format, ...)
{
	struct pfld_layer_name name;
	va_list args;
	va_start(args, format);
	vsnprintf(name.text, sizeof name.text, format, args);
	va_end(args);
	return name;
}

struct pfld_layer_name pfld_automatic_name(const char *kind, int32_t *count)
{
	int32_t number = (*count)++;
	return number ? pfld_layer_name("%s_%d", kind, (int)number) : pfld_layer_name("%s", kind);
}

pfld_value pfld_keras_conv(const struct pfld_backbone_build *build, pfld_value x, const struct pfld_keras_conv *conv)
{
	if (conv->filters)
		return pfld_conv2d(build->net, x,
						   &(struct pfld_conv2d_options){
							   .name = conv->name,
							   .filters = conv->filters,
							   .kernel = {conv->kernel_h, conv->kernel_w},
							   .stride = {conv->stride, conv->stride},
							   .padding = conv->padding,
							   .pad_extra = {conv->pad_extra[0], conv->pad_extra[1]},
							   .no_bias = !conv->bias,
							   .kernel_init = PFLD_INIT_GLOROT_UNIFORM,
							   .bias_init = PFLD_INIT_ZERO,
						   });
	return pfld_depthwise_conv2d(build->net, x,
								 &(struct pfld_depthwise_options){
									 .name = conv->name,
									 .kernel = {conv->kernel_h, conv->kernel_w},
									 .stride = {conv->stride, conv->stride},
									 .padding = conv->padding,
									 .pad_extra = {conv->pad_extra[0], conv->pad_extra[1]},
									 .no_bias = !conv->bias,
									 .kernel_init = PFLD_INIT_GLOROT_UNIFORM,
									 .bias_init = PFLD_INIT_ZERO,
								 });
}

pfld_value pfld_keras_norm(const struct pfld_backbone_build *build, pfld_value x, const char *name)
{
	return pfld_batch_norm(build->net, x,
						   &(struct pfld_batch_norm_options){.name = name,
															 .epsilon = 1e-3,
															 .momentum = build->bn_momentum,
															 .biased_moving_variance = true,
															 .no_gamma = build->bn_no_gamma});
}

pfld_value pfld_keras_max_pool(const struct pfld_backbone_build *build, pfld_value x, const char *name, int32_t kernel,
							   int32_t stride, enum pfld_padding padding)
{
	return pfld_max_pool(build->net, x,
						 &(struct pfld_pool_options){
							 .name = name, .kernel = {kernel, kernel}, .stride = {stride, stride}, .padding = padding});
}

pfld_value pfld_keras_dense(const struct pfld_backbone_build *build, pfld_value x, const char *name, int32_t units)
{
	return pfld_linear(
		build->net, x,
		&(struct pfld_linear_options){
			.name = name, .units = units, .kernel_init = PFLD_INIT_GLOROT_UNIFORM, .bias_init = PFLD_INIT_ZERO});
}

pfld_value pfld_keras_softmax(const struct pfld_backbone_build *build, pfld_value x, const char *name)
{
	return build->options->logits ? x : pfld_softmax(build->net, x, name);
}

pfld_value pfld_keras_top(struct pfld_backbone_build *build, pfld_value features)
{
	pfld_value x = pfld_global_avg_pool(build->net, features, "avg_pool");
	x = pfld_keras_dense(build, x, "predictions", build->options->num_classes);
	return pfld_keras_softmax(build, x, "predictions_softmax");
}

// ---- the whole ----

// Options with the defaults in them. False: the net has an error now.
static bool complete(struct pfld_net *net, struct pfld_backbone_options *o)
{
	struct pfld_backbone_info info;
	if (!pfld_backbone_get_info(o->backbone, &info)) {
		pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "there is no backbone number %d", (int)o->backbone);
		return false;
	}
	if (!o->height) o->height = info.default_size;
	if (!o->width) o->width = info.default_size;
	if (o->alpha == 0) o->alpha = 1;
	if (!o->num_classes) o->num_classes = 1000;
	if (o->height < info.minimum_size || o->width < info.minimum_size || o->height > 4096 || o->width > 4096)
		pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT,
					  "the input of %s is %d x %d; it must be at least %d x %d and at most 4096", info.name,
					  (int)o->height, (int)o->width, (int)info.minimum_size, (int)info.minimum_size);
	if (!info.has_alpha && o->alpha != 1) pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "%s has no alpha", info.name);
	if (!(o->alpha >= 0.05 && o->alpha <= 8))
		pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "the alpha of %s must lie in 0.05..8", info.name);
	if (o->num_classes < 1 || o->num_classes > 1000000)
		pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "%s needs 1 to 1000000 classes, got %d", info.name,
					  (int)o->num_classes);
	return pfld_net_check(net, NULL) == PFLD_OK;
}

struct pfld_backbone_values pfld_model_backbone(struct pfld_net *net, const struct pfld_backbone_options *options)
{
	struct pfld_backbone_values values = {0};
	struct pfld_backbone_options o = options ? *options : (struct pfld_backbone_options){0};
	if (!net || !complete(net, &o)) return values;
	struct pfld_backbone_build build = {.net = net,
										.options = &o,
										.bn_momentum = backbones[o.backbone].bn_momentum,
										.bn_no_gamma = backbones[o.backbone].bn_no_gamma};
	const struct pfld_backbone_family *family = backbones[o.backbone].family;
	values.image = pfld_input(net, "image", o.height, o.width, 3);
	values.features = values.output = family->features(&build, values.image);
	if (o.include_top)
		values.output = family->top(&build, values.features);
	else if (o.pooling == PFLD_POOLING_AVG)
		values.output = pfld_global_avg_pool(net, values.features, "avg_pool");
	else if (o.pooling == PFLD_POOLING_MAX)
		values.output = pfld_global_max_pool(net, values.features, "max_pool");
	return values;
}
