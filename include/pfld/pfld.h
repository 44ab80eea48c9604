// SPDX-License-Identifier: MIT
// All of libpfld.
#ifndef PFLD_PFLD_H
#define PFLD_PFLD_H

#include <pfld/batch.h>
#include <pfld/data.h>
#include <pfld/device.h>
#include <pfld/digest.h>
#include <pfld/file.h>
#include <pfld/image.h>
#include <pfld/layers.h>
#include <pfld/loss.h>
#include <pfld/metrics.h>
#include <pfld/models.h>
#include <pfld/net.h>
#include <pfld/optimizer.h>
#include <pfld/plan.h>
#include <pfld/program.h>
#include <pfld/report.h>
#include <pfld/schedule.h>
#include <pfld/status.h>
#include <pfld/tensor.h>
#include <pfld/trainer.h>
#include <pfld/weights.h>

#endif
