#define KERNCAP_VALU_TABLE "vgpu/isa/valu/int16.inl"
#include "vgpu/isa/valu/both.inl"
