#define KERNCAP_VALU_TABLE "vgpu/isa/valu/int64.inl"
#include "vgpu/isa/valu/both.inl"
