#define KERNCAP_VALU_TABLE "vgpu/isa/valu/float64.inl"
#include "vgpu/isa/valu/both.inl"
