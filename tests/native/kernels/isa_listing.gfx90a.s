// Instructions that the test kernels' compilers do not emit, with modifiers: for the comparison with LLVM's disassembler.
.text
v_cubesc_f32 v1, v2, -|v3|, v4
v_cubetc_f32 v1, v2, v3, s4
ds_wrxchg2_rtn_b32 v[8:9], v2, v4, v6 offset0:3 offset1:4
ds_wrxchg2_rtn_b64 v[8:11], v2, v[4:5], v[6:7] offset1:255
ds_wrxchg2st64_rtn_b32 v[8:9], v2, v4, v6 offset0:3 offset1:4
ds_wrxchg2st64_rtn_b64 v[8:11], v2, v[4:5], v[6:7] offset1:255
ds_cmpst_f32 v2, v4, v6 offset:16
ds_cmpst_f64 v2, v[4:5], v[6:7]
ds_cmpst_rtn_f32 v8, v2, v4, v6
ds_cmpst_rtn_f64 v[8:9], v2, v[4:5], v[6:7] offset:65535
ds_condxchg32_rtn_b64 v[8:9], v2, v[4:5] offset:8
ds_read_addtid_b32 v8 offset:4
ds_write_addtid_b32 v4
buffer_load_format_x v12, off, s[8:11], s3 glc
buffer_load_format_d16_x v12, v2, s[4:7], 0 offen offset:291
buffer_load_format_xy v[12:13], v2, s[4:7], m0 idxen
buffer_load_format_d16_xy v12, v[2:3], s[8:11], 0.5 idxen offen offset:4095 glc
buffer_load_format_xyz v[12:14], off, s[8:11], s3
buffer_load_format_d16_xyz v[12:13], v2, s[4:7], 0 offen offset:291
buffer_load_format_xyzw v[12:15], v2, s[4:7], m0 idxen glc slc
buffer_load_format_d16_xyzw v[12:13], v[2:3], s[8:11], 0.5 idxen offen offset:4095
buffer_store_format_x v12, off, s[8:11], s3
buffer_store_format_d16_x v12, v2, s[4:7], 0 offen offset:291 slc
buffer_store_format_xy v[12:13], v2, s[4:7], m0 idxen
buffer_store_format_d16_xy v12, v[2:3], s[8:11], 0.5 idxen offen offset:4095
buffer_store_format_xyz v[12:14], off, s[8:11], s3 glc
buffer_store_format_d16_xyz v[12:13], v2, s[4:7], 0 offen offset:291
buffer_store_format_xyzw v[12:15], v2, s[4:7], m0 idxen
buffer_store_format_d16_xyzw v[12:13], v[2:3], s[8:11], 0.5 idxen offen offset:4095 glc
tbuffer_load_format_x v12, off, s[8:11], s3 format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT]
tbuffer_load_format_d16_x v12, v2, s[4:7], 0 format:[BUF_DATA_FORMAT_2_10_10_10,BUF_NUM_FORMAT_USCALED] offen offset:291
tbuffer_load_format_xy v[12:13], v2, s[4:7], m0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] idxen glc slc
tbuffer_load_format_d16_xy v12, v[2:3], s[8:11], 0.5 format:[BUF_DATA_FORMAT_8_8_8_8] idxen offen offset:4095
tbuffer_load_format_xyz v[12:14], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT]
tbuffer_load_format_d16_xyz v[12:13], v2, s[4:7], 0 offen offset:291 slc
tbuffer_load_format_xyzw v[12:15], v2, s[4:7], m0 format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT] idxen
tbuffer_load_format_d16_xyzw v[12:13], v[2:3], s[8:11], 0.5 format:[BUF_DATA_FORMAT_2_10_10_10,BUF_NUM_FORMAT_USCALED] idxen offen offset:4095
tbuffer_store_format_x v12, off, s[8:11], s3 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] glc
tbuffer_store_format_d16_x v12, v2, s[4:7], 0 format:[BUF_DATA_FORMAT_8_8_8_8] offen offset:291
tbuffer_store_format_xy v[12:13], v2, s[4:7], m0 format:[BUF_NUM_FORMAT_SINT] idxen
tbuffer_store_format_d16_xy v12, v[2:3], s[8:11], 0.5 idxen offen offset:4095 glc
tbuffer_store_format_xyz v[12:14], off, s[8:11], s3 format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT]
tbuffer_store_format_d16_xyz v[12:13], v2, s[4:7], 0 format:[BUF_DATA_FORMAT_2_10_10_10,BUF_NUM_FORMAT_USCALED] offen offset:291
tbuffer_store_format_xyzw v[12:15], v2, s[4:7], m0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] idxen glc slc
tbuffer_store_format_d16_xyzw v[12:13], v[2:3], s[8:11], 0.5 format:[BUF_DATA_FORMAT_8_8_8_8] idxen offen offset:4095
tbuffer_load_format_xyzw a[12:15], off, s[8:11], s3
buffer_store_format_d16_xyz a[12:13], off, s[8:11], s3
buffer_load_format_d16_hi_x v12, off, s[8:11], s3
buffer_store_format_d16_hi_x v12, off, s[8:11], s3 offset:4
v_mfma_f32_32x32x8f16 a[0:15], v[2:3], a[4:5], a[0:15]
v_mfma_f32_32x32x8f16 a[0:15], v[2:3], a[4:5], a[0:15] blgp:3
v_mfma_f32_32x32x8f16 a[0:15], v[2:3], a[4:5], a[0:15] blgp:7
v_mfma_f32_32x32x4f16 v[0:31], v[32:33], v[34:35], v[0:31] cbsz:1 abid:1 blgp:3
v_mfma_f64_4x4x4f64 v[2:3], v[4:5], a[6:7], v[8:9]
v_mfma_f64_4x4x4f64 a[2:3], v[4:5], v[6:7], 1.0
v_mfma_f64_16x16x4f64 a[0:7], v[8:9], a[10:11], -4.0
v_fma_mix_f32 v16, |v4|, -v8, -|v16| op_sel_hi:[0,1,1]
v_fma_mixlo_f16 v16, v4, v8, v16
v_fma_mixhi_f16 v16, v4, v8, v16 op_sel:[0,1,0] op_sel_hi:[1,1,1] clamp
v_dot2_f32_f16 v16, v4, v8, v16 op_sel_hi:[1,0,1] neg_lo:[1,0,0]
