#define KERNCAP_VALU_TABLE "vgpu/isa/valu/divide.inl"
#include "vgpu/isa/valu/both.inl"
