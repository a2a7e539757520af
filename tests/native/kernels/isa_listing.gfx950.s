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
// What gfx950 adds.
v_prng_b32 v1, v2
v_prng_b32 v1, s2
v_prng_b32_e64 v1, v2
v_prng_b32_dpp v1, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
v_prng_b32_sdwa v1, v2 dst_sel:DWORD src0_sel:WORD_1
v_permlane16_swap_b32 v1, v2
v_permlane32_swap_b32 v1, v2
v_permlane16_swap_b32_e64 v1, v2 bound_ctrl:1 fi:1
v_permlane16_swap_b32_e64 v1, v2 fi:1
v_permlane32_swap_b32_e64 v1, v2 bound_ctrl:1
v_permlane32_swap_b32_e64 v1, v2
v_cvt_f32_bf16 v1, v2
v_cvt_f32_bf16 v1, s2
v_cvt_f32_bf16_e64 v1, -v2
v_cvt_f32_bf16_e64 v1, |v2| clamp mul:2
v_cvt_f32_bf16_dpp v1, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
v_cvt_f32_bf16_sdwa v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1
v_cvt_f32_bf16_sdwa v1, v2 src0_sel:WORD_1
v_cvt_f32_bf16 v1, 1.0
v_cvt_f32_bf16 v1, 0x1234
v_cvt_f32_bf16_sdwa v1, -v2 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:WORD_0
v_dot2c_f32_bf16 v1, v2, v3
v_dot2c_f32_bf16 v1, s2, v3
v_dot2c_f32_bf16_e64 v1, v2, v3
v_dot2c_f32_bf16_e64 v1, v2, v3 clamp
v_dot2c_f32_bf16_dpp v1, v2, v3 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
v_dot2_f32_bf16 v1, v2, v3, v4
v_dot2_f32_bf16 v1, v2, v3, s4 neg_lo:[1,1,1] neg_hi:[1,1,1]
v_dot2_f32_bf16 v1, v2, v3, v4 clamp
v_pk_minimum3_f16 v1, v2, v3, v4
v_pk_maximum3_f16 v1, v2, v3, v4
v_pk_maximum3_f16 v1, v2, s3, v4 op_sel:[1,0,1] neg_lo:[1,0,0] neg_hi:[0,1,0] clamp
v_minimum3_f32 v1, v2, v3, v4
v_maximum3_f32 v1, -v2, |v3|, s4 clamp mul:2
v_minimum3_f32 v1, v2, v3, 1.0
v_bitop3_b32 v1, v2, v3, v4
v_bitop3_b32 v1, v2, v3, v4 bitop3:0xff
v_bitop3_b32 v1, s2, v3, 7 bitop3:0x8
v_bitop3_b16 v1, v2, v3, v4 bitop3:0x96
v_bitop3_b16 v1, v2, v3, v4 bitop3:0x96 op_sel:[1,0,1,1]
v_bitop3_b16 v1, v2, v3, v4
v_ashr_pk_i8_i32 v1, v2, v3, v4
v_ashr_pk_u8_i32 v1, v2, s3, 5
v_ashr_pk_u8_i32 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_ashr_pk_i8_i32 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_pk_f16_f32 v1, v2, v3
v_cvt_pk_f16_f32 v1, -v2, |s3|
v_cvt_pk_bf16_f32 v1, v2, v3
v_cvt_pk_bf16_f32 v1, -|v2|, s3
v_cvt_sr_f16_f32 v1, v2, v3
v_cvt_sr_f16_f32 v1, -v2, v3 op_sel:[0,0,1]
v_cvt_sr_f16_f32 v1, |v2|, s3
v_cvt_sr_bf16_f32 v1, v2, v3
v_cvt_sr_bf16_f32 v1, -v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_f32_fp8 v1, v2, v3
v_cvt_scalef32_f32_fp8 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_f32_fp8 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_f16_fp8 v1, v2, v3
v_cvt_scalef32_f16_fp8 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_f16_fp8 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_f32_fp8 v[0:1], v2, v3
v_cvt_scalef32_pk_f32_fp8 v[0:1], v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_f32_fp8 v[0:1], v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_fp8_f32 v1, v2, v3, v4
v_cvt_scalef32_pk_fp8_f32 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_pk_fp8_f32 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_pk_fp8_f32 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_pk_fp8_f32 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_sr_fp8_f32 v1, v2, v3, v4
v_cvt_scalef32_sr_fp8_f32 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_fp8_f32 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_sr_fp8_f32 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_sr_fp8_f32 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_pk_f16_fp8 v1, v2, v3
v_cvt_scalef32_pk_f16_fp8 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_f16_fp8 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_fp8_f16 v1, v2, v3
v_cvt_scalef32_pk_fp8_f16 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_fp8_f16 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_sr_fp8_f16 v1, v2, v3, v4
v_cvt_scalef32_sr_fp8_f16 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_fp8_f16 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_sr_fp8_f16 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_sr_fp8_f16 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_pk_bf16_fp8 v1, v2, v3
v_cvt_scalef32_pk_bf16_fp8 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_bf16_fp8 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_fp8_bf16 v1, v2, v3
v_cvt_scalef32_pk_fp8_bf16 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_fp8_bf16 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_sr_fp8_bf16 v1, v2, v3, v4
v_cvt_scalef32_sr_fp8_bf16 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_fp8_bf16 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_sr_fp8_bf16 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_sr_fp8_bf16 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_f32_bf8 v1, v2, v3
v_cvt_scalef32_f32_bf8 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_f32_bf8 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_f16_bf8 v1, v2, v3
v_cvt_scalef32_f16_bf8 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_f16_bf8 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_f32_bf8 v[0:1], v2, v3
v_cvt_scalef32_pk_f32_bf8 v[0:1], v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_f32_bf8 v[0:1], v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_bf8_f32 v1, v2, v3, v4
v_cvt_scalef32_pk_bf8_f32 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_pk_bf8_f32 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_pk_bf8_f32 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_pk_bf8_f32 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_sr_bf8_f32 v1, v2, v3, v4
v_cvt_scalef32_sr_bf8_f32 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_bf8_f32 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_sr_bf8_f32 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_sr_bf8_f32 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_pk_f16_bf8 v1, v2, v3
v_cvt_scalef32_pk_f16_bf8 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_f16_bf8 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_bf8_f16 v1, v2, v3
v_cvt_scalef32_pk_bf8_f16 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_bf8_f16 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_sr_bf8_f16 v1, v2, v3, v4
v_cvt_scalef32_sr_bf8_f16 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_bf8_f16 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_sr_bf8_f16 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_sr_bf8_f16 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_pk_bf16_bf8 v1, v2, v3
v_cvt_scalef32_pk_bf16_bf8 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_bf16_bf8 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_bf8_bf16 v1, v2, v3
v_cvt_scalef32_pk_bf8_bf16 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_bf8_bf16 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_sr_bf8_bf16 v1, v2, v3, v4
v_cvt_scalef32_sr_bf8_bf16 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_bf8_bf16 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_sr_bf8_bf16 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_sr_bf8_bf16 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_pk_f32_fp4 v[0:1], v2, v3
v_cvt_scalef32_pk_f32_fp4 v[0:1], v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_f32_fp4 v[0:1], v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_fp4_f32 v1, v2, v3, v4
v_cvt_scalef32_pk_fp4_f32 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_pk_fp4_f32 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_pk_fp4_f32 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_pk_fp4_f32 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], v3, v4
v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_pk_f16_fp4 v1, v2, v3
v_cvt_scalef32_pk_f16_fp4 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_f16_fp4 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_fp4_f16 v1, v2, v3
v_cvt_scalef32_pk_fp4_f16 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_fp4_f16 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_sr_pk_fp4_f16 v1, v2, v3, v4
v_cvt_scalef32_sr_pk_fp4_f16 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_pk_fp4_f16 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_sr_pk_fp4_f16 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_sr_pk_fp4_f16 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_pk_bf16_fp4 v1, v2, v3
v_cvt_scalef32_pk_bf16_fp4 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_bf16_fp4 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_pk_fp4_bf16 v1, v2, v3
v_cvt_scalef32_pk_fp4_bf16 v1, v2, v3 op_sel:[0,0,1]
v_cvt_scalef32_pk_fp4_bf16 v1, v2, v3 op_sel:[1,0,1]
v_cvt_scalef32_sr_pk_fp4_bf16 v1, v2, v3, v4
v_cvt_scalef32_sr_pk_fp4_bf16 v1, v2, v3, v4 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_pk_fp4_bf16 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_cvt_scalef32_sr_pk_fp4_bf16 v1, v2, v3, v4 op_sel:[1,0,0,1]
v_cvt_scalef32_sr_pk_fp4_bf16 v1, v2, v3, v4 op_sel:[1,1,0,1]
v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[6:21], v[22:37], v38
v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[6:21], v[22:37], s8
v_cvt_scalef32_pk32_f32_fp6 v[10:41], v[2:7], v8
v_cvt_scalef32_pk32_f32_fp6 v[10:41], v[2:7], 2.0
v_cvt_scalef32_sr_pk32_fp6_f32 v[0:5], v[6:37], v50, v51
v_cvt_scalef32_sr_pk32_fp6_f32 v[0:5], v[6:37], s50, 1.0
v_cvt_scalef32_pk32_f16_fp6 v[10:25], v[2:7], v8
v_cvt_scalef32_pk32_f16_fp6 v[10:25], v[2:7], 2.0
v_cvt_scalef32_sr_pk32_fp6_f16 v[0:5], v[6:21], v50, v51
v_cvt_scalef32_sr_pk32_fp6_f16 v[0:5], v[6:21], s50, 1.0
v_cvt_scalef32_pk32_fp6_f16 v[0:5], v[6:21], v50
v_cvt_scalef32_pk32_fp6_f16 v[0:5], v[6:21], s3
v_cvt_scalef32_pk32_bf16_fp6 v[10:25], v[2:7], v8
v_cvt_scalef32_pk32_bf16_fp6 v[10:25], v[2:7], 2.0
v_cvt_scalef32_sr_pk32_fp6_bf16 v[0:5], v[6:21], v50, v51
v_cvt_scalef32_sr_pk32_fp6_bf16 v[0:5], v[6:21], s50, 1.0
v_cvt_scalef32_pk32_fp6_bf16 v[0:5], v[6:21], v50
v_cvt_scalef32_pk32_fp6_bf16 v[0:5], v[6:21], s3
v_cvt_scalef32_2xpk16_bf6_f32 v[0:5], v[6:21], v[22:37], v38
v_cvt_scalef32_2xpk16_bf6_f32 v[0:5], v[6:21], v[22:37], s8
v_cvt_scalef32_pk32_f32_bf6 v[10:41], v[2:7], v8
v_cvt_scalef32_pk32_f32_bf6 v[10:41], v[2:7], 2.0
v_cvt_scalef32_sr_pk32_bf6_f32 v[0:5], v[6:37], v50, v51
v_cvt_scalef32_sr_pk32_bf6_f32 v[0:5], v[6:37], s50, 1.0
v_cvt_scalef32_pk32_f16_bf6 v[10:25], v[2:7], v8
v_cvt_scalef32_pk32_f16_bf6 v[10:25], v[2:7], 2.0
v_cvt_scalef32_sr_pk32_bf6_f16 v[0:5], v[6:21], v50, v51
v_cvt_scalef32_sr_pk32_bf6_f16 v[0:5], v[6:21], s50, 1.0
v_cvt_scalef32_pk32_bf6_f16 v[0:5], v[6:21], v50
v_cvt_scalef32_pk32_bf6_f16 v[0:5], v[6:21], s3
v_cvt_scalef32_pk32_bf16_bf6 v[10:25], v[2:7], v8
v_cvt_scalef32_pk32_bf16_bf6 v[10:25], v[2:7], 2.0
v_cvt_scalef32_sr_pk32_bf6_bf16 v[0:5], v[6:21], v50, v51
v_cvt_scalef32_sr_pk32_bf6_bf16 v[0:5], v[6:21], s50, 1.0
v_cvt_scalef32_pk32_bf6_bf16 v[0:5], v[6:21], v50
v_cvt_scalef32_pk32_bf6_bf16 v[0:5], v[6:21], s3
v_cvt_scalef32_pk_fp8_f32 v1, -v2, |v3|, v4
v_cvt_scalef32_pk_fp8_f32 v1, v2, v3, -v4
v_cvt_scalef32_pk_fp8_f32 v1, v2, v3, s4
v_cvt_scalef32_pk_fp8_f32 v1, s2, v3, v4
v_cvt_scalef32_pk_fp8_f32 v1, v2, v3, 1.0
v_cvt_scalef32_f16_fp8 v1, v2, -v3
v_cvt_scalef32_f16_fp8 v1, 11, s3
v_cvt_scalef32_pk_fp8_f16 v1, v2, |v3|
v_cvt_scalef32_sr_fp8_f32 v1, -v2, v3, |v4|
v_cvt_scalef32_sr_fp8_f16 v1, -v2, v3, v4
v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], s3, 1.0
v_cvt_scalef32_pk_fp4_f32 v1, -v2, |v3|, v4
v_cvt_scalef32_pk_f32_fp4 v[0:1], v2, -v3
v_cvt_scalef32_pk_f32_fp4 v[0:1], s2, v3
v_cvt_scalef32_sr_fp8_f32 v1, v2, v3, -v4
v_cvt_scalef32_pk_bf16_fp8 v1, v2, |v3|
v_cvt_scalef32_pk_fp4_f16 v1, v2, -v3
v_mfma_f32_32x32x16_f16 v[0:15], v[16:19], v[20:23], v[0:15]
v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], 0
v_mfma_f32_32x32x16_bf16 a[0:15], v[16:19], v[20:23], a[0:15]
v_mfma_i32_16x16x64_i8 v[0:3], v[4:7], v[8:11], v[0:3]
v_mfma_i32_32x32x32_i8 v[0:15], v[16:19], v[20:23], 2
v_smfmac_f32_32x32x32_f16 v[0:15], v[16:19], v[20:27], v28
v_smfmac_f32_16x16x64_bf16 a[0:3], v[4:7], a[8:15], v16
v_smfmac_f32_32x32x32_bf16 v[0:15], v[16:19], v[20:27], v28
v_smfmac_i32_16x16x128_i8 v[0:3], v[4:7], v[8:15], v16
v_smfmac_i32_32x32x64_i8 v[0:15], v[16:19], v[20:27], v28 abid:3
v_smfmac_f32_16x16x128_bf8_bf8 v[0:3], v[4:7], v[8:15], v16
v_smfmac_f32_32x32x64_bf8_bf8 a[0:15], a[16:19], a[20:27], v28
v_smfmac_f32_16x16x128_bf8_fp8 v[0:3], v[4:7], v[8:15], v16
v_smfmac_f32_32x32x64_bf8_fp8 a[0:15], a[16:19], a[20:27], v28
v_smfmac_f32_16x16x128_fp8_bf8 v[0:3], v[4:7], v[8:15], v16
v_smfmac_f32_32x32x64_fp8_bf8 a[0:15], a[16:19], a[20:27], v28
v_smfmac_f32_16x16x128_fp8_fp8 v[0:3], v[4:7], v[8:15], v16
v_smfmac_f32_32x32x64_fp8_fp8 a[0:15], a[16:19], a[20:27], v28
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[16:23], v[24:31], v[0:3]
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], a[24:31], v[0:3], v40, v41 op_sel_hi:[0,0,0]
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], a[24:31], v[0:3], v40, v41 op_sel:[0,1,0] op_sel_hi:[0,0,0] blgp:1
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], a[24:29], v[0:3], v40, v41 op_sel_hi:[0,1,0] blgp:2
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[16:23], v[24:29], v[0:3] blgp:3
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], a[24:29], v[0:3], v40, v41 op_sel:[0,1,0] op_sel_hi:[0,1,0] blgp:3
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], a[24:27], v[0:3], v40, v41 op_sel_hi:[0,0,0] blgp:4
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], a[24:31], v[0:3], v40, v41 op_sel:[1,0,0] op_sel_hi:[0,0,0] cbsz:1
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[16:23], v[24:31], v[0:3] cbsz:1 blgp:1
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], a[24:31], v[0:3], v40, v41 op_sel:[1,1,0] op_sel_hi:[0,0,0] cbsz:1 blgp:1
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], a[24:29], v[0:3], v40, v41 op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:1 blgp:2
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], a[24:29], v[0:3], v40, v41 op_sel:[1,1,0] op_sel_hi:[0,1,0] cbsz:1 blgp:3
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[16:23], v[24:27], v[0:3] cbsz:1 blgp:4
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], a[24:27], v[0:3], v40, v41 op_sel:[1,0,0] op_sel_hi:[0,0,0] cbsz:1 blgp:4
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:21], a[24:31], v[0:3], v40, v41 op_sel_hi:[1,0,0] cbsz:2
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:21], a[24:31], v[0:3], v40, v41 op_sel:[0,1,0] op_sel_hi:[1,0,0] cbsz:2 blgp:1
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[16:21], v[24:29], v[0:3] cbsz:2 blgp:2
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:21], a[24:29], v[0:3], v40, v41 op_sel_hi:[1,1,0] cbsz:2 blgp:2
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:21], a[24:29], v[0:3], v40, v41 op_sel:[0,1,0] op_sel_hi:[1,1,0] cbsz:2 blgp:3
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:21], a[24:27], v[0:3], v40, v41 op_sel_hi:[1,0,0] cbsz:2 blgp:4
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[16:21], v[24:31], v[0:3] cbsz:3
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:21], a[24:31], v[0:3], v40, v41 op_sel:[1,0,0] op_sel_hi:[1,0,0] cbsz:3
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:21], a[24:31], v[0:3], v40, v41 op_sel:[1,1,0] op_sel_hi:[1,0,0] cbsz:3 blgp:1
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:21], a[24:29], v[0:3], v40, v41 op_sel:[1,0,0] op_sel_hi:[1,1,0] cbsz:3 blgp:2
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[16:21], v[24:29], v[0:3] cbsz:3 blgp:3
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:21], a[24:29], v[0:3], v40, v41 op_sel:[1,1,0] op_sel_hi:[1,1,0] cbsz:3 blgp:3
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:21], a[24:27], v[0:3], v40, v41 op_sel:[1,0,0] op_sel_hi:[1,0,0] cbsz:3 blgp:4
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:19], a[24:31], v[0:3], v40, v41 op_sel_hi:[0,0,0] cbsz:4
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[16:19], v[24:31], v[0:3] cbsz:4 blgp:1
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:19], a[24:31], v[0:3], v40, v41 op_sel:[0,1,0] op_sel_hi:[0,0,0] cbsz:4 blgp:1
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:19], a[24:29], v[0:3], v40, v41 op_sel_hi:[0,1,0] cbsz:4 blgp:2
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:19], a[24:29], v[0:3], v40, v41 op_sel:[0,1,0] op_sel_hi:[0,1,0] cbsz:4 blgp:3
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[16:19], v[24:27], v[0:3] cbsz:4 blgp:4
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:19], a[24:27], v[0:3], v40, v41 op_sel_hi:[0,0,0] cbsz:4 blgp:4
v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], v[0:15]
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], a[24:31], v[0:15], v40, v41 op_sel_hi:[0,0,0]
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], a[24:31], v[0:15], v40, v41 op_sel:[0,1,0] op_sel_hi:[0,0,0] blgp:1
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], a[24:29], v[0:15], v40, v41 op_sel_hi:[0,1,0] blgp:2
v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:29], v[0:15] blgp:3
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], a[24:29], v[0:15], v40, v41 op_sel:[0,1,0] op_sel_hi:[0,1,0] blgp:3
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], a[24:27], v[0:15], v40, v41 op_sel_hi:[0,0,0] blgp:4
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], a[24:31], v[0:15], v40, v41 op_sel:[1,0,0] op_sel_hi:[0,0,0] cbsz:1
v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], v[0:15] cbsz:1 blgp:1
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], a[24:31], v[0:15], v40, v41 op_sel:[1,1,0] op_sel_hi:[0,0,0] cbsz:1 blgp:1
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], a[24:29], v[0:15], v40, v41 op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:1 blgp:2
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], a[24:29], v[0:15], v40, v41 op_sel:[1,1,0] op_sel_hi:[0,1,0] cbsz:1 blgp:3
v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:27], v[0:15] cbsz:1 blgp:4
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], a[24:27], v[0:15], v40, v41 op_sel:[1,0,0] op_sel_hi:[0,0,0] cbsz:1 blgp:4
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], a[24:31], v[0:15], v40, v41 op_sel_hi:[1,0,0] cbsz:2
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], a[24:31], v[0:15], v40, v41 op_sel:[0,1,0] op_sel_hi:[1,0,0] cbsz:2 blgp:1
v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:21], v[24:29], v[0:15] cbsz:2 blgp:2
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], a[24:29], v[0:15], v40, v41 op_sel_hi:[1,1,0] cbsz:2 blgp:2
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], a[24:29], v[0:15], v40, v41 op_sel:[0,1,0] op_sel_hi:[1,1,0] cbsz:2 blgp:3
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], a[24:27], v[0:15], v40, v41 op_sel_hi:[1,0,0] cbsz:2 blgp:4
v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:21], v[24:31], v[0:15] cbsz:3
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], a[24:31], v[0:15], v40, v41 op_sel:[1,0,0] op_sel_hi:[1,0,0] cbsz:3
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], a[24:31], v[0:15], v40, v41 op_sel:[1,1,0] op_sel_hi:[1,0,0] cbsz:3 blgp:1
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], a[24:29], v[0:15], v40, v41 op_sel:[1,0,0] op_sel_hi:[1,1,0] cbsz:3 blgp:2
v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:21], v[24:29], v[0:15] cbsz:3 blgp:3
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], a[24:29], v[0:15], v40, v41 op_sel:[1,1,0] op_sel_hi:[1,1,0] cbsz:3 blgp:3
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], a[24:27], v[0:15], v40, v41 op_sel:[1,0,0] op_sel_hi:[1,0,0] cbsz:3 blgp:4
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:19], a[24:31], v[0:15], v40, v41 op_sel_hi:[0,0,0] cbsz:4
v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:19], v[24:31], v[0:15] cbsz:4 blgp:1
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:19], a[24:31], v[0:15], v40, v41 op_sel:[0,1,0] op_sel_hi:[0,0,0] cbsz:4 blgp:1
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:19], a[24:29], v[0:15], v40, v41 op_sel_hi:[0,1,0] cbsz:4 blgp:2
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:19], a[24:29], v[0:15], v40, v41 op_sel:[0,1,0] op_sel_hi:[0,1,0] cbsz:4 blgp:3
v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:19], v[24:27], v[0:15] cbsz:4 blgp:4
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:19], a[24:27], v[0:15], v40, v41 op_sel_hi:[0,0,0] cbsz:4 blgp:4
v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[16:23], v[24:31], 1.0, 2.0, v5
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], v[24:31], v[0:3], s5, 33
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], v[24:31], v[0:3], v5, v6
ds_read_b64_tr_b4 v[0:1], v2 offset:8
ds_read_b96_tr_b6 v[0:2], v3
ds_read_b96_tr_b6 v[1:3], v3 offset:16
ds_read_b64_tr_b8 a[0:1], v2
ds_read_b64_tr_b16 v[0:1], v2 offset:65528
global_load_lds_dwordx3 v[2:3], off
global_load_lds_dwordx3 v2, s[4:5] offset:4 sc0 nt sc1
global_load_lds_dwordx4 v[2:3], off offset:-8
global_load_lds_dwordx4 v2, s[4:5]
buffer_load_dwordx3 off, s[8:11], s3 lds
buffer_load_dwordx3 v2, s[8:11], s3 offen offset:4 sc0 lds
buffer_load_dwordx4 v[2:3], s[8:11], 0 idxen offen lds
buffer_atomic_pk_add_bf16 v5, off, s[8:11], s3 offset:4
buffer_atomic_pk_add_bf16 v5, v2, s[8:11], 0 offen sc0
scratch_load_lds_dword off, s2
v_mad_u64_u32 v[0:1], s[2:3], v2, v3, v[4:5]
v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]
v_mov_b64_dpp v[0:1], v[2:3] row_newbcast:1 row_mask:0xf bank_mask:0xf
s_set_gpr_idx_on s0, 0x1
v_fma_mix_f32 v1, v2, v3, v4
v_pk_fmac_f16 v1, v2, v3
flat_atomic_pk_add_bf16 v[0:1], v2
v_cvt_f32_fp8 v1, v2
v_dot2c_f32_f16 v1, v2, v3
v_mac_f16 v1, v2, v3
v_cvt_pk_f32_bf8 v[0:1], v2
buffer_wbl2 sc1
buffer_inv sc0 sc1
v_pk_mul_f32 v[0:1], v[2:3], v[4:5]
v_mfma_f32_16x16x32_f16 a[0:3], v[4:7], a[8:11], 1.0
v_smfmac_f32_16x16x64_f16 v[0:3], v[4:7], v[8:15], v16 cbsz:1
v_smfmac_f32_16x16x64_f16 v[0:3], v[4:7], v[8:15], v16 abid:1
v_bitop3_b32 v1, v2, v3, v4 bitop3:1
v_bitop3_b32 v1, v2, v3, v4 bitop3:9
v_bitop3_b32 v1, v2, v3, v4 bitop3:10
v_bitop3_b32 v1, v2, v3, v4 bitop3:11
v_bitop3_b32 v1, v2, v3, v4 bitop3:15
v_bitop3_b32 v1, v2, v3, v4 bitop3:16
