#define KERNCAP_VALU_TABLE "vgpu/isa/valu/wmma12.inl"
#include "vgpu/isa/valu/both.inl"
