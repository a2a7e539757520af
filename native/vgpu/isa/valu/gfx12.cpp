#define KERNCAP_VALU_TABLE "vgpu/isa/valu/gfx12.inl"
#include "vgpu/isa/valu/both.inl"
