#define KERNCAP_VALU_TABLE "vgpu/isa/valu/scaled.inl"
#include "vgpu/isa/valu/both.inl"
