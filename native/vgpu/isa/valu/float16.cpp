#define KERNCAP_VALU_TABLE "vgpu/isa/valu/float16.inl"
#include "vgpu/isa/valu/both.inl"
