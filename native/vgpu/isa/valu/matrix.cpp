#define KERNCAP_VALU_TABLE "vgpu/isa/valu/matrix.inl"
#include "vgpu/isa/valu/both.inl"
