// SPDX-License-Identifier: MIT
// Which array of a Keras file is which parameter: the layer by its name, by its rank among automatic names, or by its
// rank among layers of its class; the parameter by its name, or by its place in the layer. See keras_match.h.
#include "train/keras_match.h"

#include <stdlib.h>
#include <string.h>

static const char *tail_of(const struct pfld_net *net, int32_t param)
{
	return strrchr(net->params[param].info.name, '/') + 1;
}

static const char *kind_of(const struct pfld_net *net, const struct pfld_keras_group *group)
{
	bool depthwise = false;
	for (int32_t i = group->first; i < group->first + group->num; i++) {
		if (!strcmp(tail_of(net, i), "pointwise_kernel")) return "separable_conv2d";
		if (!strcmp(tail_of(net, i), "depthwise_kernel")) depthwise = true;
	}
	if (depthwise) return "depthwise_conv2d";
	const struct pfld_layer_kind *kind = net->layers[net->params[group->first].layer].kind;
	if (kind == &pfld_layer_conv2d) return "conv2d";
	if (kind == &pfld_layer_linear) return "dense";
	return kind == &pfld_layer_batch_norm ? "batch_normalization" : "p_re_lu";
}

enum pfld_status pfld_keras_groups(struct pfld_keras_group **groups, size_t *num, const struct pfld_net *net,
								   struct pfld_error *error)
{
	struct pfld_keras_group *fresh = pfld_calloc(net->num_params + 1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, net->num_params * sizeof *fresh, "the layers of a net");
	size_t count = 0;
	for (size_t i = 0; i < net->num_params; i++) {
		const char *name = net->params[i].info.name;
		size_t length = (size_t)(strrchr(name, '/') - name);
		struct pfld_keras_group *last = count ? &fresh[count - 1] : NULL;
		if (last && last->length == length && !strncmp(last->name, name, length))
			last->num++;
		else
			fresh[count++] = (struct pfld_keras_group){.name = name, .length = length, .first = (int32_t)i, .num = 1};
	}
	for (size_t i = 0; i < count; i++) fresh[i].kind = kind_of(net, &fresh[i]);
	*groups = fresh;
	*num = count;
	return PFLD_OK;
}

// ---- layers ----

// A name that Keras gave: its class, number, and how many smaller numbers there are.
struct automatic {
	int32_t kind;
	int64_t number;
	int32_t rank;
};
struct matcher {
	const struct pfld_keras_file *file;
	const struct pfld_net *net;
	struct pfld_keras_group *groups;
	size_t num_groups;
	struct automatic *automatic_groups, *automatic_entries;
};

static int32_t group_named(const struct matcher *m, const char *name, size_t length)
{
	for (size_t i = 0; i < m->num_groups; i++)
		if (m->groups[i].length == length && !strncmp(m->groups[i].name, name, length)) return (int32_t)i;
	return -1;
}

static const char *const automatic_kinds[] = {
	"conv2d", "batch_normalization", "depthwise_conv2d", "separable_conv2d", "dense", "p_re_lu"};

// "conv2d" or "conv2d_12": a name that Keras gave, with its number. kind -1: another name.
static struct automatic automatic_of(const char *name, size_t length)
{
	struct automatic found = {.kind = -1};
	char text[64];
	if (length >= sizeof text) return found;
	memcpy(text, name, length);
	text[length] = '\0';
	size_t kind_length = pfld_keras_split_number(text, &found.number);
	for (size_t k = 0; k < PFLD_COUNT(automatic_kinds); k++)
		if (kind_length == strlen(automatic_kinds[k]) && !strncmp(text, automatic_kinds[k], kind_length))
			found.kind = (int32_t)k;
	return found;
}

static void rank(struct automatic *all, size_t num)
{
	for (size_t i = 0; i < num; i++)
		for (size_t j = 0; j < num; j++) all[i].rank += all[j].kind == all[i].kind && all[j].number < all[i].number;
}

