#define KERNCAP_VALU_TABLE "vgpu/isa/valu/packed.inl"
#include "vgpu/isa/valu/both.inl"
