#define KERNCAP_VALU_TABLE "vgpu/isa/valu/wmma.inl"
#include "vgpu/isa/valu/both.inl"
