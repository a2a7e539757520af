#define KERNCAP_VALU_TABLE "vgpu/isa/valu/cross.inl"
#include "vgpu/isa/valu/both.inl"
