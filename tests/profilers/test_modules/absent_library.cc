// Stands for a library of CUDA's that is missing on a machine: the module that needs it does not
// find it.

extern "C" int EmplaceTestAbsentLibrary() {
  return 1;
}
