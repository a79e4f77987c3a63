/* What a shared library exports to be `model: {kind: plugin, library: ./mine.so}`: an objective of
   its own, with its data, in C or any language that speaks C. This header needs nothing of kimesh,
   and no library of kimesh is linked:

     cc -O2 -shared -fPIC -I PREFIX/include mine.c -o mine.so

   The library exports one object, `const kimesh_plugin kimesh_model`. examples/plugin is a whole
   one, docs/add-a-model.md tells the rest.

   Vectors are float32, on the host, aligned to 64 bytes; their elements are those of the tensors in
   the order in which describe() adds them, row-major, without gaps.

   Threads. describe() and first_point() are called before any objective is made, one at a time. A
   process may hold several objectives, one for each of its nodes: calls of one objective come one
   at a time, each on any thread; calls of different ones may come at the same moment. So what
   objectives share is constant, or locked. A thread that the library starts ends in destroy().

   Errors. A function that returns an int gives 0, or anything else after it has said in `why` what
   is wrong, in one sentence without a full stop and without the library's name: kimesh adds these.
   C++ exceptions must not leave a function.

   A library once loaded stays until the process ends. Nodes may run on unlike machines, each with a
   library built for it: what all must agree on is `name`, the config's `options`, and the tensors'
   names and shapes, and not the library's bytes. */
#ifndef KIMESH_OBJECTIVE_PLUGIN_H
#define KIMESH_OBJECTIVE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. It rises when a library built with an older one could no longer be
   used; kimesh refuses all others than its own. */
#define KIMESH_PLUGIN_ABI 1u

/* Where a function says what is wrong: snprintf(why->text, why->bytes, ...). Never null. */
typedef struct kimesh_why {
  char* text;   /* [bytes], "" before the call */
  size_t bytes; /* 1024 at least, the terminating 0 included */
} kimesh_why;

/* What the config says; the same on all nodes but for `folder`. Valid during the
   call, and as long as an objective lives that was made with it. */
typedef struct kimesh_settings {
  const char* folder;    /* of the library, absolute, no slash at its end: its data may be there */
  uint32_t option_count; /* entries of `options:` in the config */
  const char* const* option_names;  /* [option_count], UTF-8, ends with 0 */
  const char* const* option_values; /* [option_count] */
  uint64_t seed;                    /* of everything that is drawn by chance */
  uint32_t nodes;                   /* of the mesh; 1 in `kimesh eval` */
} kimesh_settings;

/* Takes the tensors that are trained, one call each. `shape`: [dimensions], each at least 1; a
   scalar has none. `name`: 1 to 200 characters from '!' to '~', unlike the others. Copies both. */
typedef struct kimesh_tensors {
  void (*add)(struct kimesh_tensors* self, const char* name, uint32_t dimensions,
              const int64_t* shape);
} kimesh_tensors;

/* Of one batch. */
typedef struct kimesh_gradient_result {
  double loss;      /* mean over the batch, before the update */
  uint64_t samples; /* of the batch */
} kimesh_gradient_result;

/* Sums over a node's part of the test set. The mesh adds those of all nodes. */
typedef struct kimesh_evaluation_result {
  uint64_t correct, samples; /* at most `samples` are correct */
  double loss_sum;           /* over the samples */
} kimesh_evaluation_result;

typedef struct kimesh_plugin {
  uint32_t abi;     /* KIMESH_PLUGIN_ABI */
  const char* name; /* of the model, and its version if it has one: nodes must have the same */

  /* The model of these settings. */
  int (*describe)(const kimesh_settings* settings, kimesh_tensors* tensors, kimesh_why* why);
  /* Fills the vector with the point that the run starts from: a function of the settings alone, in
     the same bits on every node. `parameters` is 0 before. */
  int (*first_point)(const kimesh_settings* settings, float* parameters, kimesh_why* why);
  /* Makes the objective of node number `node`, which counts from 0 in the order of the topology.
     What may fail later (files, memory) is to fail here. */
  int (*create)(const kimesh_settings* settings, uint32_t node, void** objective, kimesh_why* why);
  /* Overwrites `gradient` with that of this node's batch number `batch` at `parameters`, and fills
     `result`, which is 0 before. Batches count from 0; the same number means the same batch, also
     in a run that goes on from a checkpoint. Every element is finite, else the node ends and names
     the tensor. */
  int (*gradient)(void* objective, uint64_t batch, const float* parameters, float* gradient,
                  kimesh_gradient_result* result, kimesh_why* why);
  /* Scores `parameters` on this node's part of one common test set, the parts being disjoint. Null:
     there is no test set. It cannot fail. `result` is 0 before. */
  void (*evaluate)(void* objective, const float* parameters, kimesh_evaluation_result* result);
  void (*destroy)(void* objective);
} kimesh_plugin;

/* What the library defines, and all that kimesh looks for in it. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const kimesh_plugin kimesh_model;

#ifdef __cplusplus
}
#endif

#endif
