#define KERNCAP_VALU_TABLE "vgpu/isa/valu/compare.inl"
#include "vgpu/isa/valu/both.inl"
