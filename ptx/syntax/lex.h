/* The lexer: bytes in, one token at a time out.  Internal to ptx/syntax. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SYNTAX_LEX_H
#define AW_PTX_SYNTAX_LEX_H

#include "syntax/syntax.h"

/* Single-character tokens are their character. */
enum ptx_token_kind {
    PTX_T_EOF = 0,
    PTX_T_IDENT = 256,
    PTX_T_DIRECTIVE, /* ".name", "::" parts included; text has the dot */
    PTX_T_INT,       /* value, is_unsigned */
    PTX_T_FLOAT,     /* value: bits of f64, or of f32 when is_f32 */
    PTX_T_STRING,    /* text without the quotes */
    PTX_T_SHL, PTX_T_SHR, PTX_T_LE, PTX_T_GE, PTX_T_EQ, PTX_T_NE, PTX_T_AND, PTX_T_OR,
    PTX_T_BAD        /* message already given */
};

struct ptx_token {
    int kind;
    struct ptx_loc loc;
    struct aw_str text;
    uint64_t value;
    bool is_unsigned, is_f32;
};

struct ptx_lexer {
    const char *p, *end, *line_start; /* end points at a NUL */
    uint32_t line;
    struct ptx_token tok;             /* the current token */
    struct aw_str file;
    struct ptx_diags *diags;
};

/* `text` has a NUL at text.ptr[text.len] and outlives the lexer.  The first token is read. */
void ptx_lex_init(struct ptx_lexer *lexer, struct aw_str text, struct aw_str file, struct ptx_diags *diags);
void ptx_lex_next(struct ptx_lexer *lexer);

/* Character classes. */
enum { PTX_CH_SPACE = 1, PTX_CH_IDENT = 2, PTX_CH_START = 4, PTX_CH_DIGIT = 8, PTX_CH_HEX = 16 };
extern const uint8_t ptx_char_class[256];
static inline bool ptx_is(char c, unsigned classes)
{
    return ptx_char_class[(unsigned char)c] & classes;
}

/* The current token is an identifier: when a '.' follows without space, reads ".a.b::c" as well, whose text it returns (with the
 * dot; empty when there is none), and makes what follows it the current token's place to go on from.  The token stays. */
struct aw_str ptx_lex_suffix(struct ptx_lexer *lexer);

/* The current token is '{' : skips to the matching '}' (no nesting, as in .section), returns what lies between and makes the '}'
 * the current token.  False at the end of text. */
bool ptx_lex_verbatim_block(struct ptx_lexer *lexer, struct aw_str *ret_text);

#endif
