// The program `kimesh` of a bundle: starts lib/kimesh beside it with the loader and the libraries
// of the bundle, and nothing of the machine's. Linked statically, for a folder may have no loader
// where programs look for it. LOADER: the name of the bundle's, from make.sh.
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef LOADER
#error "make.sh says which loader"
#endif

enum { kPath = PATH_MAX + 64, kOwnWords = 6 };

int main(int count, char** words) {
  static char self[PATH_MAX], folder[PATH_MAX], loader[kPath], libraries[kPath], program[kPath];
  // Without /proc, as in an empty root, the name that it was called by has to do.
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
    snprintf(self, sizeof(self), "%s", words[0]);
  memcpy(folder, self, sizeof(folder));
  const char* in = dirname(folder);
  snprintf(loader, sizeof(loader), "%s/lib/%s", in, LOADER);
  snprintf(libraries, sizeof(libraries), "%s/lib", in);
  snprintf(program, sizeof(program), "%s/lib/kimesh", in);
  char** all = calloc((size_t)count + kOwnWords + 1, sizeof(char*));
  if (all == NULL) return 1;
  char* own[kOwnWords] = {loader, "--library-path", libraries, "--argv0", words[0], program};
  memcpy(all, own, sizeof(own));
  for (int i = 1; i < count; ++i) all[kOwnWords + i - 1] = words[i];
  // What `kimesh up` starts its nodes with: to the system the loader is the program.
  setenv("KIMESH_LAUNCHER", self, 1);
  execv(loader, all);
  perror(loader);
  return 1;
}
