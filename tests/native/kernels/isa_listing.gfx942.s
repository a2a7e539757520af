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
buffer_load_format_x v12, off, s[8:11], s3 sc0
buffer_load_format_d16_x v12, v2, s[4:7], 0 offen offset:291
buffer_load_format_xy v[12:13], v2, s[4:7], m0 idxen
buffer_load_format_d16_xy v12, v[2:3], s[8:11], 0.5 idxen offen offset:4095 sc0 nt sc1
buffer_load_format_xyz v[12:14], off, s[8:11], s3
buffer_load_format_d16_xyz v[12:13], v2, s[4:7], 0 offen offset:291
buffer_load_format_xyzw v[12:15], v2, s[4:7], m0 idxen sc0 sc1
buffer_load_format_d16_xyzw v[12:13], v[2:3], s[8:11], 0.5 idxen offen offset:4095
buffer_store_format_x v12, off, s[8:11], s3
buffer_store_format_d16_x v12, v2, s[4:7], 0 offen offset:291 nt
buffer_store_format_xy v[12:13], v2, s[4:7], m0 idxen
buffer_store_format_d16_xy v12, v[2:3], s[8:11], 0.5 idxen offen offset:4095
buffer_store_format_xyz v[12:14], off, s[8:11], s3 sc0
buffer_store_format_d16_xyz v[12:13], v2, s[4:7], 0 offen offset:291
buffer_store_format_xyzw v[12:15], v2, s[4:7], m0 idxen
buffer_store_format_d16_xyzw v[12:13], v[2:3], s[8:11], 0.5 idxen offen offset:4095 sc0 nt sc1
tbuffer_load_format_x v12, off, s[8:11], s3 format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT]
tbuffer_load_format_d16_x v12, v2, s[4:7], 0 format:[BUF_DATA_FORMAT_2_10_10_10,BUF_NUM_FORMAT_USCALED] offen offset:291
tbuffer_load_format_xy v[12:13], v2, s[4:7], m0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] idxen sc0 sc1
tbuffer_load_format_d16_xy v12, v[2:3], s[8:11], 0.5 format:[BUF_DATA_FORMAT_8_8_8_8] idxen offen offset:4095
tbuffer_load_format_xyz v[12:14], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT]
tbuffer_load_format_d16_xyz v[12:13], v2, s[4:7], 0 offen offset:291 nt
tbuffer_load_format_xyzw v[12:15], v2, s[4:7], m0 format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT] idxen
tbuffer_load_format_d16_xyzw v[12:13], v[2:3], s[8:11], 0.5 format:[BUF_DATA_FORMAT_2_10_10_10,BUF_NUM_FORMAT_USCALED] idxen offen offset:4095
tbuffer_store_format_x v12, off, s[8:11], s3 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] sc0
tbuffer_store_format_d16_x v12, v2, s[4:7], 0 format:[BUF_DATA_FORMAT_8_8_8_8] offen offset:291
tbuffer_store_format_xy v[12:13], v2, s[4:7], m0 format:[BUF_NUM_FORMAT_SINT] idxen
tbuffer_store_format_d16_xy v12, v[2:3], s[8:11], 0.5 idxen offen offset:4095 sc0 nt sc1
tbuffer_store_format_xyz v[12:14], off, s[8:11], s3 format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT]
tbuffer_store_format_d16_xyz v[12:13], v2, s[4:7], 0 format:[BUF_DATA_FORMAT_2_10_10_10,BUF_NUM_FORMAT_USCALED] offen offset:291
tbuffer_store_format_xyzw v[12:15], v2, s[4:7], m0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] idxen sc0 sc1
tbuffer_store_format_d16_xyzw v[12:13], v[2:3], s[8:11], 0.5 format:[BUF_DATA_FORMAT_8_8_8_8] idxen offen offset:4095
tbuffer_load_format_xyzw a[12:15], off, s[8:11], s3
buffer_store_format_d16_xyz a[12:13], off, s[8:11], s3
buffer_load_format_d16_hi_x v12, off, s[8:11], s3
buffer_store_format_d16_hi_x v12, off, s[8:11], s3 offset:4
v_mfma_f64_4x4x4_4b_f64 v[2:3], v[4:5], a[6:7], v[8:9]
v_mfma_f64_16x16x4_f64 a[0:7], v[8:9], v[10:11], a[0:7]
v_mfma_f64_4x4x4_4b_f64 v[2:3], v[4:5], a[6:7], v[8:9] neg:[1,0,0]
v_mfma_f64_16x16x4_f64 a[0:7], v[8:9], v[10:11], a[0:7] neg:[1,0,0]
v_mfma_f64_4x4x4_4b_f64 v[2:3], v[4:5], a[6:7], v[8:9] neg:[0,1,1]
v_mfma_f64_16x16x4_f64 a[0:7], v[8:9], v[10:11], a[0:7] neg:[0,1,1]
v_mfma_f64_4x4x4_4b_f64 a[2:3], v[4:5], v[6:7], 0
v_mfma_f64_16x16x4_f64 a[0:7], v[8:9], v[10:11], 0.15915494309189532
v_mfma_f32_32x32x1_2b_f32 a[0:31], v0, v1, a[0:31] cbsz:1 abid:1 blgp:3
v_smfmac_f32_16x16x64_bf8_bf8 v[0:3], a[2:3], v[4:7], v1 cbsz:3 abid:1
v_smfmac_f32_32x32x32_bf8_bf8 a[0:15], v[2:3], a[4:7], v33 abid:1
v_smfmac_f32_16x16x64_bf8_fp8 v[0:3], a[2:3], v[4:7], v1 cbsz:3 abid:1
v_smfmac_f32_32x32x32_bf8_fp8 a[0:15], v[2:3], a[4:7], v33 abid:1
v_smfmac_f32_16x16x64_fp8_bf8 v[0:3], a[2:3], v[4:7], v1 cbsz:3 abid:1
v_smfmac_f32_32x32x32_fp8_bf8 a[0:15], v[2:3], a[4:7], v33 abid:1
v_smfmac_f32_16x16x64_fp8_fp8 v[0:3], a[2:3], v[4:7], v1 cbsz:3 abid:1
v_smfmac_f32_32x32x32_fp8_fp8 a[0:15], v[2:3], a[4:7], v33 abid:1
v_smfmac_i32_16x16x64_i8 v[0:3], v[4:5], v[6:9], v12
v_smfmac_i32_32x32x32_i8 a[0:15], v[4:5], a[6:9], v12 cbsz:1
v_cvt_sr_fp8_f32 v1, v2, v3
v_cvt_sr_fp8_f32 v1, -|v2|, v3 op_sel:[0,0,0,1]
v_cvt_sr_fp8_f32 v1, s2, v3 op_sel:[0,0,1,1]
v_cvt_sr_bf8_f32 v1, v2, v3
v_cvt_sr_bf8_f32 v1, -|v2|, v3 op_sel:[0,0,0,1]
v_cvt_sr_bf8_f32 v1, s2, v3 op_sel:[0,0,1,1]
scratch_load_lds_ubyte off, s3 offset:4
scratch_load_lds_sbyte off, s3 offset:4
scratch_load_lds_ushort off, s3 offset:4
scratch_load_lds_sshort off, s3 offset:4
scratch_load_lds_dword off, s3 offset:4
scratch_load_lds_dword v1, off offset:-4
v_fma_mix_f32 v16, |v4|, -v8, -|v16| op_sel_hi:[0,1,1]
v_fma_mixlo_f16 v16, v4, v8, v16
v_fma_mixhi_f16 v16, v4, v8, v16 op_sel:[0,1,0] op_sel_hi:[1,1,1] clamp