// Automatic names go on counting within a process, and begin with 1 in old files: the rank among them decides.
static enum pfld_status rank_automatic_names(struct matcher *m, struct pfld_error *error)
{
	size_t num = pfld_keras_num_entries(m->file);
	m->automatic_groups = pfld_calloc(m->num_groups + 1, sizeof *m->automatic_groups);
	m->automatic_entries = pfld_calloc(num + 1, sizeof *m->automatic_entries);
	if (!m->automatic_groups || !m->automatic_entries)
		return pfld_fail_memory(error, (num + m->num_groups) * sizeof *m->automatic_entries, "names of layers");
	for (size_t i = 0; i < m->num_groups; i++)
		m->automatic_groups[i] = automatic_of(m->groups[i].name, m->groups[i].length);
	for (size_t i = 0; i < num; i++) {
		const struct pfld_keras_entry *entry = pfld_keras_entry(m->file, i);
		// One of each layer counts.
		if (entry->layer && entry->index == 0)
			m->automatic_entries[i] = automatic_of(entry->layer, strlen(entry->layer));
		else
			m->automatic_entries[i].kind = -1;
	}
	rank(m->automatic_groups, m->num_groups);
	rank(m->automatic_entries, num);
	return PFLD_OK;
}

static int32_t group_by_automatic_name(const struct matcher *m, size_t entry)
{
	const struct automatic *wanted = &m->automatic_entries[entry];
	for (size_t i = 0; wanted->kind >= 0 && i < m->num_groups; i++)
		if (m->automatic_groups[i].kind == wanted->kind && m->automatic_groups[i].rank == wanted->rank)
			return (int32_t)i;
	return -1;
}

static int32_t group_by_class(const struct matcher *m, const struct pfld_keras_entry *entry)
{
	int32_t in_file = 0, in_net = 0, found = -1;
	for (size_t i = 0; i < pfld_keras_num_entries(m->file); i++) {
		const struct pfld_keras_entry *other = pfld_keras_entry(m->file, i);
		in_file += other->index == 0 && !strcmp(other->kind, entry->kind);
	}
	for (size_t i = 0; i < m->num_groups; i++) {
		if (strcmp(m->groups[i].kind, entry->kind) != 0) continue;
		if (in_net++ == entry->rank) found = (int32_t)i;
	}
	return in_file == in_net ? found : -1;
}

static int32_t group_of(const struct matcher *m, size_t index)
{
	const struct pfld_keras_entry *entry = pfld_keras_entry(m->file, index);
	if (!entry->layer) return group_by_class(m, entry);
	int32_t group = group_by_automatic_name(m, index);
	if (group < 0) group = group_named(m, entry->layer, strlen(entry->layer));
	if (group >= 0 || !entry->scope) return group;
	// A layer within a model: by its own name, with or without the model's before it.
	group = group_named(m, entry->scope, strlen(entry->scope));
	const char *slash = strrchr(entry->scope, '/');
	return group < 0 && slash ? group_named(m, slash + 1, strlen(slash + 1)) : group;
}

// ---- parameters ----

static int32_t param_of(const struct matcher *m, const struct pfld_keras_entry *entry,
						const struct pfld_keras_group *group)
{
	for (int32_t i = group->first; entry->variable && i < group->first + group->num; i++) {
		const char *own = tail_of(m->net, i);
		// Keras 3 calls a depthwise kernel a kernel.
		bool depthwise = !strcmp(entry->variable, "kernel") && !strcmp(own, "depthwise_kernel") &&
						 !strcmp(group->kind, "depthwise_conv2d");
		if (depthwise || !strcmp(entry->variable, own)) return i;
	}
	if (entry->variable || entry->num != group->num) return -1;
	return group->first + entry->index;
}

enum pfld_status pfld_keras_match(const struct pfld_keras_file *file, const struct pfld_net *net,
								  int32_t *entry_of_param, struct pfld_error *error)
{
	struct matcher m = {.file = file, .net = net};
	enum pfld_status status = pfld_keras_groups(&m.groups, &m.num_groups, net, error);
	if (!status) status = rank_automatic_names(&m, error);
	for (size_t i = 0; i < net->num_params; i++) entry_of_param[i] = -1;
	int32_t group = -1;
	for (size_t i = 0; !status && i < pfld_keras_num_entries(file); i++) {
		const struct pfld_keras_entry *entry = pfld_keras_entry(file, i),
									  *before = i ? pfld_keras_entry(file, i - 1) : NULL;
		// Arrays of one layer come one after the other, and share its name.
		bool same = before && entry->index && before->layer == entry->layer && before->kind == entry->kind;
		if (!same) group = group_of(&m, i);
		int32_t param = group >= 0 ? param_of(&m, entry, &m.groups[group]) : -1;
		if (param >= 0 && entry_of_param[param] < 0) entry_of_param[param] = (int32_t)i;
	}
	free(m.automatic_groups);
	free(m.automatic_entries);
	free(m.groups);
	return status;
}
