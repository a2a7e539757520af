#define KERNCAP_VALU_TABLE "vgpu/isa/valu/convert.inl"
#include "vgpu/isa/valu/both.inl"
