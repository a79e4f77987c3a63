/* Least squares in plain C, as a model of kimesh: y = w x + b, from the rows of points.csv, whose
   first 48 train and whose last 12 are the test set. Row r is that of node r % nodes.

     cc -O2 -shared -fPIC -I PREFIX/include least_squares.c -o least_squares.so
     kimesh simulate --config config.yaml --topology topology.yaml */
#include <kimesh/objective/plugin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kInputs = 3, kColumns = kInputs + 1, kRowsMax = 1000, kTestRows = 12 };

struct part {
  double rows[kRowsMax][kColumns]; /* the inputs, then y */
  double tolerance;                /* a prediction is correct that misses by no more */
  uint32_t count, node, nodes;
};

static int describe(const kimesh_settings* settings, kimesh_tensors* tensors, kimesh_why* why) {
  const int64_t inputs = kInputs;
  for (uint32_t i = 0; i < settings->option_count; ++i)
    if (strcmp(settings->option_names[i], "tolerance") != 0) {
      snprintf(why->text, why->bytes, "there is no option '%s'", settings->option_names[i]);
      return 1;
    }
  tensors->add(tensors, "w", 1, &inputs);
  tensors->add(tensors, "b", 0, NULL);
  return 0;
}

static int first_point(const kimesh_settings* settings, float* parameters, kimesh_why* why) {
  (void)settings, (void)why;
  memset(parameters, 0, kColumns * sizeof *parameters);
  return 0;
}

static int create(const kimesh_settings* settings, uint32_t node, void** objective,
                  kimesh_why* why) {
  char path[4096];
  snprintf(path, sizeof path, "%s/points.csv", settings->folder);
  FILE* file = fopen(path, "r");
  struct part* part = calloc(1, sizeof *part);
  if (file == NULL || part == NULL) {
    snprintf(why->text, why->bytes, "%s cannot be read", path);
    if (file != NULL) fclose(file);
    free(part);
    return 1;
  }
  double row[kColumns];
  while (part->count < kRowsMax &&
         fscanf(file, "%lf,%lf,%lf,%lf", &row[0], &row[1], &row[2], &row[3]) == kColumns)
    memcpy(part->rows[part->count++], row, sizeof row);
  fclose(file);
  if (part->count < kTestRows + settings->nodes) {
    snprintf(why->text, why->bytes, "%s has %u rows of %d numbers, and %u nodes need more", path,
             (unsigned)part->count, kColumns, (unsigned)settings->nodes);
    free(part);
    return 1;
  }
  part->node = node, part->nodes = settings->nodes;
  part->tolerance = 0.2;
  for (uint32_t i = 0; i < settings->option_count; ++i)
    part->tolerance = atof(settings->option_values[i]);
  *objective = part;
  return 0;
}

static double miss(const double* row, const float* w) {
  double sum = w[kInputs] - row[kInputs];
  for (int j = 0; j < kInputs; ++j) sum += w[j] * row[j];
  return sum;
}

/* Every batch is all rows of the node: the mean of half the squares. */
static int gradient(void* objective, uint64_t batch, const float* parameters, float* gradient,
                    kimesh_gradient_result* result, kimesh_why* why) {
  const struct part* part = objective;
  double sum[kColumns] = {0};
  (void)batch, (void)why;
  for (uint32_t r = part->node; r < part->count - kTestRows; r += part->nodes) {
    const double missed = miss(part->rows[r], parameters);
    for (int j = 0; j < kInputs; ++j) sum[j] += missed * part->rows[r][j];
    sum[kInputs] += missed;
    result->loss += 0.5 * missed * missed;
    ++result->samples;
  }
  for (int j = 0; j < kColumns; ++j) gradient[j] = (float)(sum[j] / (double)result->samples);
  result->loss /= (double)result->samples;
  return 0;
}

static void evaluate(void* objective, const float* parameters, kimesh_evaluation_result* result) {
  const struct part* part = objective;
  for (uint32_t r = part->count - kTestRows + part->node; r < part->count; r += part->nodes) {
    const double missed = miss(part->rows[r], parameters);
    result->correct += fabs(missed) <= part->tolerance;
    result->loss_sum += 0.5 * missed * missed;
    ++result->samples;
  }
}

const kimesh_plugin kimesh_model = {
    KIMESH_PLUGIN_ABI, "least_squares-1", describe, first_point, create, gradient, evaluate, free};
