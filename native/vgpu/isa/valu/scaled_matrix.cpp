#define KERNCAP_VALU_TABLE "vgpu/isa/valu/scaled_matrix.inl"
#include "vgpu/isa/valu/both.inl"
