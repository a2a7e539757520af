// Instructions that the test kernels' compilers do not emit, with modifiers: for the comparison with LLVM's disassembler.
.text
v_cubesc_f32 v1, v2, -|v3|, v4
v_cubetc_f32 v1, v2, v3, s4
ds_storexchg_2addr_rtn_b32 v[8:9], v2, v4, v6 offset0:3 offset1:4
ds_storexchg_2addr_rtn_b64 v[8:11], v2, v[4:5], v[6:7] offset1:255
ds_storexchg_2addr_stride64_rtn_b32 v[8:9], v2, v4, v6 offset0:3 offset1:4
ds_storexchg_2addr_stride64_rtn_b64 v[8:11], v2, v[4:5], v[6:7] offset1:255
ds_cmpstore_f32 v2, v4, v6 offset:16
ds_cmpstore_f64 v2, v[4:5], v[6:7]
ds_cmpstore_rtn_f32 v8, v2, v4, v6
ds_cmpstore_rtn_f64 v[8:9], v2, v[4:5], v[6:7] offset:65535
ds_condxchg32_rtn_b64 v[8:9], v2, v[4:5] offset:8
ds_load_addtid_b32 v8 offset:4
ds_store_addtid_b32 v4
buffer_load_format_x v12, off, s[8:11], s3 glc
buffer_load_d16_format_x v12, v2, s[4:7], 0 offen offset:291
buffer_load_format_xy v[12:13], v2, s[4:7], m0 idxen
buffer_load_d16_format_xy v12, v[2:3], s[8:11], 0.5 idxen offen offset:4095 glc slc dlc
buffer_load_format_xyz v[12:14], off, s[8:11], s3
buffer_load_d16_format_xyz v[12:13], v2, s[4:7], 0 offen offset:291
buffer_load_format_xyzw v[12:15], v2, s[4:7], m0 idxen dlc
buffer_load_d16_format_xyzw v[12:13], v[2:3], s[8:11], 0.5 idxen offen offset:4095
buffer_store_format_x v12, off, s[8:11], s3
buffer_store_d16_format_x v12, v2, s[4:7], 0 offen offset:291 slc
buffer_store_format_xy v[12:13], v2, s[4:7], m0 idxen
buffer_store_d16_format_xy v12, v[2:3], s[8:11], 0.5 idxen offen offset:4095
buffer_store_format_xyz v[12:14], off, s[8:11], s3 glc
buffer_store_d16_format_xyz v[12:13], v2, s[4:7], 0 offen offset:291
buffer_store_format_xyzw v[12:15], v2, s[4:7], m0 idxen
buffer_store_d16_format_xyzw v[12:13], v[2:3], s[8:11], 0.5 idxen offen offset:4095 glc slc dlc
tbuffer_load_format_x v12, off, s[8:11], s3 format:[BUF_FMT_INVALID]
tbuffer_load_d16_format_x v12, v2, s[4:7], 0 offen offset:291
tbuffer_load_format_xy v[12:13], v2, s[4:7], m0 format:[BUF_FMT_10_11_11_FLOAT] idxen dlc
tbuffer_load_d16_format_xy v12, v[2:3], s[8:11], 0.5 format:[BUF_FMT_2_10_10_10_USCALED] idxen offen offset:4095
tbuffer_load_format_xyz v[12:14], off, s[8:11], s3 format:100
tbuffer_load_d16_format_xyz v[12:13], v2, s[4:7], 0 format:[BUF_FMT_32_FLOAT] offen offset:291 slc
tbuffer_load_format_xyzw v[12:15], v2, s[4:7], m0 format:[BUF_FMT_8_8_8_8_UNORM] idxen
tbuffer_load_d16_format_xyzw v[12:13], v[2:3], s[8:11], 0.5 format:[BUF_FMT_INVALID] idxen offen offset:4095
tbuffer_store_format_x v12, off, s[8:11], s3 glc
tbuffer_store_d16_format_x v12, v2, s[4:7], 0 format:[BUF_FMT_10_11_11_FLOAT] offen offset:291
tbuffer_store_format_xy v[12:13], v2, s[4:7], m0 format:[BUF_FMT_2_10_10_10_USCALED] idxen
tbuffer_store_d16_format_xy v12, v[2:3], s[8:11], 0.5 format:100 idxen offen offset:4095 glc slc dlc
tbuffer_store_format_xyz v[12:14], off, s[8:11], s3 format:[BUF_FMT_32_FLOAT]
tbuffer_store_d16_format_xyz v[12:13], v2, s[4:7], 0 format:[BUF_FMT_8_8_8_8_UNORM] offen offset:291
tbuffer_store_format_xyzw v[12:15], v2, s[4:7], m0 format:[BUF_FMT_INVALID] idxen dlc
tbuffer_store_d16_format_xyzw v[12:13], v[2:3], s[8:11], 0.5 idxen offen offset:4095
buffer_load_d16_hi_format_x v12, off, s[8:11], s3
buffer_store_d16_hi_format_x v12, off, s[8:11], s3 offset:4
tbuffer_load_format_x v4, off, s[4:7], 0 format:0
tbuffer_load_format_x v4, off, s[4:7], 0 format:1
tbuffer_load_format_x v4, off, s[4:7], 0 format:2
tbuffer_load_format_x v4, off, s[4:7], 0 format:3
tbuffer_load_format_x v4, off, s[4:7], 0 format:4
tbuffer_load_format_x v4, off, s[4:7], 0 format:5
tbuffer_load_format_x v4, off, s[4:7], 0 format:6
tbuffer_load_format_x v4, off, s[4:7], 0 format:7
tbuffer_load_format_x v4, off, s[4:7], 0 format:8
tbuffer_load_format_x v4, off, s[4:7], 0 format:9
tbuffer_load_format_x v4, off, s[4:7], 0 format:10
tbuffer_load_format_x v4, off, s[4:7], 0 format:11
tbuffer_load_format_x v4, off, s[4:7], 0 format:12
tbuffer_load_format_x v4, off, s[4:7], 0 format:13
tbuffer_load_format_x v4, off, s[4:7], 0 format:14
tbuffer_load_format_x v4, off, s[4:7], 0 format:15
tbuffer_load_format_x v4, off, s[4:7], 0 format:16
tbuffer_load_format_x v4, off, s[4:7], 0 format:17
tbuffer_load_format_x v4, off, s[4:7], 0 format:18
tbuffer_load_format_x v4, off, s[4:7], 0 format:19
tbuffer_load_format_x v4, off, s[4:7], 0 format:20
tbuffer_load_format_x v4, off, s[4:7], 0 format:21
tbuffer_load_format_x v4, off, s[4:7], 0 format:22
tbuffer_load_format_x v4, off, s[4:7], 0 format:23
tbuffer_load_format_x v4, off, s[4:7], 0 format:24
tbuffer_load_format_x v4, off, s[4:7], 0 format:25
tbuffer_load_format_x v4, off, s[4:7], 0 format:26
tbuffer_load_format_x v4, off, s[4:7], 0 format:27
tbuffer_load_format_x v4, off, s[4:7], 0 format:28
tbuffer_load_format_x v4, off, s[4:7], 0 format:29
tbuffer_load_format_x v4, off, s[4:7], 0 format:30
tbuffer_load_format_x v4, off, s[4:7], 0 format:31
tbuffer_load_format_x v4, off, s[4:7], 0 format:32
tbuffer_load_format_x v4, off, s[4:7], 0 format:33
tbuffer_load_format_x v4, off, s[4:7], 0 format:34
tbuffer_load_format_x v4, off, s[4:7], 0 format:35
tbuffer_load_format_x v4, off, s[4:7], 0 format:36
tbuffer_load_format_x v4, off, s[4:7], 0 format:37
tbuffer_load_format_x v4, off, s[4:7], 0 format:38
tbuffer_load_format_x v4, off, s[4:7], 0 format:39
tbuffer_load_format_x v4, off, s[4:7], 0 format:40
tbuffer_load_format_x v4, off, s[4:7], 0 format:41
tbuffer_load_format_x v4, off, s[4:7], 0 format:42
tbuffer_load_format_x v4, off, s[4:7], 0 format:43
tbuffer_load_format_x v4, off, s[4:7], 0 format:44
tbuffer_load_format_x v4, off, s[4:7], 0 format:45
tbuffer_load_format_x v4, off, s[4:7], 0 format:46
tbuffer_load_format_x v4, off, s[4:7], 0 format:47
tbuffer_load_format_x v4, off, s[4:7], 0 format:48
tbuffer_load_format_x v4, off, s[4:7], 0 format:49
tbuffer_load_format_x v4, off, s[4:7], 0 format:50
tbuffer_load_format_x v4, off, s[4:7], 0 format:51
tbuffer_load_format_x v4, off, s[4:7], 0 format:52
tbuffer_load_format_x v4, off, s[4:7], 0 format:53
tbuffer_load_format_x v4, off, s[4:7], 0 format:54
tbuffer_load_format_x v4, off, s[4:7], 0 format:55
tbuffer_load_format_x v4, off, s[4:7], 0 format:56
tbuffer_load_format_x v4, off, s[4:7], 0 format:57
tbuffer_load_format_x v4, off, s[4:7], 0 format:58
tbuffer_load_format_x v4, off, s[4:7], 0 format:59
tbuffer_load_format_x v4, off, s[4:7], 0 format:60
tbuffer_load_format_x v4, off, s[4:7], 0 format:61
tbuffer_load_format_x v4, off, s[4:7], 0 format:62
tbuffer_load_format_x v4, off, s[4:7], 0 format:63
flat_atomic_cmpswap_f32 v8, v[2:3], v[4:5] glc
global_atomic_cmpswap_f32 v2, v[4:5], s[2:3]
buffer_atomic_cmpswap_f32 v[4:5], v2, s[4:7], 0 offen glc
v_dot2_f32_f16_e64_dpp v16, v4, v8, v16 op_sel_hi:[1,0,1] neg_lo:[1,0,0] row_shr:15 row_mask:0xf bank_mask:0xf
v_fma_mix_f32_e64_dpp v16, v4, v8, v16 op_sel:[1,0,1] op_sel_hi:[1,0,1] row_shr:15 row_mask:0xf bank_mask:0xf
v_fma_mixlo_f16_e64_dpp v16, v4, v8, v16 op_sel_hi:[1,1,1] clamp row_shr:15 row_mask:0xf bank_mask:0xf
v_fma_mixhi_f16_e64_dpp v16, |v4|, -v8, v16 op_sel_hi:[0,1,1] row_shr:15 row_mask:0xf bank_mask:0xf
v_dot2_f32_f16_e64_dpp v16, v4, v8, v16 op_sel_hi:[1,0,1] neg_lo:[1,0,0] row_share:3 row_mask:0x7 bank_mask:0xe bound_ctrl:1 fi:1
v_fma_mix_f32_e64_dpp v16, v4, v8, v16 op_sel:[1,0,1] op_sel_hi:[1,0,1] row_share:3 row_mask:0x7 bank_mask:0xe bound_ctrl:1 fi:1
v_fma_mixlo_f16_e64_dpp v16, v4, v8, v16 op_sel_hi:[1,1,1] clamp row_share:3 row_mask:0x7 bank_mask:0xe bound_ctrl:1 fi:1
v_fma_mixhi_f16_e64_dpp v16, |v4|, -v8, v16 op_sel_hi:[0,1,1] row_share:3 row_mask:0x7 bank_mask:0xe bound_ctrl:1 fi:1
v_dot2_f32_f16_e64_dpp v16, v4, v8, v16 op_sel_hi:[1,0,1] neg_lo:[1,0,0] quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf
v_fma_mix_f32_e64_dpp v16, v4, v8, v16 op_sel:[1,0,1] op_sel_hi:[1,0,1] quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf
v_fma_mixlo_f16_e64_dpp v16, v4, v8, v16 op_sel_hi:[1,1,1] clamp quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf
v_fma_mixhi_f16_e64_dpp v16, |v4|, -v8, v16 op_sel_hi:[0,1,1] quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf
v_dot2_f32_f16_e64_dpp v16, v4, v8, v16 op_sel_hi:[1,0,1] neg_lo:[1,0,0] dpp8:[7,6,5,4,3,2,1,0]
v_fma_mix_f32_e64_dpp v16, v4, v8, v16 op_sel:[1,0,1] op_sel_hi:[1,0,1] dpp8:[7,6,5,4,3,2,1,0]
v_fma_mixlo_f16_e64_dpp v16, v4, v8, v16 op_sel_hi:[1,1,1] clamp dpp8:[7,6,5,4,3,2,1,0]
v_fma_mixhi_f16_e64_dpp v16, |v4|, -v8, v16 op_sel_hi:[0,1,1] dpp8:[7,6,5,4,3,2,1,0]
v_dot2_f32_f16_e64_dpp v16, v4, v8, v16 op_sel_hi:[1,0,1] neg_lo:[1,0,0] dpp8:[7,6,5,4,3,2,1,0] fi:1
v_fma_mix_f32_e64_dpp v16, v4, v8, v16 op_sel:[1,0,1] op_sel_hi:[1,0,1] dpp8:[7,6,5,4,3,2,1,0] fi:1
v_fma_mixlo_f16_e64_dpp v16, v4, v8, v16 op_sel_hi:[1,1,1] clamp dpp8:[7,6,5,4,3,2,1,0] fi:1
v_fma_mixhi_f16_e64_dpp v16, |v4|, -v8, v16 op_sel_hi:[0,1,1] dpp8:[7,6,5,4,3,2,1,0] fi:1
v_dot2_f16_f16 v1, v2, v3, v4
v_dot2_f16_f16 v1, v2, s3, v4 op_sel:[0,0,1,1]
v_dot2_bf16_bf16 v1, v2, v3, v4
v_dot2_bf16_bf16 v1, v2, v3, v4 op_sel:[0,0,1,0]
v_fma_mix_f32 v16, |v4|, -v8, -|v16| op_sel_hi:[0,1,1]
v_fma_mixlo_f16 v16, v4, v8, v16
v_fma_mixhi_f16 v16, v4, v8, v16 op_sel:[0,1,0] op_sel_hi:[1,1,1] clamp
v_dot2_f32_f16 v16, v4, v8, v16 op_sel_hi:[1,0,1] neg_lo:[1,0,0]
