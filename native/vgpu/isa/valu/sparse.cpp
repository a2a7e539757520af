#define KERNCAP_VALU_TABLE "vgpu/isa/valu/sparse.inl"
#include "vgpu/isa/valu/both.inl"
