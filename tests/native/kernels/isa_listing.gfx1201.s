// Every instruction of gfx1201 that the interpreter executes, some with modifiers: for the comparison with LLVM's disassembler.
.text
s_mov_b32 s4, s2
s_mov_b64 s[4:5], s[2:3]
s_cmov_b32 s4, s2
s_cmov_b64 s[4:5], s[2:3]
s_brev_b32 s4, s2
s_brev_b64 s[4:5], s[2:3]
s_ctz_i32_b32 s4, s2
s_ctz_i32_b64 s4, s[2:3]
s_clz_i32_u32 s4, s2
s_clz_i32_u64 s4, s[2:3]
s_cls_i32 s4, s2
s_cls_i32_i64 s4, s[2:3]
s_sext_i32_i8 s4, s2
s_sext_i32_i16 s4, s2
s_bitset0_b32 s4, s2
s_bitset0_b64 s[4:5], s2
s_bitset1_b32 s4, s2
s_bitset1_b64 s[4:5], s2
s_bitreplicate_b64_b32 s[4:5], s2
s_abs_i32 s4, s2
s_bcnt0_i32_b32 s4, s2
s_bcnt0_i32_b64 s4, s[2:3]
s_bcnt1_i32_b32 s4, s2
s_bcnt1_i32_b64 s4, s[2:3]
s_quadmask_b32 s4, s2
s_quadmask_b64 s[4:5], s[2:3]
s_wqm_b32 s4, s2
s_wqm_b64 s[4:5], s[2:3]
s_not_b32 s4, s2
s_not_b64 s[4:5], s[2:3]
s_and_saveexec_b32 s4, s2
s_and_saveexec_b64 s[4:5], s[2:3]
s_or_saveexec_b32 s4, s2
s_or_saveexec_b64 s[4:5], s[2:3]
s_xor_saveexec_b32 s4, s2
s_xor_saveexec_b64 s[4:5], s[2:3]
s_nand_saveexec_b32 s4, s2
s_nand_saveexec_b64 s[4:5], s[2:3]
s_nor_saveexec_b32 s4, s2
s_nor_saveexec_b64 s[4:5], s[2:3]
s_xnor_saveexec_b32 s4, s2
s_xnor_saveexec_b64 s[4:5], s[2:3]
s_and_not0_saveexec_b32 s4, s2
s_and_not0_saveexec_b64 s[4:5], s[2:3]
s_or_not0_saveexec_b32 s4, s2
s_or_not0_saveexec_b64 s[4:5], s[2:3]
s_and_not1_saveexec_b32 s4, s2
s_and_not1_saveexec_b64 s[4:5], s[2:3]
s_or_not1_saveexec_b32 s4, s2
s_or_not1_saveexec_b64 s[4:5], s[2:3]
s_and_not0_wrexec_b32 s4, s2
s_and_not0_wrexec_b64 s[4:5], s[2:3]
s_and_not1_wrexec_b32 s4, s2
s_and_not1_wrexec_b64 s[4:5], s[2:3]
s_movrels_b32 s4, s2
s_movrels_b64 s[4:5], s[2:3]
s_movreld_b32 s4, s2
s_movreld_b64 s[4:5], s[2:3]
s_getpc_b64 s[4:5]
s_setpc_b64 s[2:3]
s_swappc_b64 s[4:5], s[2:3]
s_sendmsg_rtn_b32 s4, sendmsg(MSG_RTN_GET_REALTIME)
s_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_DOORBELL)
s_sleep_var s2
s_ceil_f32 s4, s2
s_floor_f32 s4, s2
s_trunc_f32 s4, s2
s_rndne_f32 s4, s2
s_cvt_f32_i32 s4, s2
s_cvt_f32_u32 s4, s2
s_cvt_i32_f32 s4, s2
s_cvt_u32_f32 s4, s2
s_cvt_f16_f32 s4, s2
s_cvt_f32_f16 s4, s2
s_cvt_hi_f32_f16 s4, s2
s_ceil_f16 s4, s2
s_floor_f16 s4, s2
s_trunc_f16 s4, s2
s_rndne_f16 s4, s2
s_add_co_u32 s4, s6, s2
s_sub_co_u32 s4, s6, s2
s_add_co_i32 s4, s6, s2
s_sub_co_i32 s4, s6, s2
s_add_co_ci_u32 s4, s6, s2
s_sub_co_ci_u32 s4, s6, s2
s_absdiff_i32 s4, s6, s2
s_lshl_b32 s4, s6, s2
s_lshl_b64 s[4:5], s[6:7], s2
s_lshr_b32 s4, s6, s2
s_lshr_b64 s[4:5], s[6:7], s2
s_ashr_i32 s4, s6, s2
s_ashr_i64 s[4:5], s[6:7], s2
s_lshl1_add_u32 s4, s6, s2
s_lshl2_add_u32 s4, s6, s2
s_lshl3_add_u32 s4, s6, s2
s_lshl4_add_u32 s4, s6, s2
s_min_i32 s4, s6, s2
s_min_u32 s4, s6, s2
s_max_i32 s4, s6, s2
s_max_u32 s4, s6, s2
s_and_b32 s4, s6, s2
s_and_b64 s[4:5], s[6:7], s[2:3]
s_or_b32 s4, s6, s2
s_or_b64 s[4:5], s[6:7], s[2:3]
s_xor_b32 s4, s6, s2
s_xor_b64 s[4:5], s[6:7], s[2:3]
s_nand_b32 s4, s6, s2
s_nand_b64 s[4:5], s[6:7], s[2:3]
s_nor_b32 s4, s6, s2
s_nor_b64 s[4:5], s[6:7], s[2:3]
s_xnor_b32 s4, s6, s2
s_xnor_b64 s[4:5], s[6:7], s[2:3]
s_and_not1_b32 s4, s6, s2
s_and_not1_b64 s[4:5], s[6:7], s[2:3]
s_or_not1_b32 s4, s6, s2
s_or_not1_b64 s[4:5], s[6:7], s[2:3]
s_bfe_u32 s4, s6, s2
s_bfe_i32 s4, s6, s2
s_bfe_u64 s[4:5], s[6:7], s2
s_bfe_i64 s[4:5], s[6:7], s2
s_bfm_b32 s4, s6, s2
s_bfm_b64 s[4:5], s6, s2
s_mul_i32 s4, s6, s2
s_mul_hi_u32 s4, s6, s2
s_mul_hi_i32 s4, s6, s2
s_cselect_b32 s4, s6, s2
s_cselect_b64 s[4:5], s[6:7], s[2:3]
s_pack_ll_b32_b16 s4, s6, s2
s_pack_lh_b32_b16 s4, s6, s2
s_pack_hh_b32_b16 s4, s6, s2
s_pack_hl_b32_b16 s4, s6, s2
s_add_f32 s4, s6, s2
s_sub_f32 s4, s6, s2
s_min_num_f32 s4, s6, s2
s_max_num_f32 s4, s6, s2
s_mul_f32 s4, s6, s2
s_fmac_f32 s4, s6, s2
s_cvt_pk_rtz_f16_f32 s4, s6, s2
s_add_f16 s4, s6, s2
s_sub_f16 s4, s6, s2
s_min_num_f16 s4, s6, s2
s_max_num_f16 s4, s6, s2
s_mul_f16 s4, s6, s2
s_fmac_f16 s4, s6, s2
s_minimum_f32 s4, s6, s2
s_maximum_f32 s4, s6, s2
s_minimum_f16 s4, s6, s2
s_maximum_f16 s4, s6, s2
s_add_nc_u64 s[4:5], s[6:7], s[2:3]
s_sub_nc_u64 s[4:5], s[6:7], s[2:3]
s_mul_u64 s[4:5], s[6:7], s[2:3]
s_cmp_eq_i32 s6, s2
s_cmp_lg_i32 s6, s2
s_cmp_gt_i32 s6, s2
s_cmp_ge_i32 s6, s2
s_cmp_lt_i32 s6, s2
s_cmp_le_i32 s6, s2
s_cmp_eq_u32 s6, s2
s_cmp_lg_u32 s6, s2
s_cmp_gt_u32 s6, s2
s_cmp_ge_u32 s6, s2
s_cmp_lt_u32 s6, s2
s_cmp_le_u32 s6, s2
s_bitcmp0_b32 s6, s2
s_bitcmp1_b32 s6, s2
s_bitcmp0_b64 s[6:7], s2
s_bitcmp1_b64 s[6:7], s2
s_cmp_eq_u64 s[6:7], s[2:3]
s_cmp_lg_u64 s[6:7], s[2:3]
s_cmp_lt_f32 s6, s2
s_cmp_eq_f32 s6, s2
s_cmp_le_f32 s6, s2
s_cmp_gt_f32 s6, s2
s_cmp_lg_f32 s6, s2
s_cmp_ge_f32 s6, s2
s_cmp_o_f32 s6, s2
s_cmp_u_f32 s6, s2
s_cmp_nge_f32 s6, s2
s_cmp_nlg_f32 s6, s2
s_cmp_ngt_f32 s6, s2
s_cmp_nle_f32 s6, s2
s_cmp_neq_f32 s6, s2
s_cmp_nlt_f32 s6, s2
s_cmp_lt_f16 s6, s2
s_cmp_eq_f16 s6, s2
s_cmp_le_f16 s6, s2
s_cmp_gt_f16 s6, s2
s_cmp_lg_f16 s6, s2
s_cmp_ge_f16 s6, s2
s_cmp_o_f16 s6, s2
s_cmp_u_f16 s6, s2
s_cmp_nge_f16 s6, s2
s_cmp_nlg_f16 s6, s2
s_cmp_ngt_f16 s6, s2
s_cmp_nle_f16 s6, s2
s_cmp_neq_f16 s6, s2
s_cmp_nlt_f16 s6, s2
s_movk_i32 s4, 0x1
s_version 1
s_cmovk_i32 s4, 0x1
s_addk_co_i32 s4, 0x1
s_mulk_i32 s4, 0x1
s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 1)
s_setreg_b32 hwreg(HW_REG_MODE, 0, 1), s4
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 5
s_call_b64 s[4:5], 1
s_mov_b32 s4, s1
s_cmp_lt_i32 s1, s0
s_nop 1
s_nop 0
s_sethalt 0
s_sleep 0
s_clause 0x0
s_delay_alu 0
s_wait_alu depctr_hold_cnt(0) depctr_sa_sdst(0) depctr_va_vdst(0) depctr_va_sdst(0) depctr_va_ssrc(0) depctr_va_vcc(0) depctr_vm_vsrc(0)
s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
s_wait_idle
s_wait_event 0x0
s_trap 0
s_round_mode 0x0
s_denorm_mode 0
s_barrier_wait 0
s_branch 0
s_cbranch_scc0 0
s_cbranch_scc1 0
s_cbranch_vccz 0
s_cbranch_vccnz 0
s_cbranch_execz 0
s_cbranch_execnz 0
s_endpgm
s_wakeup
s_setprio 0
s_sendmsg sendmsg(MSG_INTERRUPT)
s_incperflevel 0
s_decperflevel 0
s_ttracedata
s_icache_inv
s_wait_loadcnt 0x0
s_wait_storecnt 0x0
s_wait_samplecnt 0x0
s_wait_expcnt 0x0
s_wait_dscnt 0x0
s_wait_kmcnt 0x0
s_wait_loadcnt_dscnt 0x0
s_wait_storecnt_dscnt 0x0
s_load_b32 s4, s[2:3], 0x0
s_load_b64 s[4:5], s[2:3], 0x0
s_load_b128 s[4:7], s[2:3], 0x0
s_load_b256 s[4:11], s[2:3], 0x0
s_load_b512 s[4:19], s[2:3], 0x0
s_load_b96 s[4:6], s[2:3], 0x0
s_load_i8 s4, s[2:3], 0x0
s_load_u8 s4, s[2:3], 0x0
s_load_i16 s4, s[2:3], 0x0
s_load_u16 s4, s[2:3], 0x0
s_buffer_load_b32 s0, s[0:3], 0x0
s_buffer_load_b64 s[0:1], s[0:3], 0x0
s_buffer_load_b128 s[0:3], s[0:3], 0x0
s_buffer_load_b256 s[0:7], s[0:3], 0x0
s_buffer_load_b512 s[0:15], s[0:3], 0x0
s_buffer_load_b96 s[0:2], s[0:3], 0x0
s_buffer_load_i8 s0, s[0:3], 0x0
s_buffer_load_u8 s0, s[0:3], 0x0
s_buffer_load_i16 s0, s[0:3], 0x0
s_buffer_load_u16 s0, s[0:3], 0x0
s_dcache_inv
s_prefetch_inst s[2:3], 0x0, null, 4
s_prefetch_inst_pc_rel 0x0, null, 0
s_prefetch_data s[2:3], 0x0, null, 4
s_buffer_prefetch_data s[0:3], 0x0, null, 0
s_prefetch_data_pc_rel 0x0, null, 0
v_nop
v_mov_b32_e32 v4, v2
v_readfirstlane_b32 s4, v2
v_cvt_i32_f64_e32 v4, v[2:3]
v_cvt_f64_i32_e32 v[4:5], v2
v_cvt_f32_i32_e32 v4, v2
v_cvt_f32_u32_e32 v4, v2
v_cvt_u32_f32_e32 v4, v2
v_cvt_i32_f32_e32 v4, v2
v_cvt_f16_f32_e32 v4, v2
v_cvt_f32_f16_e32 v4, v2
v_cvt_nearest_i32_f32_e32 v4, v2
v_cvt_floor_i32_f32_e32 v4, v2
v_cvt_off_f32_i4_e32 v4, v2
v_cvt_f32_f64_e32 v4, v[2:3]
v_cvt_f64_f32_e32 v[4:5], v2
v_cvt_f32_ubyte0_e32 v4, v2
v_cvt_f32_ubyte1_e32 v4, v2
v_cvt_f32_ubyte2_e32 v4, v2
v_cvt_f32_ubyte3_e32 v4, v2
v_cvt_u32_f64_e32 v4, v[2:3]
v_cvt_f64_u32_e32 v[4:5], v2
v_trunc_f64_e32 v[4:5], v[2:3]
v_ceil_f64_e32 v[4:5], v[2:3]
v_rndne_f64_e32 v[4:5], v[2:3]
v_floor_f64_e32 v[4:5], v[2:3]
v_pipeflush
v_fract_f32_e32 v4, v2
v_trunc_f32_e32 v4, v2
v_ceil_f32_e32 v4, v2
v_rndne_f32_e32 v4, v2
v_floor_f32_e32 v4, v2
v_exp_f32_e32 v4, v2
v_log_f32_e32 v4, v2
v_rcp_f32_e32 v4, v2
v_rcp_iflag_f32_e32 v4, v2
v_rsq_f32_e32 v4, v2
v_rcp_f64_e32 v[4:5], v[2:3]
v_rsq_f64_e32 v[4:5], v[2:3]
v_sqrt_f32_e32 v4, v2
v_sqrt_f64_e32 v[4:5], v[2:3]
v_sin_f32_e32 v4, v2
v_cos_f32_e32 v4, v2
v_not_b32_e32 v4, v2
v_bfrev_b32_e32 v4, v2
v_clz_i32_u32_e32 v4, v2
v_ctz_i32_b32_e32 v4, v2
v_cls_i32_e32 v4, v2
v_frexp_exp_i32_f64_e32 v4, v[2:3]
v_frexp_mant_f64_e32 v[4:5], v[2:3]
v_fract_f64_e32 v[4:5], v[2:3]
v_frexp_exp_i32_f32_e32 v4, v2
v_frexp_mant_f32_e32 v4, v2
v_movreld_b32_e32 v4, v2
v_movrels_b32_e32 v4, v2
v_movrelsd_b32_e32 v4, v2
v_cvt_f16_u16_e32 v4, v2
v_cvt_f16_i16_e32 v4, v2
v_cvt_u16_f16_e32 v4, v2
v_cvt_i16_f16_e32 v4, v2
v_rcp_f16_e32 v4, v2
v_sqrt_f16_e32 v4, v2
v_rsq_f16_e32 v4, v2
v_log_f16_e32 v4, v2
v_exp_f16_e32 v4, v2
v_frexp_mant_f16_e32 v4, v2
v_frexp_exp_i16_f16_e32 v4, v2
v_floor_f16_e32 v4, v2
v_ceil_f16_e32 v4, v2
v_trunc_f16_e32 v4, v2
v_rndne_f16_e32 v4, v2
v_fract_f16_e32 v4, v2
v_sin_f16_e32 v4, v2
v_cos_f16_e32 v4, v2
v_sat_pk_u8_i16_e32 v4, v2
v_cvt_norm_i16_f16_e32 v4, v2
v_cvt_norm_u16_f16_e32 v4, v2
v_swap_b32 v4, v2
v_permlane64_b32 v4, v2
v_not_b16_e32 v4, v2
v_cvt_i32_i16_e32 v4, v2
v_cvt_u32_u16_e32 v4, v2
v_cndmask_b32_e32 v4, v2, v6, vcc_lo
v_add_f64_e32 v[4:5], v[2:3], v[6:7]
v_add_f32_e32 v4, v2, v6
v_sub_f32_e32 v4, v2, v6
v_subrev_f32_e32 v4, v2, v6
v_mul_f64_e32 v[4:5], v[2:3], v[6:7]
v_mul_dx9_zero_f32_e32 v4, v2, v6
v_mul_f32_e32 v4, v2, v6
v_mul_i32_i24_e32 v4, v2, v6
v_mul_hi_i32_i24_e32 v4, v2, v6
v_mul_u32_u24_e32 v4, v2, v6
v_mul_hi_u32_u24_e32 v4, v2, v6
v_min_num_f64_e32 v[4:5], v[2:3], v[6:7]
v_max_num_f64_e32 v[4:5], v[2:3], v[6:7]
v_min_i32_e32 v4, v2, v6
v_max_i32_e32 v4, v2, v6
v_min_u32_e32 v4, v2, v6
v_max_u32_e32 v4, v2, v6
v_min_num_f32_e32 v4, v2, v6
v_max_num_f32_e32 v4, v2, v6
v_lshlrev_b32_e32 v4, v2, v6
v_lshrrev_b32_e32 v4, v2, v6
v_ashrrev_i32_e32 v4, v2, v6
v_and_b32_e32 v4, v2, v6
v_or_b32_e32 v4, v2, v6
v_xor_b32_e32 v4, v2, v6
v_xnor_b32_e32 v4, v2, v6
v_lshlrev_b64_e32 v[4:5], v2, v[6:7]
v_add_co_ci_u32_e32 v4, vcc_lo, v2, v6, vcc_lo
v_sub_co_ci_u32_e32 v4, vcc_lo, v2, v6, vcc_lo
v_subrev_co_ci_u32_e32 v4, vcc_lo, v2, v6, vcc_lo
v_add_nc_u32_e32 v4, v2, v6
v_sub_nc_u32_e32 v4, v2, v6
v_subrev_nc_u32_e32 v4, v2, v6
v_fmac_f32_e32 v4, v2, v6
v_fmamk_f32 v4, v2, 0x1234, v6
v_fmaak_f32 v4, v2, v6, 0x1234
v_cvt_pk_rtz_f16_f32_e32 v4, v2, v6
v_min_num_f16_e32 v4, v2, v6
v_max_num_f16_e32 v4, v2, v6
v_add_f16_e32 v4, v2, v6
v_sub_f16_e32 v4, v2, v6
v_subrev_f16_e32 v4, v2, v6
v_mul_f16_e32 v4, v2, v6
v_fmac_f16_e32 v4, v2, v6
v_fmamk_f16 v4, v2, 0x1234, v6
v_fmaak_f16 v4, v2, v6, 0x1234
v_ldexp_f16_e32 v4, v2, v6
v_pk_fmac_f16 v4, v2, v6
v_cmp_lt_f16_e32 vcc_lo, v2, v6
v_cmp_eq_f16_e32 vcc_lo, v2, v6
v_cmp_le_f16_e32 vcc_lo, v2, v6
v_cmp_gt_f16_e32 vcc_lo, v2, v6
v_cmp_lg_f16_e32 vcc_lo, v2, v6
v_cmp_ge_f16_e32 vcc_lo, v2, v6
v_cmp_o_f16_e32 vcc_lo, v2, v6
v_cmp_u_f16_e32 vcc_lo, v2, v6
v_cmp_nge_f16_e32 vcc_lo, v2, v6
v_cmp_nlg_f16_e32 vcc_lo, v2, v6
v_cmp_ngt_f16_e32 vcc_lo, v2, v6
v_cmp_nle_f16_e32 vcc_lo, v2, v6
v_cmp_neq_f16_e32 vcc_lo, v2, v6
v_cmp_nlt_f16_e32 vcc_lo, v2, v6
v_cmp_lt_f32_e32 vcc_lo, v2, v6
v_cmp_eq_f32_e32 vcc_lo, v2, v6
v_cmp_le_f32_e32 vcc_lo, v2, v6
v_cmp_gt_f32_e32 vcc_lo, v2, v6
v_cmp_lg_f32_e32 vcc_lo, v2, v6
v_cmp_ge_f32_e32 vcc_lo, v2, v6
v_cmp_o_f32_e32 vcc_lo, v2, v6
v_cmp_u_f32_e32 vcc_lo, v2, v6
v_cmp_nge_f32_e32 vcc_lo, v2, v6
v_cmp_nlg_f32_e32 vcc_lo, v2, v6
v_cmp_ngt_f32_e32 vcc_lo, v2, v6
v_cmp_nle_f32_e32 vcc_lo, v2, v6
v_cmp_neq_f32_e32 vcc_lo, v2, v6
v_cmp_nlt_f32_e32 vcc_lo, v2, v6
v_cmp_lt_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_eq_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_le_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_gt_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_lg_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_ge_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_o_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_u_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_nge_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_nlg_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_ngt_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_nle_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_neq_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_nlt_f64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_lt_i16_e32 vcc_lo, v2, v6
v_cmp_eq_i16_e32 vcc_lo, v2, v6
v_cmp_le_i16_e32 vcc_lo, v2, v6
v_cmp_gt_i16_e32 vcc_lo, v2, v6
v_cmp_ne_i16_e32 vcc_lo, v2, v6
v_cmp_ge_i16_e32 vcc_lo, v2, v6
v_cmp_lt_u16_e32 vcc_lo, v2, v6
v_cmp_eq_u16_e32 vcc_lo, v2, v6
v_cmp_le_u16_e32 vcc_lo, v2, v6
v_cmp_gt_u16_e32 vcc_lo, v2, v6
v_cmp_ne_u16_e32 vcc_lo, v2, v6
v_cmp_ge_u16_e32 vcc_lo, v2, v6
v_cmp_lt_i32_e32 vcc_lo, v2, v6
v_cmp_eq_i32_e32 vcc_lo, v2, v6
v_cmp_le_i32_e32 vcc_lo, v2, v6
v_cmp_gt_i32_e32 vcc_lo, v2, v6
v_cmp_ne_i32_e32 vcc_lo, v2, v6
v_cmp_ge_i32_e32 vcc_lo, v2, v6
v_cmp_lt_u32_e32 vcc_lo, v2, v6
v_cmp_eq_u32_e32 vcc_lo, v2, v6
v_cmp_le_u32_e32 vcc_lo, v2, v6
v_cmp_gt_u32_e32 vcc_lo, v2, v6
v_cmp_ne_u32_e32 vcc_lo, v2, v6
v_cmp_ge_u32_e32 vcc_lo, v2, v6
v_cmp_lt_i64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_eq_i64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_le_i64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_gt_i64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_ne_i64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_ge_i64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_lt_u64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_eq_u64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_le_u64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_gt_u64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_ne_u64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_ge_u64_e32 vcc_lo, v[2:3], v[6:7]
v_cmp_class_f16_e32 vcc_lo, v2, v6
v_cmp_class_f32_e32 vcc_lo, v2, v6
v_cmp_class_f64_e32 vcc_lo, v[2:3], v6
v_cmpx_lt_f16_e32 v2, v6
v_cmpx_eq_f16_e32 v2, v6
v_cmpx_le_f16_e32 v2, v6
v_cmpx_gt_f16_e32 v2, v6
v_cmpx_lg_f16_e32 v2, v6
v_cmpx_ge_f16_e32 v2, v6
v_cmpx_o_f16_e32 v2, v6
v_cmpx_u_f16_e32 v2, v6
v_cmpx_nge_f16_e32 v2, v6
v_cmpx_nlg_f16_e32 v2, v6
v_cmpx_ngt_f16_e32 v2, v6
v_cmpx_nle_f16_e32 v2, v6
v_cmpx_neq_f16_e32 v2, v6
v_cmpx_nlt_f16_e32 v2, v6
v_cmpx_lt_f32_e32 v2, v6
v_cmpx_eq_f32_e32 v2, v6
v_cmpx_le_f32_e32 v2, v6
v_cmpx_gt_f32_e32 v2, v6
v_cmpx_lg_f32_e32 v2, v6
v_cmpx_ge_f32_e32 v2, v6
v_cmpx_o_f32_e32 v2, v6
v_cmpx_u_f32_e32 v2, v6
v_cmpx_nge_f32_e32 v2, v6
v_cmpx_nlg_f32_e32 v2, v6
v_cmpx_ngt_f32_e32 v2, v6
v_cmpx_nle_f32_e32 v2, v6
v_cmpx_neq_f32_e32 v2, v6
v_cmpx_nlt_f32_e32 v2, v6
v_cmpx_lt_f64_e32 v[2:3], v[6:7]
v_cmpx_eq_f64_e32 v[2:3], v[6:7]
v_cmpx_le_f64_e32 v[2:3], v[6:7]
v_cmpx_gt_f64_e32 v[2:3], v[6:7]
v_cmpx_lg_f64_e32 v[2:3], v[6:7]
v_cmpx_ge_f64_e32 v[2:3], v[6:7]
v_cmpx_o_f64_e32 v[2:3], v[6:7]
v_cmpx_u_f64_e32 v[2:3], v[6:7]
v_cmpx_nge_f64_e32 v[2:3], v[6:7]
v_cmpx_nlg_f64_e32 v[2:3], v[6:7]
v_cmpx_ngt_f64_e32 v[2:3], v[6:7]
v_cmpx_nle_f64_e32 v[2:3], v[6:7]
v_cmpx_neq_f64_e32 v[2:3], v[6:7]
v_cmpx_nlt_f64_e32 v[2:3], v[6:7]
v_cmpx_lt_i16_e32 v2, v6
v_cmpx_eq_i16_e32 v2, v6
v_cmpx_le_i16_e32 v2, v6
v_cmpx_gt_i16_e32 v2, v6
v_cmpx_ne_i16_e32 v2, v6
v_cmpx_ge_i16_e32 v2, v6
v_cmpx_lt_u16_e32 v2, v6
v_cmpx_eq_u16_e32 v2, v6
v_cmpx_le_u16_e32 v2, v6
v_cmpx_gt_u16_e32 v2, v6
v_cmpx_ne_u16_e32 v2, v6
v_cmpx_ge_u16_e32 v2, v6
v_cmpx_lt_i32_e32 v2, v6
v_cmpx_eq_i32_e32 v2, v6
v_cmpx_le_i32_e32 v2, v6
v_cmpx_gt_i32_e32 v2, v6
v_cmpx_ne_i32_e32 v2, v6
v_cmpx_ge_i32_e32 v2, v6
v_cmpx_lt_u32_e32 v2, v6
v_cmpx_eq_u32_e32 v2, v6
v_cmpx_le_u32_e32 v2, v6
v_cmpx_gt_u32_e32 v2, v6
v_cmpx_ne_u32_e32 v2, v6
v_cmpx_ge_u32_e32 v2, v6
v_cmpx_lt_i64_e32 v[2:3], v[6:7]
v_cmpx_eq_i64_e32 v[2:3], v[6:7]
v_cmpx_le_i64_e32 v[2:3], v[6:7]
v_cmpx_gt_i64_e32 v[2:3], v[6:7]
v_cmpx_ne_i64_e32 v[2:3], v[6:7]
v_cmpx_ge_i64_e32 v[2:3], v[6:7]
v_cmpx_lt_u64_e32 v[2:3], v[6:7]
v_cmpx_eq_u64_e32 v[2:3], v[6:7]
v_cmpx_le_u64_e32 v[2:3], v[6:7]
v_cmpx_gt_u64_e32 v[2:3], v[6:7]
v_cmpx_ne_u64_e32 v[2:3], v[6:7]
v_cmpx_ge_u64_e32 v[2:3], v[6:7]
v_cmpx_class_f16_e32 v2, v6
v_cmpx_class_f32_e32 v2, v6
v_cmpx_class_f64_e32 v[2:3], v6
v_cmp_lt_f16_e64 s4, v2, v6
v_cmp_eq_f16_e64 s4, v2, v6
v_cmp_le_f16_e64 s4, v2, v6
v_cmp_gt_f16_e64 s4, v2, v6
v_cmp_lg_f16_e64 s4, v2, v6
v_cmp_ge_f16_e64 s4, v2, v6
v_cmp_o_f16_e64 s4, v2, v6
v_cmp_u_f16_e64 s4, v2, v6
v_cmp_nge_f16_e64 s4, v2, v6
v_cmp_nlg_f16_e64 s4, v2, v6
v_cmp_ngt_f16_e64 s4, v2, v6
v_cmp_nle_f16_e64 s4, v2, v6
v_cmp_neq_f16_e64 s4, v2, v6
v_cmp_nlt_f16_e64 s4, v2, v6
v_cmp_lt_f32_e64 s4, v2, v6
v_cmp_eq_f32_e64 s4, v2, v6
v_cmp_le_f32_e64 s4, v2, v6
v_cmp_gt_f32_e64 s4, v2, v6
v_cmp_lg_f32_e64 s4, v2, v6
v_cmp_ge_f32_e64 s4, v2, v6
v_cmp_o_f32_e64 s4, v2, v6
v_cmp_u_f32_e64 s4, v2, v6
v_cmp_nge_f32_e64 s4, v2, v6
v_cmp_nlg_f32_e64 s4, v2, v6
v_cmp_ngt_f32_e64 s4, v2, v6
v_cmp_nle_f32_e64 s4, v2, v6
v_cmp_neq_f32_e64 s4, v2, v6
v_cmp_nlt_f32_e64 s4, v2, v6
v_cmp_lt_f64_e64 s4, v[2:3], v[6:7]
v_cmp_eq_f64_e64 s4, v[2:3], v[6:7]
v_cmp_le_f64_e64 s4, v[2:3], v[6:7]
v_cmp_gt_f64_e64 s4, v[2:3], v[6:7]
v_cmp_lg_f64_e64 s4, v[2:3], v[6:7]
v_cmp_ge_f64_e64 s4, v[2:3], v[6:7]
v_cmp_o_f64_e64 s4, v[2:3], v[6:7]
v_cmp_u_f64_e64 s4, v[2:3], v[6:7]
v_cmp_nge_f64_e64 s4, v[2:3], v[6:7]
v_cmp_nlg_f64_e64 s4, v[2:3], v[6:7]
v_cmp_ngt_f64_e64 s4, v[2:3], v[6:7]
v_cmp_nle_f64_e64 s4, v[2:3], v[6:7]
v_cmp_neq_f64_e64 s4, v[2:3], v[6:7]
v_cmp_nlt_f64_e64 s4, v[2:3], v[6:7]
v_cmp_lt_i16_e64 s4, v2, v6
v_cmp_eq_i16_e64 s4, v2, v6
v_cmp_le_i16_e64 s4, v2, v6
v_cmp_gt_i16_e64 s4, v2, v6
v_cmp_ne_i16_e64 s4, v2, v6
v_cmp_ge_i16_e64 s4, v2, v6
v_cmp_lt_u16_e64 s4, v2, v6
v_cmp_eq_u16_e64 s4, v2, v6
v_cmp_le_u16_e64 s4, v2, v6
v_cmp_gt_u16_e64 s4, v2, v6
v_cmp_ne_u16_e64 s4, v2, v6
v_cmp_ge_u16_e64 s4, v2, v6
v_cmp_lt_i32_e64 s4, v2, v6
v_cmp_eq_i32_e64 s4, v2, v6
v_cmp_le_i32_e64 s4, v2, v6
v_cmp_gt_i32_e64 s4, v2, v6
v_cmp_ne_i32_e64 s4, v2, v6
v_cmp_ge_i32_e64 s4, v2, v6
v_cmp_lt_u32_e64 s4, v2, v6
v_cmp_eq_u32_e64 s4, v2, v6
v_cmp_le_u32_e64 s4, v2, v6
v_cmp_gt_u32_e64 s4, v2, v6
v_cmp_ne_u32_e64 s4, v2, v6
v_cmp_ge_u32_e64 s4, v2, v6
v_cmp_lt_i64_e64 s4, v[2:3], v[6:7]
v_cmp_eq_i64_e64 s4, v[2:3], v[6:7]
v_cmp_le_i64_e64 s4, v[2:3], v[6:7]
v_cmp_gt_i64_e64 s4, v[2:3], v[6:7]
v_cmp_ne_i64_e64 s4, v[2:3], v[6:7]
v_cmp_ge_i64_e64 s4, v[2:3], v[6:7]
v_cmp_lt_u64_e64 s4, v[2:3], v[6:7]
v_cmp_eq_u64_e64 s4, v[2:3], v[6:7]
v_cmp_le_u64_e64 s4, v[2:3], v[6:7]
v_cmp_gt_u64_e64 s4, v[2:3], v[6:7]
v_cmp_ne_u64_e64 s4, v[2:3], v[6:7]
v_cmp_ge_u64_e64 s4, v[2:3], v[6:7]
v_cmp_class_f16_e64 s4, v2, v6
v_cmp_class_f32_e64 s4, v2, v6
v_cmp_class_f64_e64 s4, v[2:3], v6
v_cmpx_lt_f16_e64 v2, v6
v_cmpx_eq_f16_e64 v2, v6
v_cmpx_le_f16_e64 v2, v6
v_cmpx_gt_f16_e64 v2, v6
v_cmpx_lg_f16_e64 v2, v6
v_cmpx_ge_f16_e64 v2, v6
v_cmpx_o_f16_e64 v2, v6
v_cmpx_u_f16_e64 v2, v6
v_cmpx_nge_f16_e64 v2, v6
v_cmpx_nlg_f16_e64 v2, v6
v_cmpx_ngt_f16_e64 v2, v6
v_cmpx_nle_f16_e64 v2, v6
v_cmpx_neq_f16_e64 v2, v6
v_cmpx_nlt_f16_e64 v2, v6
v_cmpx_lt_f32_e64 v2, v6
v_cmpx_eq_f32_e64 v2, v6
v_cmpx_le_f32_e64 v2, v6
v_cmpx_gt_f32_e64 v2, v6
v_cmpx_lg_f32_e64 v2, v6
v_cmpx_ge_f32_e64 v2, v6
v_cmpx_o_f32_e64 v2, v6
v_cmpx_u_f32_e64 v2, v6
v_cmpx_nge_f32_e64 v2, v6
v_cmpx_nlg_f32_e64 v2, v6
v_cmpx_ngt_f32_e64 v2, v6
v_cmpx_nle_f32_e64 v2, v6
v_cmpx_neq_f32_e64 v2, v6
v_cmpx_nlt_f32_e64 v2, v6
v_cmpx_lt_f64_e64 v[2:3], v[6:7]
v_cmpx_eq_f64_e64 v[2:3], v[6:7]
v_cmpx_le_f64_e64 v[2:3], v[6:7]
v_cmpx_gt_f64_e64 v[2:3], v[6:7]
v_cmpx_lg_f64_e64 v[2:3], v[6:7]
v_cmpx_ge_f64_e64 v[2:3], v[6:7]
v_cmpx_o_f64_e64 v[2:3], v[6:7]
v_cmpx_u_f64_e64 v[2:3], v[6:7]
v_cmpx_nge_f64_e64 v[2:3], v[6:7]
v_cmpx_nlg_f64_e64 v[2:3], v[6:7]
v_cmpx_ngt_f64_e64 v[2:3], v[6:7]
v_cmpx_nle_f64_e64 v[2:3], v[6:7]
v_cmpx_neq_f64_e64 v[2:3], v[6:7]
v_cmpx_nlt_f64_e64 v[2:3], v[6:7]
v_cmpx_lt_i16_e64 v2, v6
v_cmpx_eq_i16_e64 v2, v6
v_cmpx_le_i16_e64 v2, v6
v_cmpx_gt_i16_e64 v2, v6
v_cmpx_ne_i16_e64 v2, v6
v_cmpx_ge_i16_e64 v2, v6
v_cmpx_lt_u16_e64 v2, v6
v_cmpx_eq_u16_e64 v2, v6
v_cmpx_le_u16_e64 v2, v6
v_cmpx_gt_u16_e64 v2, v6
v_cmpx_ne_u16_e64 v2, v6
v_cmpx_ge_u16_e64 v2, v6
v_cmpx_lt_i32_e64 v2, v6
v_cmpx_eq_i32_e64 v2, v6
v_cmpx_le_i32_e64 v2, v6
v_cmpx_gt_i32_e64 v2, v6
v_cmpx_ne_i32_e64 v2, v6
v_cmpx_ge_i32_e64 v2, v6
v_cmpx_lt_u32_e64 v2, v6
v_cmpx_eq_u32_e64 v2, v6
v_cmpx_le_u32_e64 v2, v6
v_cmpx_gt_u32_e64 v2, v6
v_cmpx_ne_u32_e64 v2, v6
v_cmpx_ge_u32_e64 v2, v6
v_cmpx_lt_i64_e64 v[2:3], v[6:7]
v_cmpx_eq_i64_e64 v[2:3], v[6:7]
v_cmpx_le_i64_e64 v[2:3], v[6:7]
v_cmpx_gt_i64_e64 v[2:3], v[6:7]
v_cmpx_ne_i64_e64 v[2:3], v[6:7]
v_cmpx_ge_i64_e64 v[2:3], v[6:7]
v_cmpx_lt_u64_e64 v[2:3], v[6:7]
v_cmpx_eq_u64_e64 v[2:3], v[6:7]
v_cmpx_le_u64_e64 v[2:3], v[6:7]
v_cmpx_gt_u64_e64 v[2:3], v[6:7]
v_cmpx_ne_u64_e64 v[2:3], v[6:7]
v_cmpx_ge_u64_e64 v[2:3], v[6:7]
v_cmpx_class_f16_e64 v2, v6
v_cmpx_class_f32_e64 v2, v6
v_cmpx_class_f64_e64 v[2:3], v6
v_add_f64_e64 v[4:5], v[2:3], v[6:7]
v_add_f32_e64 v4, v2, v6
v_sub_f32_e64 v4, v2, v6
v_subrev_f32_e64 v4, v2, v6
v_mul_f64_e64 v[4:5], v[2:3], v[6:7]
v_mul_dx9_zero_f32_e64 v4, v2, v6
v_mul_f32_e64 v4, v2, v6
v_mul_i32_i24_e64 v4, v2, v6
v_mul_hi_i32_i24_e64 v4, v2, v6
v_mul_u32_u24_e64 v4, v2, v6
v_mul_hi_u32_u24_e64 v4, v2, v6
v_min_num_f64_e64 v[4:5], v[2:3], v[6:7]
v_max_num_f64_e64 v[4:5], v[2:3], v[6:7]
v_min_i32_e64 v4, v2, v6
v_max_i32_e64 v4, v2, v6
v_min_u32_e64 v4, v2, v6
v_max_u32_e64 v4, v2, v6
v_min_num_f32_e64 v4, v2, v6
v_max_num_f32_e64 v4, v2, v6
v_lshlrev_b32_e64 v4, v2, v6
v_lshrrev_b32_e64 v4, v2, v6
v_ashrrev_i32_e64 v4, v2, v6
v_and_b32_e64 v4, v2, v6
v_or_b32_e64 v4, v2, v6
v_xor_b32_e64 v4, v2, v6
v_xnor_b32_e64 v4, v2, v6
v_lshlrev_b64_e64 v[4:5], v2, v[6:7]
v_add_nc_u32_e64 v4, v2, v6
v_sub_nc_u32_e64 v4, v2, v6
v_subrev_nc_u32_e64 v4, v2, v6
v_fmac_f32_e64 v4, v2, v6
v_cvt_pk_rtz_f16_f32_e64 v4, v2, v6
v_min_num_f16_e64 v4, v2, v6
v_max_num_f16_e64 v4, v2, v6
v_add_f16_e64 v4, v2, v6
v_sub_f16_e64 v4, v2, v6
v_subrev_f16_e64 v4, v2, v6
v_mul_f16_e64 v4, v2, v6
v_fmac_f16_e64 v4, v2, v6
v_ldexp_f16_e64 v4, v2, v6
v_mov_b32_e64 v4, v2
v_cvt_i32_f64_e64 v4, v[2:3]
v_cvt_f64_i32_e64 v[4:5], v2
v_cvt_f32_i32_e64 v4, v2
v_cvt_f32_u32_e64 v4, v2
v_cvt_u32_f32_e64 v4, v2
v_cvt_i32_f32_e64 v4, v2
v_cvt_f16_f32_e64 v4, v2
v_cvt_f32_f16_e64 v4, v2
v_cvt_nearest_i32_f32_e64 v4, v2
v_cvt_floor_i32_f32_e64 v4, v2
v_cvt_off_f32_i4_e64 v4, v2
v_cvt_f32_f64_e64 v4, v[2:3]
v_cvt_f64_f32_e64 v[4:5], v2
v_cvt_f32_ubyte0_e64 v4, v2
v_cvt_f32_ubyte1_e64 v4, v2
v_cvt_f32_ubyte2_e64 v4, v2
v_cvt_f32_ubyte3_e64 v4, v2
v_cvt_u32_f64_e64 v4, v[2:3]
v_cvt_f64_u32_e64 v[4:5], v2
v_trunc_f64_e64 v[4:5], v[2:3]
v_ceil_f64_e64 v[4:5], v[2:3]
v_rndne_f64_e64 v[4:5], v[2:3]
v_floor_f64_e64 v[4:5], v[2:3]
v_fract_f32_e64 v4, v2
v_trunc_f32_e64 v4, v2
v_ceil_f32_e64 v4, v2
v_rndne_f32_e64 v4, v2
v_floor_f32_e64 v4, v2
v_exp_f32_e64 v4, v2
v_log_f32_e64 v4, v2
v_rcp_f32_e64 v4, v2
v_rcp_iflag_f32_e64 v4, v2
v_rsq_f32_e64 v4, v2
v_rcp_f64_e64 v[4:5], v[2:3]
v_rsq_f64_e64 v[4:5], v[2:3]
v_sqrt_f32_e64 v4, v2
v_sqrt_f64_e64 v[4:5], v[2:3]
v_sin_f32_e64 v4, v2
v_cos_f32_e64 v4, v2
v_not_b32_e64 v4, v2
v_bfrev_b32_e64 v4, v2
v_clz_i32_u32_e64 v4, v2
v_ctz_i32_b32_e64 v4, v2
v_cls_i32_e64 v4, v2
v_frexp_exp_i32_f64_e64 v4, v[2:3]
v_frexp_mant_f64_e64 v[4:5], v[2:3]
v_fract_f64_e64 v[4:5], v[2:3]
v_frexp_exp_i32_f32_e64 v4, v2
v_frexp_mant_f32_e64 v4, v2
v_movreld_b32_e64 v4, v2
v_movrels_b32_e64 v4, v2
v_movrelsd_b32_e64 v4, v2
v_cvt_f16_u16_e64 v4, v2
v_cvt_f16_i16_e64 v4, v2
v_cvt_u16_f16_e64 v4, v2
v_cvt_i16_f16_e64 v4, v2
v_rcp_f16_e64 v4, v2
v_sqrt_f16_e64 v4, v2
v_rsq_f16_e64 v4, v2
v_log_f16_e64 v4, v2
v_exp_f16_e64 v4, v2
v_frexp_mant_f16_e64 v4, v2
v_frexp_exp_i16_f16_e64 v4, v2
v_floor_f16_e64 v4, v2
v_ceil_f16_e64 v4, v2
v_trunc_f16_e64 v4, v2
v_rndne_f16_e64 v4, v2
v_fract_f16_e64 v4, v2
v_sin_f16_e64 v4, v2
v_cos_f16_e64 v4, v2
v_sat_pk_u8_i16_e64 v4, v2
v_cvt_norm_i16_f16_e64 v4, v2
v_cvt_norm_u16_f16_e64 v4, v2
v_not_b16_e64 v4, v2
v_cvt_i32_i16_e64 v4, v2
v_cvt_u32_u16_e64 v4, v2
v_fma_dx9_zero_f32 v4, v2, v6, v8
v_mad_i32_i24 v4, v2, v6, v8
v_mad_u32_u24 v4, v2, v6, v8
v_cubeid_f32 v4, v2, v6, v8
v_cubesc_f32 v4, v2, v6, v8
v_cubetc_f32 v4, v2, v6, v8
v_cubema_f32 v4, v2, v6, v8
v_bfe_u32 v4, v2, v6, v8
v_bfe_i32 v4, v2, v6, v8
v_bfi_b32 v4, v2, v6, v8
v_fma_f32 v4, v2, v6, v8
v_fma_f64 v[4:5], v[2:3], v[6:7], v[8:9]
v_lerp_u8 v4, v2, v6, v8
v_alignbit_b32 v4, v2, v6, v8
v_alignbyte_b32 v4, v2, v6, v8
v_min3_i32 v4, v2, v6, v8
v_min3_u32 v4, v2, v6, v8
v_max3_i32 v4, v2, v6, v8
v_max3_u32 v4, v2, v6, v8
v_med3_i32 v4, v2, v6, v8
v_med3_u32 v4, v2, v6, v8
v_sad_u8 v4, v2, v6, v8
v_sad_hi_u8 v4, v2, v6, v8
v_sad_u16 v4, v2, v6, v8
v_sad_u32 v4, v2, v6, v8
v_cvt_pk_u8_f32 v4, v2, v6, v8
v_div_fixup_f32 v4, v2, v6, v8
v_div_fixup_f64 v[4:5], v[2:3], v[6:7], v[8:9]
v_min3_num_f32 v4, v2, v6, v8
v_max3_num_f32 v4, v2, v6, v8
v_min3_num_f16 v4, v2, v6, v8
v_max3_num_f16 v4, v2, v6, v8
v_minimum3_f32 v4, v2, v6, v8
v_maximum3_f32 v4, v2, v6, v8
v_minimum3_f16 v4, v2, v6, v8
v_maximum3_f16 v4, v2, v6, v8
v_med3_num_f32 v4, v2, v6, v8
v_med3_num_f16 v4, v2, v6, v8
v_div_fmas_f32 v4, v2, v6, v8
v_div_fmas_f64 v[4:5], v[2:3], v[6:7], v[8:9]
v_msad_u8 v4, v2, v6, v8
v_qsad_pk_u16_u8 v[4:5], v[2:3], v6, v[8:9]
v_mqsad_pk_u16_u8 v[4:5], v[2:3], v6, v[8:9]
v_mqsad_u32_u8 v[4:7], v[2:3], v6, v[8:11]
v_xor3_b32 v4, v2, v6, v8
v_mad_u16 v4, v2, v6, v8
v_perm_b32 v4, v2, v6, v8
v_xad_u32 v4, v2, v6, v8
v_lshl_add_u32 v4, v2, v6, v8
v_add_lshl_u32 v4, v2, v6, v8
v_fma_f16 v4, v2, v6, v8
v_min3_i16 v4, v2, v6, v8
v_min3_u16 v4, v2, v6, v8
v_max3_i16 v4, v2, v6, v8
v_max3_u16 v4, v2, v6, v8
v_med3_i16 v4, v2, v6, v8
v_med3_u16 v4, v2, v6, v8
v_mad_i16 v4, v2, v6, v8
v_div_fixup_f16 v4, v2, v6, v8
v_add3_u32 v4, v2, v6, v8
v_lshl_or_b32 v4, v2, v6, v8
v_and_or_b32 v4, v2, v6, v8
v_or3_b32 v4, v2, v6, v8
v_mad_u32_u16 v4, v2, v6, v8
v_mad_i32_i16 v4, v2, v6, v8
v_maxmin_u32 v4, v2, v6, v8
v_minmax_u32 v4, v2, v6, v8
v_maxmin_i32 v4, v2, v6, v8
v_minmax_i32 v4, v2, v6, v8
v_dot2_f16_f16 v4, v2, v6, v8
v_dot2_bf16_bf16 v4, v2, v6, v8
v_minmax_num_f32 v4, v2, v6, v8
v_maxmin_num_f32 v4, v2, v6, v8
v_minmax_num_f16 v4, v2, v6, v8
v_maxmin_num_f16 v4, v2, v6, v8
v_minimummaximum_f32 v4, v2, v6, v8
v_maximumminimum_f32 v4, v2, v6, v8
v_minimummaximum_f16 v4, v2, v6, v8
v_maximumminimum_f16 v4, v2, v6, v8
v_s_exp_f32 s4, s2
v_s_exp_f16 s4, s2
v_s_log_f32 s4, s2
v_s_log_f16 s4, s2
v_s_rcp_f32 s4, s2
v_s_rcp_f16 s4, s2
v_s_rsq_f32 s4, s2
v_s_rsq_f16 s4, s2
v_s_sqrt_f32 s4, s2
v_s_sqrt_f16 s4, s2
v_div_scale_f32 v4, s0, v2, v6, v8
v_div_scale_f64 v[4:5], s0, v[2:3], v[6:7], v[8:9]
v_mad_co_u64_u32 v[4:5], s0, v2, v6, v[8:9]
v_mad_co_i64_i32 v[4:5], s0, v2, v6, v[8:9]
v_add_co_u32 v4, s0, v2, v6
v_sub_co_u32 v4, s0, v2, v6
v_subrev_co_u32 v4, s0, v2, v6
v_add_nc_u16 v4, v2, v6
v_sub_nc_u16 v4, v2, v6
v_mul_lo_u16 v4, v2, v6
v_cvt_pk_i16_f32 v4, v2, v6
v_cvt_pk_u16_f32 v4, v2, v6
v_max_u16 v4, v2, v6
v_max_i16 v4, v2, v6
v_min_u16 v4, v2, v6
v_min_i16 v4, v2, v6
v_add_nc_i16 v4, v2, v6
v_sub_nc_i16 v4, v2, v6
v_permlane16_var_b32 v4, v2, v6
v_permlanex16_var_b32 v4, v2, v6
v_pack_b32_f16 v4, v2, v6
v_cvt_pk_norm_i16_f16 v4, v2, v6
v_cvt_pk_norm_u16_f16 v4, v2, v6
v_ldexp_f32 v4, v2, v6
v_bfm_b32 v4, v2, v6
v_bcnt_u32_b32 v4, v2, v6
v_mbcnt_lo_u32_b32 v4, v2, v6
v_mbcnt_hi_u32_b32 v4, v2, v6
v_cvt_pk_norm_i16_f32 v4, v2, v6
v_cvt_pk_norm_u16_f32 v4, v2, v6
v_cvt_pk_u16_u32 v4, v2, v6
v_cvt_pk_i16_i32 v4, v2, v6
v_sub_nc_i32 v4, v2, v6
v_add_nc_i32 v4, v2, v6
v_ldexp_f64 v[4:5], v[2:3], v6
v_mul_lo_u32 v4, v2, v6
v_mul_hi_u32 v4, v2, v6
v_mul_hi_i32 v4, v2, v6
v_trig_preop_f64 v[4:5], v[2:3], v6
v_lshlrev_b16 v4, v2, v6
v_lshrrev_b16 v4, v2, v6
v_ashrrev_i16 v4, v2, v6
v_lshrrev_b64 v[4:5], v2, v[6:7]
v_ashrrev_i64 v[4:5], v2, v[6:7]
v_minimum_f64 v[4:5], v[2:3], v[6:7]
v_maximum_f64 v[4:5], v[2:3], v[6:7]
v_and_b16 v4, v2, v6
v_or_b16 v4, v2, v6
v_xor_b16 v4, v2, v6
v_minimum_f32 v4, v2, v6
v_maximum_f32 v4, v2, v6
v_minimum_f16 v4, v2, v6
v_maximum_f16 v4, v2, v6
v_pk_mad_i16 v4, v2, v6, v8
v_pk_mul_lo_u16 v4, v2, v6
v_pk_add_i16 v4, v2, v6
v_pk_sub_i16 v4, v2, v6
v_pk_lshlrev_b16 v4, v2, v6
v_pk_lshrrev_b16 v4, v2, v6
v_pk_ashrrev_i16 v4, v2, v6
v_pk_max_i16 v4, v2, v6
v_pk_min_i16 v4, v2, v6
v_pk_mad_u16 v4, v2, v6, v8
v_pk_add_u16 v4, v2, v6
v_pk_sub_u16 v4, v2, v6
v_pk_max_u16 v4, v2, v6
v_pk_min_u16 v4, v2, v6
v_pk_fma_f16 v4, v2, v6, v8
v_pk_add_f16 v4, v2, v6
v_pk_mul_f16 v4, v2, v6
v_dot2_f32_f16 v4, v2, v6, v8
v_dot4_i32_iu8 v4, v2, v6, v8
v_dot4_u32_u8 v4, v2, v6, v8
v_dot8_i32_iu4 v4, v2, v6, v8
v_dot8_u32_u4 v4, v2, v6, v8
v_dot2_f32_bf16 v4, v2, v6, v8
v_pk_min_num_f16 v4, v2, v6
v_pk_max_num_f16 v4, v2, v6
v_pk_minimum_f16 v4, v2, v6
v_pk_maximum_f16 v4, v2, v6
v_fma_mix_f32 v4, v2, v6, v8 op_sel_hi:[1,1,1]
v_fma_mixlo_f16 v4, v2, v6, v8 op_sel_hi:[1,1,1]
v_fma_mixhi_f16 v4, v2, v6, v8 op_sel_hi:[1,1,1]
v_wmma_f32_16x16x16_f16 v[4:11], v[2:5], v[6:9], v[8:15]
v_wmma_f32_16x16x16_bf16 v[4:11], v[2:5], v[6:9], v[8:15]
v_wmma_f16_16x16x16_f16 v[4:7], v[2:5], v[6:9], v[8:11]
v_wmma_bf16_16x16x16_bf16 v[4:7], v[2:5], v[6:9], v[8:11]
v_wmma_i32_16x16x16_iu8 v[4:11], v[2:3], v[6:7], v[8:15]
v_wmma_i32_16x16x16_iu4 v[4:11], v2, v6, v[8:15]
v_wmma_i32_16x16x32_iu4 v[4:11], v[2:3], v[6:7], v[8:15]
v_swmmac_f32_16x16x32_f16 v[4:11], v[2:5], v[6:13], v8
v_swmmac_f32_16x16x32_bf16 v[4:11], v[2:5], v[6:13], v8
v_swmmac_f16_16x16x32_f16 v[4:7], v[2:5], v[6:13], v8
v_swmmac_bf16_16x16x32_bf16 v[4:7], v[2:5], v[6:13], v8
v_swmmac_i32_16x16x32_iu8 v[4:11], v[2:3], v[6:9], v8
v_swmmac_i32_16x16x32_iu4 v[4:11], v2, v[6:7], v8
v_swmmac_i32_16x16x64_iu4 v[4:11], v[2:3], v[6:9], v8
ds_add_u32 v2, v6
ds_sub_u32 v2, v6
ds_rsub_u32 v2, v6
ds_inc_u32 v2, v6
ds_dec_u32 v2, v6
ds_min_i32 v2, v6
ds_max_i32 v2, v6
ds_min_u32 v2, v6
ds_max_u32 v2, v6
ds_and_b32 v2, v6
ds_or_b32 v2, v6
ds_xor_b32 v2, v6
ds_mskor_b32 v2, v6, v0
ds_store_b32 v2, v6
ds_store_2addr_b32 v2, v6, v0
ds_store_2addr_stride64_b32 v2, v6, v0
ds_cmpstore_b32 v2, v6, v0
ds_min_num_f32 v2, v6
ds_max_num_f32 v2, v6
ds_nop
ds_add_f32 v2, v6
ds_store_b8 v2, v6
ds_store_b16 v2, v6
ds_add_rtn_u32 v4, v2, v0
ds_sub_rtn_u32 v4, v2, v0
ds_rsub_rtn_u32 v4, v2, v0
ds_inc_rtn_u32 v4, v2, v0
ds_dec_rtn_u32 v4, v2, v0
ds_min_rtn_i32 v4, v2, v0
ds_max_rtn_i32 v4, v2, v0
ds_min_rtn_u32 v4, v2, v0
ds_max_rtn_u32 v4, v2, v0
ds_and_rtn_b32 v4, v2, v0
ds_or_rtn_b32 v4, v2, v0
ds_xor_rtn_b32 v4, v2, v0
ds_mskor_rtn_b32 v4, v2, v8, v6
ds_storexchg_rtn_b32 v4, v2, v0
ds_storexchg_2addr_rtn_b32 v[4:5], v2, v8, v6
ds_storexchg_2addr_stride64_rtn_b32 v[4:5], v2, v8, v6
ds_cmpstore_rtn_b32 v4, v2, v8, v6
ds_min_num_rtn_f32 v4, v2, v0
ds_max_num_rtn_f32 v4, v2, v0
ds_swizzle_b32 v4, v2
ds_load_b32 v4, v2
ds_load_2addr_b32 v[4:5], v2
ds_load_2addr_stride64_b32 v[4:5], v2
ds_load_i8 v4, v2
ds_load_u8 v4, v2
ds_load_i16 v4, v2
ds_load_u16 v4, v2
ds_consume v4
ds_append v4
ds_add_u64 v2, v[6:7]
ds_sub_u64 v2, v[6:7]
ds_rsub_u64 v2, v[6:7]
ds_inc_u64 v2, v[6:7]
ds_dec_u64 v2, v[6:7]
ds_min_i64 v2, v[6:7]
ds_max_i64 v2, v[6:7]
ds_min_u64 v2, v[6:7]
ds_max_u64 v2, v[6:7]
ds_and_b64 v2, v[6:7]
ds_or_b64 v2, v[6:7]
ds_xor_b64 v2, v[6:7]
ds_mskor_b64 v2, v[6:7], v[0:1]
ds_store_b64 v2, v[6:7]
ds_store_2addr_b64 v2, v[6:7], v[0:1]
ds_store_2addr_stride64_b64 v2, v[6:7], v[0:1]
ds_cmpstore_b64 v2, v[6:7], v[0:1]
ds_min_num_f64 v2, v[6:7]
ds_max_num_f64 v2, v[6:7]
ds_add_rtn_u64 v[4:5], v2, v[0:1]
ds_sub_rtn_u64 v[4:5], v2, v[0:1]
ds_rsub_rtn_u64 v[4:5], v2, v[0:1]
ds_inc_rtn_u64 v[4:5], v2, v[0:1]
ds_dec_rtn_u64 v[4:5], v2, v[0:1]
ds_min_rtn_i64 v[4:5], v2, v[0:1]
ds_max_rtn_i64 v[4:5], v2, v[0:1]
ds_min_rtn_u64 v[4:5], v2, v[0:1]
ds_max_rtn_u64 v[4:5], v2, v[0:1]
ds_and_rtn_b64 v[4:5], v2, v[0:1]
ds_or_rtn_b64 v[4:5], v2, v[0:1]
ds_xor_rtn_b64 v[4:5], v2, v[0:1]
ds_mskor_rtn_b64 v[4:5], v2, v[8:9], v[6:7]
ds_storexchg_rtn_b64 v[4:5], v2, v[0:1]
ds_storexchg_2addr_rtn_b64 v[4:7], v2, v[8:9], v[6:7]
ds_storexchg_2addr_stride64_rtn_b64 v[4:7], v2, v[8:9], v[6:7]
ds_cmpstore_rtn_b64 v[4:5], v2, v[8:9], v[6:7]
ds_min_num_rtn_f64 v[4:5], v2, v[0:1]
ds_max_num_rtn_f64 v[4:5], v2, v[0:1]
ds_load_b64 v[4:5], v2
ds_load_2addr_b64 v[4:7], v2
ds_load_2addr_stride64_b64 v[4:7], v2
ds_add_rtn_f32 v4, v2, v0
ds_condxchg32_rtn_b64 v[4:5], v2, v[0:1]
ds_cond_sub_u32 v2, v6
ds_sub_clamp_u32 v2, v6
ds_pk_add_f16 v2, v6
ds_pk_add_bf16 v2, v6
ds_store_b8_d16_hi v2, v6
ds_store_b16_d16_hi v2, v6
ds_load_u8_d16 v4, v2
ds_load_u8_d16_hi v4, v2
ds_load_i8_d16 v4, v2
ds_load_i8_d16_hi v4, v2
ds_load_u16_d16 v4, v2
ds_load_u16_d16_hi v4, v2
ds_cond_sub_rtn_u32 v4, v2, v0
ds_sub_clamp_rtn_u32 v4, v2, v0
ds_pk_add_rtn_f16 v4, v2, v0
ds_pk_add_rtn_bf16 v4, v2, v0
ds_store_addtid_b32 v0
ds_load_addtid_b32 v4
ds_permute_b32 v4, v2, v0
ds_bpermute_b32 v4, v2, v0
ds_bpermute_fi_b32 v4, v2, v0
ds_store_b96 v2, v[6:8]
ds_store_b128 v2, v[6:9]
ds_load_b96 v[4:6], v2
ds_load_b128 v[4:7], v2
flat_load_u8 v4, v[8:9]
flat_load_i8 v4, v[8:9]
flat_load_u16 v4, v[8:9]
flat_load_i16 v4, v[8:9]
flat_load_b32 v4, v[8:9]
flat_load_b64 v[4:5], v[8:9]
flat_load_b96 v[4:6], v[8:9]
flat_load_b128 v[4:7], v[8:9]
flat_store_b8 v[8:9], v6
flat_store_b16 v[8:9], v6
flat_store_b32 v[8:9], v6
flat_store_b64 v[8:9], v[6:7]
flat_store_b96 v[8:9], v[6:8]
flat_store_b128 v[8:9], v[6:9]
flat_load_d16_u8 v4, v[8:9]
flat_load_d16_i8 v4, v[8:9]
flat_load_d16_b16 v4, v[8:9]
flat_load_d16_hi_u8 v4, v[8:9]
flat_load_d16_hi_i8 v4, v[8:9]
flat_load_d16_hi_b16 v4, v[8:9]
flat_store_d16_hi_b8 v[8:9], v6
flat_store_d16_hi_b16 v[8:9], v6
flat_atomic_swap_b32 v[8:9], v6
flat_atomic_cmpswap_b32 v[8:9], v[6:7]
flat_atomic_add_u32 v[8:9], v6
flat_atomic_sub_u32 v[8:9], v6
flat_atomic_sub_clamp_u32 v[8:9], v6
flat_atomic_min_i32 v[8:9], v6
flat_atomic_min_u32 v[8:9], v6
flat_atomic_max_i32 v[8:9], v6
flat_atomic_max_u32 v[8:9], v6
flat_atomic_and_b32 v[8:9], v6
flat_atomic_or_b32 v[8:9], v6
flat_atomic_xor_b32 v[8:9], v6
flat_atomic_inc_u32 v[8:9], v6
flat_atomic_dec_u32 v[8:9], v6
flat_atomic_swap_b64 v[8:9], v[6:7]
flat_atomic_cmpswap_b64 v[8:9], v[6:9]
flat_atomic_add_u64 v[8:9], v[6:7]
flat_atomic_sub_u64 v[8:9], v[6:7]
flat_atomic_min_i64 v[8:9], v[6:7]
flat_atomic_min_u64 v[8:9], v[6:7]
flat_atomic_max_i64 v[8:9], v[6:7]
flat_atomic_max_u64 v[8:9], v[6:7]
flat_atomic_and_b64 v[8:9], v[6:7]
flat_atomic_or_b64 v[8:9], v[6:7]
flat_atomic_xor_b64 v[8:9], v[6:7]
flat_atomic_inc_u64 v[8:9], v[6:7]
flat_atomic_dec_u64 v[8:9], v[6:7]
flat_atomic_cond_sub_u32 v[8:9], v6
flat_atomic_min_num_f32 v[8:9], v6
flat_atomic_max_num_f32 v[8:9], v6
flat_atomic_add_f32 v[8:9], v6
flat_atomic_pk_add_f16 v[8:9], v6
flat_atomic_pk_add_bf16 v[8:9], v6
scratch_load_u8 v4, v8, off
scratch_load_i8 v4, v8, off
scratch_load_u16 v4, v8, off
scratch_load_i16 v4, v8, off
scratch_load_b32 v4, v8, off
scratch_load_b64 v[4:5], v8, off
scratch_load_b96 v[4:6], v8, off
scratch_load_b128 v[4:7], v8, off
scratch_store_b8 v8, v6, off
scratch_store_b16 v8, v6, off
scratch_store_b32 v8, v6, off
scratch_store_b64 v8, v[6:7], off
scratch_store_b96 v8, v[6:8], off
scratch_store_b128 v8, v[6:9], off
scratch_load_d16_u8 v4, v8, off
scratch_load_d16_i8 v4, v8, off
scratch_load_d16_b16 v4, v8, off
scratch_load_d16_hi_u8 v4, v8, off
scratch_load_d16_hi_i8 v4, v8, off
scratch_load_d16_hi_b16 v4, v8, off
scratch_store_d16_hi_b8 v8, v6, off
scratch_store_d16_hi_b16 v8, v6, off
global_load_u8 v4, v[8:9], off
global_load_i8 v4, v[8:9], off
global_load_u16 v4, v[8:9], off
global_load_i16 v4, v[8:9], off
global_load_b32 v4, v[8:9], off
global_load_b64 v[4:5], v[8:9], off
global_load_b96 v[4:6], v[8:9], off
global_load_b128 v[4:7], v[8:9], off
global_store_b8 v[8:9], v6, off
global_store_b16 v[8:9], v6, off
global_store_b32 v[8:9], v6, off
global_store_b64 v[8:9], v[6:7], off
global_store_b96 v[8:9], v[6:8], off
global_store_b128 v[8:9], v[6:9], off
global_load_d16_u8 v4, v[8:9], off
global_load_d16_i8 v4, v[8:9], off
global_load_d16_b16 v4, v[8:9], off
global_load_d16_hi_u8 v4, v[8:9], off
global_load_d16_hi_i8 v4, v[8:9], off
global_load_d16_hi_b16 v4, v[8:9], off
global_store_d16_hi_b8 v[8:9], v6, off
global_store_d16_hi_b16 v[8:9], v6, off
global_inv
global_wb
global_atomic_swap_b32 v[8:9], v6, off
global_atomic_cmpswap_b32 v[8:9], v[6:7], off
global_atomic_add_u32 v[8:9], v6, off
global_atomic_sub_u32 v[8:9], v6, off
global_atomic_sub_clamp_u32 v[8:9], v6, off
global_atomic_min_i32 v[8:9], v6, off
global_atomic_min_u32 v[8:9], v6, off
global_atomic_max_i32 v[8:9], v6, off
global_atomic_max_u32 v[8:9], v6, off
global_atomic_and_b32 v[8:9], v6, off
global_atomic_or_b32 v[8:9], v6, off
global_atomic_xor_b32 v[8:9], v6, off
global_atomic_inc_u32 v[8:9], v6, off
global_atomic_dec_u32 v[8:9], v6, off
global_atomic_swap_b64 v[8:9], v[6:7], off
global_atomic_cmpswap_b64 v[8:9], v[6:9], off
global_atomic_add_u64 v[8:9], v[6:7], off
global_atomic_sub_u64 v[8:9], v[6:7], off
global_atomic_min_i64 v[8:9], v[6:7], off
global_atomic_min_u64 v[8:9], v[6:7], off
global_atomic_max_i64 v[8:9], v[6:7], off
global_atomic_max_u64 v[8:9], v[6:7], off
global_atomic_and_b64 v[8:9], v[6:7], off
global_atomic_or_b64 v[8:9], v[6:7], off
global_atomic_xor_b64 v[8:9], v[6:7], off
global_atomic_inc_u64 v[8:9], v[6:7], off
global_atomic_dec_u64 v[8:9], v[6:7], off
global_wbinv
global_atomic_cond_sub_u32 v[8:9], v6, off
global_atomic_min_num_f32 v[8:9], v6, off
global_atomic_max_num_f32 v[8:9], v6, off
global_atomic_add_f32 v[8:9], v6, off
global_atomic_pk_add_f16 v[8:9], v6, off
global_atomic_pk_add_bf16 v[8:9], v6, off
buffer_load_format_x v4, v2, s[8:11], s3 offen
buffer_load_format_xy v[4:5], v2, s[8:11], s3 offen
buffer_load_format_xyz v[4:6], v2, s[8:11], s3 offen
buffer_load_format_xyzw v[4:7], v2, s[8:11], s3 offen
buffer_store_format_x v4, v2, s[8:11], s3 offen
buffer_store_format_xy v[4:5], v2, s[8:11], s3 offen
buffer_store_format_xyz v[4:6], v2, s[8:11], s3 offen
buffer_store_format_xyzw v[4:7], v2, s[8:11], s3 offen
buffer_load_d16_format_x v4, v2, s[8:11], s3 offen
buffer_load_d16_format_xy v4, v2, s[8:11], s3 offen
buffer_load_d16_format_xyz v[4:5], v2, s[8:11], s3 offen
buffer_load_d16_format_xyzw v[4:5], v2, s[8:11], s3 offen
buffer_store_d16_format_x v4, v2, s[8:11], s3 offen
buffer_store_d16_format_xy v4, v2, s[8:11], s3 offen
buffer_store_d16_format_xyz v[4:5], v2, s[8:11], s3 offen
buffer_store_d16_format_xyzw v[4:5], v2, s[8:11], s3 offen
buffer_load_u8 v4, v2, s[8:11], s3 offen
buffer_load_i8 v4, v2, s[8:11], s3 offen
buffer_load_u16 v4, v2, s[8:11], s3 offen
buffer_load_i16 v4, v2, s[8:11], s3 offen
buffer_load_b32 v4, v2, s[8:11], s3 offen
buffer_load_b64 v[4:5], v2, s[8:11], s3 offen
buffer_load_b96 v[4:6], v2, s[8:11], s3 offen
buffer_load_b128 v[4:7], v2, s[8:11], s3 offen
buffer_store_b8 v4, v2, s[8:11], s3 offen
buffer_store_b16 v4, v2, s[8:11], s3 offen
buffer_store_b32 v4, v2, s[8:11], s3 offen
buffer_store_b64 v[4:5], v2, s[8:11], s3 offen
buffer_store_b96 v[4:6], v2, s[8:11], s3 offen
buffer_store_b128 v[4:7], v2, s[8:11], s3 offen
buffer_load_d16_u8 v4, v2, s[8:11], s3 offen
buffer_load_d16_i8 v4, v2, s[8:11], s3 offen
buffer_load_d16_b16 v4, v2, s[8:11], s3 offen
buffer_load_d16_hi_u8 v4, v2, s[8:11], s3 offen
buffer_load_d16_hi_i8 v4, v2, s[8:11], s3 offen
buffer_load_d16_hi_b16 v4, v2, s[8:11], s3 offen
buffer_store_d16_hi_b8 v4, v2, s[8:11], s3 offen
buffer_store_d16_hi_b16 v4, v2, s[8:11], s3 offen
buffer_load_d16_hi_format_x v4, v2, s[8:11], s3 offen
buffer_store_d16_hi_format_x v4, v2, s[8:11], s3 offen
buffer_atomic_swap_b32 v4, v2, s[8:11], s3 offen
buffer_atomic_cmpswap_b32 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_add_u32 v4, v2, s[8:11], s3 offen
buffer_atomic_sub_u32 v4, v2, s[8:11], s3 offen
buffer_atomic_sub_clamp_u32 v4, v2, s[8:11], s3 offen
buffer_atomic_min_i32 v4, v2, s[8:11], s3 offen
buffer_atomic_min_u32 v4, v2, s[8:11], s3 offen
buffer_atomic_max_i32 v4, v2, s[8:11], s3 offen
buffer_atomic_max_u32 v4, v2, s[8:11], s3 offen
buffer_atomic_and_b32 v4, v2, s[8:11], s3 offen
buffer_atomic_or_b32 v4, v2, s[8:11], s3 offen
buffer_atomic_xor_b32 v4, v2, s[8:11], s3 offen
buffer_atomic_inc_u32 v4, v2, s[8:11], s3 offen
buffer_atomic_dec_u32 v4, v2, s[8:11], s3 offen
buffer_atomic_swap_b64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_cmpswap_b64 v[4:7], v2, s[8:11], s3 offen
buffer_atomic_add_u64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_sub_u64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_min_i64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_min_u64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_max_i64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_max_u64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_and_b64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_or_b64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_xor_b64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_inc_u64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_dec_u64 v[4:5], v2, s[8:11], s3 offen
buffer_atomic_cond_sub_u32 v4, v2, s[8:11], s3 offen
buffer_atomic_min_num_f32 v4, v2, s[8:11], s3 offen
buffer_atomic_max_num_f32 v4, v2, s[8:11], s3 offen
buffer_atomic_add_f32 v4, v2, s[8:11], s3 offen
buffer_atomic_pk_add_f16 v4, v2, s[8:11], s3 offen
buffer_atomic_pk_add_bf16 v4, v2, s[8:11], s3 offen
tbuffer_load_format_x v4, v2, s[8:11], s3 offen
tbuffer_load_format_xy v[4:5], v2, s[8:11], s3 offen
tbuffer_load_format_xyz v[4:6], v2, s[8:11], s3 offen
tbuffer_load_format_xyzw v[4:7], v2, s[8:11], s3 offen
tbuffer_store_format_x v4, v2, s[8:11], s3 offen
tbuffer_store_format_xy v[4:5], v2, s[8:11], s3 offen
tbuffer_store_format_xyz v[4:6], v2, s[8:11], s3 offen
tbuffer_store_format_xyzw v[4:7], v2, s[8:11], s3 offen
tbuffer_load_d16_format_x v4, v2, s[8:11], s3 offen
tbuffer_load_d16_format_xy v4, v2, s[8:11], s3 offen
tbuffer_load_d16_format_xyz v[4:5], v2, s[8:11], s3 offen
tbuffer_load_d16_format_xyzw v[4:5], v2, s[8:11], s3 offen
tbuffer_store_d16_format_x v4, v2, s[8:11], s3 offen
tbuffer_store_d16_format_xy v4, v2, s[8:11], s3 offen
tbuffer_store_d16_format_xyz v[4:5], v2, s[8:11], s3 offen
tbuffer_store_d16_format_xyzw v[4:5], v2, s[8:11], s3 offen
s_load_b32 s4, s[2:3], null offset:-4
s_load_b32 s4, s[2:3], s5 offset:0x10
s_load_b32 s4, s[2:3], 0x10
s_load_b32 s4, s[2:3], 0x0 th:TH_LOAD_NT scope:SCOPE_SYS
s_prefetch_data s[2:3], 0x10, s4, 7
s_prefetch_inst_pc_rel 0x10, s4, 7
s_buffer_prefetch_data s[4:7], 0x10, s4, 7
s_barrier_signal -1
s_barrier_signal m0
s_barrier_signal_isfirst -1
s_barrier_wait 0xffff
s_barrier_wait -1
s_get_barrier_state s4, -1
s_wait_alu 0xfffd
s_wait_loadcnt_dscnt 0x101
s_wait_event 0x3
s_sleep_var s4
s_sleep 0x8000
v_s_rcp_f16 s4, -|s2| clamp mul:2
v_permlane16_var_b32 v1, v2, v3
v_permlane16_var_b32 v1, v2, v3 op_sel:[1,1]
v_wmma_f32_16x16x16_f16 v[10:17], v[0:3], v[4:7], v[10:17]
v_wmma_f16_16x16x16_f16 v[10:13], v[0:3], v[4:7], v[10:13]
v_wmma_i32_16x16x16_iu8 v[10:17], v[0:1], v[2:3], v[10:17] neg_lo:[1,0,0] clamp
v_swmmac_f32_16x16x32_f16 v[10:17], v[0:3], v[4:11], v20 index_key:1
v_swmmac_i32_16x16x64_iu4 v[10:17], v[0:1], v[2:5], v20
v_swmmac_i32_16x16x32_iu4 v[10:17], v0, v[2:3], v20 index_key:1
buffer_load_b32 v1, v2, s[4:7], s3 offen offset:100 th:TH_LOAD_NT
buffer_load_b32 v1, off, s[4:7], null
buffer_atomic_add_u32 v1, v2, s[4:7], null offen th:TH_ATOMIC_RETURN
tbuffer_load_format_x v1, off, s[4:7], null format:[BUF_FMT_32_FLOAT]
scratch_load_b32 v1, v2, s3 offset:-100
scratch_load_b32 v1, off, s3 offset:100
scratch_load_b32 v1, off, off offset:100
global_load_b32 v1, v2, s[2:3] offset:-100
flat_load_b32 v1, v[2:3] offset:100
flat_store_b32 v[2:3], v1 offset:-8
ds_bpermute_fi_b32 v1, v2, v3
ds_load_addtid_b32 v1 offset:4
ds_append v1
global_inv scope:SCOPE_DEV
global_wb scope:SCOPE_SYS
global_wbinv scope:SCOPE_SE
v_add_f64 v[2:3], v[4:5], v[6:7]
v_lshlrev_b64 v[2:3], 3, v[6:7]
v_add_f64 v[2:3], v[4:5], 0x40000000
s_add_f32 s2, s3, 1.0
s_fmaak_f32 s2, s3, s4, 0x1234
s_fmamk_f32 s2, s3, 0x1234, s4
s_add_co_u32 s2, s3, s4
s_getpc_b64 s[2:3]
s_mov_b64 s[2:3], 0x12345678
v_add_co_ci_u32 v1, vcc_lo, v2, v3, vcc_lo
v_cmp_lt_f16 vcc_lo, v1.l, v2.h
v_add_f32_e64 v1, s2, 0x1234
v_add_f32_dpp v1, v2, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
v_add_f32_e64_dpp v1, v2, s3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
v_cmp_class_f32 vcc_lo, v1, s2
ds_pk_add_f16 v1, v2
v_pk_min_num_f16 v1, v2, v3
v_minimum3_f32 v1, v2, v3, v4
v_fma_mix_f32 v1, v2, v3, v4
v_mad_co_u64_u32 v[2:3], vcc_lo, v4, v5, v[6:7]
s_getreg_b32 s2, hwreg(HW_REG_MODE, 0, 4)
s_cmp_lt_f32 s2, s3
ds_load_b32 v1, v2 offset:65535
v_dual_mov_b32 v4, v2 :: v_dual_fmac_f32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_mul_f32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_add_f32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_sub_f32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_subrev_f32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_mul_dx9_zero_f32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_max_num_f32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_min_num_f32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_dot2acc_f32_f16 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_dot2acc_f32_bf16 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_add_nc_u32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_lshlrev_b32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_and_b32 v3, v1, v5
v_dual_mov_b32 v4, v2 :: v_dual_cndmask_b32 v3, v1, v5
v_dual_fmaak_f32 v4, v2, v3, 0x1234 :: v_dual_mov_b32 v3, v1
v_dual_fmamk_f32 v4, v2, 0x1234, v3 :: v_dual_mov_b32 v3, v1
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT
global_load_b32 v0, v[2:3], off th:TH_LOAD_HT
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT_RT
global_load_b32 v0, v[2:3], off th:TH_LOAD_RT_NT
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT_HT
global_load_b32 v0, v[2:3], off th:TH_LOAD_LU
global_store_b32 v[2:3], v0, off th:TH_STORE_NT
global_store_b32 v[2:3], v0, off th:TH_STORE_HT
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_RT
global_store_b32 v[2:3], v0, off th:TH_STORE_RT_NT
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_HT
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_WB
global_store_b32 v[2:3], v0, off th:TH_STORE_WB
global_atomic_add_u32 v4, v[2:3], v0, off th:TH_ATOMIC_RETURN
global_atomic_add_u32 v[2:3], v0, off th:TH_ATOMIC_NT
global_atomic_add_u32 v4, v[2:3], v0, off th:TH_ATOMIC_NT_RETURN
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT scope:SCOPE_SE
global_load_b32 v0, v[2:3], off th:TH_LOAD_HT scope:SCOPE_SE
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT_RT scope:SCOPE_SE
global_load_b32 v0, v[2:3], off th:TH_LOAD_RT_NT scope:SCOPE_SE
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT_HT scope:SCOPE_SE
global_load_b32 v0, v[2:3], off th:TH_LOAD_LU scope:SCOPE_SE
global_store_b32 v[2:3], v0, off th:TH_STORE_NT scope:SCOPE_SE
global_store_b32 v[2:3], v0, off th:TH_STORE_HT scope:SCOPE_SE
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_RT scope:SCOPE_SE
global_store_b32 v[2:3], v0, off th:TH_STORE_RT_NT scope:SCOPE_SE
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_HT scope:SCOPE_SE
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_WB scope:SCOPE_SE
global_store_b32 v[2:3], v0, off th:TH_STORE_WB scope:SCOPE_SE
global_atomic_add_u32 v4, v[2:3], v0, off th:TH_ATOMIC_RETURN scope:SCOPE_SE
global_atomic_add_u32 v[2:3], v0, off th:TH_ATOMIC_NT scope:SCOPE_SE
global_atomic_add_u32 v4, v[2:3], v0, off th:TH_ATOMIC_NT_RETURN scope:SCOPE_SE
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT scope:SCOPE_DEV
global_load_b32 v0, v[2:3], off th:TH_LOAD_HT scope:SCOPE_DEV
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT_RT scope:SCOPE_DEV
global_load_b32 v0, v[2:3], off th:TH_LOAD_RT_NT scope:SCOPE_DEV
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT_HT scope:SCOPE_DEV
global_load_b32 v0, v[2:3], off th:TH_LOAD_LU scope:SCOPE_DEV
global_store_b32 v[2:3], v0, off th:TH_STORE_NT scope:SCOPE_DEV
global_store_b32 v[2:3], v0, off th:TH_STORE_HT scope:SCOPE_DEV
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_RT scope:SCOPE_DEV
global_store_b32 v[2:3], v0, off th:TH_STORE_RT_NT scope:SCOPE_DEV
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_HT scope:SCOPE_DEV
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_WB scope:SCOPE_DEV
global_store_b32 v[2:3], v0, off th:TH_STORE_WB scope:SCOPE_DEV
global_atomic_add_u32 v4, v[2:3], v0, off th:TH_ATOMIC_RETURN scope:SCOPE_DEV
global_atomic_add_u32 v[2:3], v0, off th:TH_ATOMIC_NT scope:SCOPE_DEV
global_atomic_add_u32 v4, v[2:3], v0, off th:TH_ATOMIC_NT_RETURN scope:SCOPE_DEV
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT scope:SCOPE_SYS
global_load_b32 v0, v[2:3], off th:TH_LOAD_HT scope:SCOPE_SYS
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT_RT scope:SCOPE_SYS
global_load_b32 v0, v[2:3], off th:TH_LOAD_RT_NT scope:SCOPE_SYS
global_load_b32 v0, v[2:3], off th:TH_LOAD_NT_HT scope:SCOPE_SYS
global_load_b32 v0, v[2:3], off th:TH_LOAD_BYPASS scope:SCOPE_SYS
global_store_b32 v[2:3], v0, off th:TH_STORE_NT scope:SCOPE_SYS
global_store_b32 v[2:3], v0, off th:TH_STORE_HT scope:SCOPE_SYS
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_RT scope:SCOPE_SYS
global_store_b32 v[2:3], v0, off th:TH_STORE_RT_NT scope:SCOPE_SYS
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_HT scope:SCOPE_SYS
global_store_b32 v[2:3], v0, off th:TH_STORE_NT_WB scope:SCOPE_SYS
global_store_b32 v[2:3], v0, off th:TH_STORE_BYPASS scope:SCOPE_SYS
global_atomic_add_u32 v4, v[2:3], v0, off th:TH_ATOMIC_RETURN scope:SCOPE_SYS
global_atomic_add_u32 v[2:3], v0, off th:TH_ATOMIC_NT scope:SCOPE_SYS
tbuffer_load_format_x v4, off, s[4:7], null format:0
tbuffer_load_format_x v4, off, s[4:7], null format:1
tbuffer_load_format_x v4, off, s[4:7], null format:2
tbuffer_load_format_x v4, off, s[4:7], null format:3
tbuffer_load_format_x v4, off, s[4:7], null format:4
tbuffer_load_format_x v4, off, s[4:7], null format:5
tbuffer_load_format_x v4, off, s[4:7], null format:6
tbuffer_load_format_x v4, off, s[4:7], null format:7
tbuffer_load_format_x v4, off, s[4:7], null format:8
tbuffer_load_format_x v4, off, s[4:7], null format:9
tbuffer_load_format_x v4, off, s[4:7], null format:10
tbuffer_load_format_x v4, off, s[4:7], null format:11
tbuffer_load_format_x v4, off, s[4:7], null format:12
tbuffer_load_format_x v4, off, s[4:7], null format:13
tbuffer_load_format_x v4, off, s[4:7], null format:14
tbuffer_load_format_x v4, off, s[4:7], null format:15
tbuffer_load_format_x v4, off, s[4:7], null format:16
tbuffer_load_format_x v4, off, s[4:7], null format:17
tbuffer_load_format_x v4, off, s[4:7], null format:18
tbuffer_load_format_x v4, off, s[4:7], null format:19
tbuffer_load_format_x v4, off, s[4:7], null format:20
tbuffer_load_format_x v4, off, s[4:7], null format:21
tbuffer_load_format_x v4, off, s[4:7], null format:22
tbuffer_load_format_x v4, off, s[4:7], null format:23
tbuffer_load_format_x v4, off, s[4:7], null format:24
tbuffer_load_format_x v4, off, s[4:7], null format:25
tbuffer_load_format_x v4, off, s[4:7], null format:26
tbuffer_load_format_x v4, off, s[4:7], null format:27
tbuffer_load_format_x v4, off, s[4:7], null format:28
tbuffer_load_format_x v4, off, s[4:7], null format:29
tbuffer_load_format_x v4, off, s[4:7], null format:30
tbuffer_load_format_x v4, off, s[4:7], null format:31
tbuffer_load_format_x v4, off, s[4:7], null format:32
tbuffer_load_format_x v4, off, s[4:7], null format:33
tbuffer_load_format_x v4, off, s[4:7], null format:34
tbuffer_load_format_x v4, off, s[4:7], null format:35
tbuffer_load_format_x v4, off, s[4:7], null format:36
tbuffer_load_format_x v4, off, s[4:7], null format:37
tbuffer_load_format_x v4, off, s[4:7], null format:38
tbuffer_load_format_x v4, off, s[4:7], null format:39
tbuffer_load_format_x v4, off, s[4:7], null format:40
tbuffer_load_format_x v4, off, s[4:7], null format:41
tbuffer_load_format_x v4, off, s[4:7], null format:42
tbuffer_load_format_x v4, off, s[4:7], null format:43
tbuffer_load_format_x v4, off, s[4:7], null format:44
tbuffer_load_format_x v4, off, s[4:7], null format:45
tbuffer_load_format_x v4, off, s[4:7], null format:46
tbuffer_load_format_x v4, off, s[4:7], null format:47
tbuffer_load_format_x v4, off, s[4:7], null format:48
tbuffer_load_format_x v4, off, s[4:7], null format:49
tbuffer_load_format_x v4, off, s[4:7], null format:50
tbuffer_load_format_x v4, off, s[4:7], null format:51
tbuffer_load_format_x v4, off, s[4:7], null format:52
tbuffer_load_format_x v4, off, s[4:7], null format:53
tbuffer_load_format_x v4, off, s[4:7], null format:54
tbuffer_load_format_x v4, off, s[4:7], null format:55
tbuffer_load_format_x v4, off, s[4:7], null format:56
tbuffer_load_format_x v4, off, s[4:7], null format:57
tbuffer_load_format_x v4, off, s[4:7], null format:58
tbuffer_load_format_x v4, off, s[4:7], null format:59
tbuffer_load_format_x v4, off, s[4:7], null format:60
tbuffer_load_format_x v4, off, s[4:7], null format:61
tbuffer_load_format_x v4, off, s[4:7], null format:62
tbuffer_load_format_x v4, off, s[4:7], null format:63
s_getreg_b32 s4, hwreg(1)
s_getreg_b32 s4, hwreg(2)
s_getreg_b32 s4, hwreg(3)
s_getreg_b32 s4, hwreg(4)
s_getreg_b32 s4, hwreg(5)
s_getreg_b32 s4, hwreg(6)
s_getreg_b32 s4, hwreg(7)
s_getreg_b32 s4, hwreg(8)
s_getreg_b32 s4, hwreg(9)
s_getreg_b32 s4, hwreg(10)
s_getreg_b32 s4, hwreg(11)
s_getreg_b32 s4, hwreg(12)
s_getreg_b32 s4, hwreg(13)
s_getreg_b32 s4, hwreg(14)
s_getreg_b32 s4, hwreg(15)
s_getreg_b32 s4, hwreg(16)
s_getreg_b32 s4, hwreg(17)
s_getreg_b32 s4, hwreg(18)
s_getreg_b32 s4, hwreg(19)
s_getreg_b32 s4, hwreg(20)
s_getreg_b32 s4, hwreg(21)
s_getreg_b32 s4, hwreg(22)
s_getreg_b32 s4, hwreg(23)
s_getreg_b32 s4, hwreg(24)
s_getreg_b32 s4, hwreg(25)
s_getreg_b32 s4, hwreg(26)
s_getreg_b32 s4, hwreg(27)
s_getreg_b32 s4, hwreg(28)
s_getreg_b32 s4, hwreg(29)
s_getreg_b32 s4, hwreg(30)
s_getreg_b32 s4, hwreg(31)
v_add_f32_e64 v1, |v2|, -v3 clamp mul:2
v_min_num_f32_e64 v1, |v2|, -s3 clamp
v_minimum_f16 v1, v2, v3 op_sel:[1,0,1]
v_med3_num_f32 v1, -v2, |v3|, 1.0
v_max3_num_f16 v1, v2, v3, v4 op_sel:[0,1,0,1]
v_pk_minimum_f16 v1, v2, v3 op_sel:[1,0] neg_lo:[1,0]
v_pk_max_num_f16 v1, v2, v3 clamp
v_s_exp_f32 s4, -|s2| clamp
v_s_log_f16 s4, s2 mul:4
v_s_sqrt_f32 vcc_lo, 2.0
v_permlanex16_var_b32 v1, v2, v3 op_sel:[0,1]
v_add_f64 v[2:3], -v[4:5], |v[6:7]|
v_add_f32_dpp v1, v2, v3 row_share:3 row_mask:0x7 bank_mask:0xe fi:1
v_add_f32_e64_dpp v1, v2, s3 dpp8:[7,6,5,4,3,2,1,0]
v_cndmask_b32_e64_dpp v1, v2, v3, s4 row_xmask:1 row_mask:0xf bank_mask:0xf
s_load_b512 s[16:31], s[2:3], s5 offset:-0x10
s_buffer_load_b96 s[16:18], s[4:7], 0x100 scope:SCOPE_DEV
s_load_u8 s4, s[2:3], 0x3 th:TH_LOAD_HT
s_add_f32 s2, 0.5, 0x42f60000
s_fmac_f16 s2, s3, s4
s_wait_loadcnt_dscnt 0x3f3f
s_wait_alu 0xff9d
buffer_atomic_cmpswap_b64 v[2:5], v8, s[8:11], s3 offen th:TH_ATOMIC_RETURN scope:SCOPE_DEV
buffer_load_d16_hi_format_x v1, v[2:3], s[8:11], m0 idxen offen offset:8388607
flat_atomic_pk_add_bf16 v1, v[2:3], v4 offset:-4 th:TH_ATOMIC_RETURN
// 8-bit floats
v_cvt_f32_fp8_e32 v1, v2
v_cvt_f32_bf8_e32 v1, v2
v_cvt_pk_f32_fp8_e32 v[2:3], v2
v_cvt_pk_f32_bf8_e32 v[2:3], s2
v_cvt_f32_fp8_e64 v1, v2 byte_sel:1
v_cvt_f32_bf8_e64 v1, v2 byte_sel:2
v_cvt_f32_fp8_e64 v1, v2 byte_sel:3
v_cvt_f32_fp8_dpp v1, v2 dpp8:[7,6,5,4,3,2,1,0]
v_cvt_f32_fp8_e64_dpp v1, v2 byte_sel:1 quad_perm:[1,2,3,0] row_mask:0xf bank_mask:0xf
v_cvt_pk_f32_fp8_e64 v[2:3], v2 op_sel:[1,0]
v_cvt_pk_fp8_f32 v1, v2, v3
v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]
v_cvt_pk_bf8_f32 v1, -v2, |v3|
v_cvt_pk_fp8_f32_e64_dpp v1, v2, v3 op_sel:[0,0,1] dpp8:[7,6,5,4,3,2,1,0]
v_cvt_sr_fp8_f32 v1, v2, v3
v_cvt_sr_fp8_f32 v1, -v2, v3 byte_sel:1
v_cvt_sr_bf8_f32 v1, v2, v3 byte_sel:2
v_cvt_sr_bf8_f32_e64_dpp v1, v2, v3 byte_sel:3 dpp8:[7,6,5,4,3,2,1,0]
v_dot4_f32_fp8_bf8 v0, v1, v2, v3 neg_lo:[0,0,1]
v_dot4_f32_bf8_fp8 v0, v1, v2, 1.0
v_dot4_f32_fp8_fp8 v0, s1, v2, v3
v_dot4_f32_bf8_bf8_e64_dpp v0, v1, v2, v3 dpp8:[7,6,5,4,3,2,1,0]
v_wmma_f32_16x16x16_fp8_fp8 v[0:7], v[8:9], v[10:11], v[0:7] neg_lo:[0,0,1] neg_hi:[0,0,1]
v_wmma_f32_16x16x16_fp8_bf8 v[0:7], v[8:9], v[10:11], 1.0
v_wmma_f32_16x16x16_bf8_fp8 v[0:7], v[8:9], v[10:11], v[0:7]
v_wmma_f32_16x16x16_bf8_bf8 v[0:7], v[8:9], v[10:11], v[0:7]
v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7] neg_lo:[1,1,1] neg_hi:[1,1,1]
v_swmmac_f32_16x16x32_fp8_fp8 v[0:7], v[8:9], v[10:13], v20
v_swmmac_f32_16x16x32_fp8_bf8 v[0:7], v[8:9], v[10:13], v20
v_swmmac_f32_16x16x32_bf8_fp8 v[0:7], v[8:9], v[10:13], v20
v_swmmac_f32_16x16x32_bf8_bf8 v[0:7], v[8:9], v[10:13], v20 index_key:1
