#define KERNCAP_VALU_TABLE "vgpu/isa/valu/int32.inl"
#include "vgpu/isa/valu/both.inl"
