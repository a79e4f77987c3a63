/* A plugin that breaks where its option `break` says, and another build of it for each thing that is
   wrong before any function is called. */
#include <kimesh/objective/plugin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int breaks(const kimesh_settings* settings, const char* place) {
  for (uint32_t i = 0; i < settings->option_count; ++i)
    if (strcmp(settings->option_names[i], "break") == 0 &&
        strcmp(settings->option_values[i], place) == 0)
      return 1;
  return 0;
}

static int refuse(kimesh_why* why, const char* place) {
  snprintf(why->text, why->bytes, "it was told to break in %s.\n", place);
  return 1;
}

static int describe(const kimesh_settings* settings, kimesh_tensors* tensors, kimesh_why* why) {
  const int64_t shape[2] = {2, breaks(settings, "shape") ? 0 : 3};
  const int64_t huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40};
  if (breaks(settings, "describe")) return refuse(why, "describe");
  if (breaks(settings, "silent")) return 1;
  if (breaks(settings, "tensors")) return 0;
  tensors->add(tensors, breaks(settings, "name") ? "a b" : "w", 2, shape);
  tensors->add(tensors, breaks(settings, "same") ? "w" : "b", 1, shape);
  if (breaks(settings, "huge")) tensors->add(tensors, "huge", 2, huge);
  return 0;
}

static int first_point(const kimesh_settings* settings, float* parameters, kimesh_why* why) {
  if (breaks(settings, "first_point")) return refuse(why, "first_point");
  for (int i = 0; i < 8; ++i) parameters[i] = (float)i + (float)settings->seed;
  if (breaks(settings, "nan_point")) parameters[7] = NAN;
  return 0;
}

static int create(const kimesh_settings* settings, uint32_t node, void** objective,
                  kimesh_why* why) {
  if (node == 1 && breaks(settings, "create")) return refuse(why, "create");
  *objective = (void*)settings;
  return 0;
}

static int gradient(void* objective, uint64_t batch, const float* parameters, float* gradient,
                    kimesh_gradient_result* result, kimesh_why* why) {
  const kimesh_settings* settings = objective;
  if (batch == 3 && breaks(settings, "gradient")) return refuse(why, "gradient");
  while (batch == 3 && breaks(settings, "hang")) pause();
  for (int i = 0; i < 8; ++i) gradient[i] = 2 * parameters[i];
  if (breaks(settings, "nan_gradient")) gradient[6] = NAN;
  result->loss = breaks(settings, "nan_loss") ? NAN : 5;
  result->samples = breaks(settings, "samples") ? 0 : 4;
  return 0;
}

static void evaluate(void* objective, const float* parameters, kimesh_evaluation_result* result) {
  (void)parameters;
  result->samples = 3;
  result->correct = breaks(objective, "correct") ? 4 : 2;
  result->loss_sum = 1.5;
}

static void destroy(void* objective) {
  (void)objective;
}

#ifndef PLUGIN_ABI
#define PLUGIN_ABI KIMESH_PLUGIN_ABI
#endif
#ifndef PLUGIN_NAME
#define PLUGIN_NAME "broken"
#endif
#ifndef PLUGIN_GRADIENT
#define PLUGIN_GRADIENT gradient
#endif
#ifndef PLUGIN_SYMBOL
#define PLUGIN_SYMBOL kimesh_model
#endif
const kimesh_plugin PLUGIN_SYMBOL = {PLUGIN_ABI, PLUGIN_NAME,     describe, first_point,
                                     create,     PLUGIN_GRADIENT, evaluate, destroy};

/* Uses what one build leaves out. */
int (*const kept)(void*, uint64_t, const float*, float*, kimesh_gradient_result*,
                  kimesh_why*) = gradient;
