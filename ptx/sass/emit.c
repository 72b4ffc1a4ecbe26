/* Which emitter gives an operation its meaning. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/lift.h"

static sass_emit *const emitters[SASS_OPS] = {
#define OP(op, name) [SASS_##op] = sass_emit_##name
    OP(IADD3, iadd3), OP(UIADD3, iadd3), OP(UIADD3_64, uiadd3_64), OP(IMAD, imad), OP(UIMAD, imad), OP(IMAD_WIDE, imad_wide),
    OP(UIMAD_WIDE, imad_wide),
    OP(IMAD_HI, imad_hi), OP(UIMAD_HI, imad_hi), OP(ISETP, isetp), OP(UISETP, isetp), OP(IMNMX, imnmx), OP(VIMNMX, imnmx),
    OP(VIADDMNMX, viaddmnmx), OP(VIMNMX3, vimnmx3), OP(PLOP3R, plop3r), OP(I2I, i2i), OP(I2IP, i2ip), OP(F2IP, f2ip),
    OP(VIADD, viadd), OP(LOP3, lop3),
    OP(ULOP3, lop3),
    OP(SHF, shf), OP(USHF, shf), OP(LEA, lea), OP(ULEA, lea), OP(MOV, mov), OP(UMOV, mov), OP(SEL, sel), OP(USEL, sel),
    OP(PRMT, prmt),
    OP(UPRMT, prmt), OP(SGXT, sgxt), OP(USGXT, sgxt), OP(BMSK, bmsk), OP(UBMSK, bmsk), OP(IABS, iabs), OP(VABSDIFF, vabsdiff),
    OP(VABSDIFF4, vabsdiff4), OP(FLO, flo), OP(UFLO, flo), OP(POPC, popc), OP(UPOPC, popc), OP(BREV, brev), OP(UBREV, brev),
    OP(IDP, idp),
    OP(PLOP3, plop3), OP(UPLOP3, plop3), OP(P2R, p2r), OP(UP2UR, p2r), OP(R2P, r2p), OP(UR2UP, r2p),
    OP(FADD, fadd), OP(FMUL, fmul), OP(FFMA, ffma), OP(FMNMX, fmnmx), OP(FSETP, fsetp), OP(FSET, fset), OP(FSEL, fsel),
    OP(MUFU, mufu),
    OP(FCHK, fchk), OP(FSWZADD, fswzadd), OP(F2F, f2f), OP(F2I, f2i), OP(I2F, i2f), OP(I2FP, i2f), OP(FRND, frnd), OP(F2FP, f2fp),
    OP(DADD, dadd), OP(DMUL, dmul), OP(DFMA, dfma), OP(DSETP, dsetp),
    OP(HADD2, hadd2), OP(HMUL2, hmul2), OP(HFMA2, hfma2), OP(HSETP2, hsetp2), OP(HSET2, hset2), OP(HMNMX2, hmnmx2),
    OP(VHMNMX, vhmnmx),
    OP(S2R, s2r), OP(S2UR, s2r), OP(CS2R, cs2r), OP(R2UR, r2ur), OP(LDC, ldc), OP(ULDC, ldc),
    OP(LD, load), OP(LDG, load), OP(LDL, load), OP(LDS, load), OP(ST, store), OP(STG, store), OP(STL, store), OP(STS, store),
    OP(ATOM, atom), OP(ATOMG, atom), OP(ATOMS, atom), OP(RED, red), OP(MEMBAR, membar), OP(ERRBAR, nothing),
    OP(CGAERRBAR, nothing), OP(FENCE_VIEW, fence_view), OP(CCTL, cctl), OP(CCTLL, nothing), OP(QSPC, qspc),
    OP(ARRIVES, arrives), OP(SYNCS_ARRIVE, syncs_arrive), OP(SYNCS_PHASECHK, syncs_phasechk), OP(SYNCS_EXCH, syncs_exch),
    OP(SYNCS_PUT, syncs_kept), OP(SYNCS_GET, syncs_kept),
    OP(SYNCS_CCTL, nothing), OP(LDGSTS, ldgsts), OP(LDGDEPBAR, ldgdepbar), OP(DEPBAR, depbar),
    OP(VOTE, vote), OP(VOTEU, vote), OP(SHFL, shfl), OP(MATCH, match), OP(REDUX, redux), OP(ELECT, elect),
    OP(HMMA, hmma), OP(HMMA_884, hmma_884),
    OP(HMMA_SP, hmma_sp), OP(IMMA_SP, imma_sp), OP(IMMA, imma), OP(QMMA, qmma), OP(QMMA_SP, qmma_sp),
    OP(BMMA, bmma), OP(DMMA, dmma), OP(LDSM, ldsm), OP(STSM, stsm), OP(MOVM, movm),
    OP(TEX, tex), OP(TLD, tld), OP(TLD4, tld4), OP(TXD, txd), OP(TXQ, txq), OP(SULD, suld), OP(SUST, sust), OP(SURED, sured),
    OP(BSSY, nothing), OP(BSYNC, nothing), OP(BREAK, nothing), OP(BMOV, bmov), OP(WARPSYNC, warpsync), OP(ENDCOLLECTIVE, nothing),
    OP(YIELD, nothing),
    OP(UCGABAR_ARV, ucgabar), OP(UCGABAR_WAIT, ucgabar), OP(ACQBULK, dependent), OP(PREEXIT, dependent),
    OP(NANOSLEEP, nanosleep), OP(NOP, nop), OP(PMTRIG, nothing), OP(BPT, bpt), OP(LEPC, lepc), OP(BAR, bar), OP(B2R, b2r),
#undef OP
};

sass_emit *sass_emitter(unsigned op)
{
    return op < SASS_OPS ? emitters[op] : NULL;
}
