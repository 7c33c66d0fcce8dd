// A module whose library is missing.

extern "C" int EmplaceTestAbsentLibrary();

extern "C" int EmplaceGpuModule() {
  return EmplaceTestAbsentLibrary();
}
