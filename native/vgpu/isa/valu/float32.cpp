#define KERNCAP_VALU_TABLE "vgpu/isa/valu/float32.inl"
#include "vgpu/isa/valu/both.inl"
