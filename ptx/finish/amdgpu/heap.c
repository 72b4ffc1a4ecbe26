/* malloc and free on AMDGPU: the allocator that include/anywarp/env.h describes.  Beside them swaps of 16 bytes, whose lock is
 * there too.
 *
 * Every lane calls for itself.  Loops that other lanes of the wave may be in too always make progress for one of them, and they
 * hold nothing, so lanes that run in turns cannot wait for each other.  Mutable values are allocas, which LLVM's sroa turns into
 * phis. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include <anywarp/env.h>

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

#define HEAP(name) offsetof(struct aw_heap, name)
enum { PAGE = AW_HEAP_PAGE, MIN_SHIFT = 4, MAP_WORD = 64 };

/* ---- Memory of the heap */

static unsigned agent(struct amdgpu *a)
{
    return LLVMGetSyncScopeID(a->b.context, "agent", 5);
}

static V at(struct amdgpu *a, V base, uint64_t offset)
{
    return b_inttoptr(&a->b, b_add(&a->b, base, b_i64(&a->b, offset)), a->b.ptr[AS_GLOBAL]);
}

/* What never changes once the heap is made. */
static V constant(struct amdgpu *a, V heap, uint64_t offset, LLVMTypeRef type)
{
    return LLVMBuildLoad2(a->b.builder, type, at(a, heap, offset), "");
}

static void set_atomic(struct amdgpu *a, V access, LLVMTypeRef type)
{
    LLVMSetAlignment(access, LLVMGetIntTypeWidth(type) / 8);
    LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(access, agent(a));
}

static V shared_load(struct amdgpu *a, V p, LLVMTypeRef type)
{
    V v = LLVMBuildLoad2(a->b.builder, type, p, "");
    set_atomic(a, v, type);
    return v;
}

static void shared_store(struct amdgpu *a, V p, V v)
{
    set_atomic(a, LLVMBuildStore(a->b.builder, v, p), LLVMTypeOf(v));
}

static V shared_rmw(struct amdgpu *a, LLVMAtomicRMWBinOp op, V p, V v)
{
    return LLVMBuildAtomicRMWSyncScope(a->b.builder, op, p, v, LLVMAtomicOrderingAcquireRelease, agent(a));
}

/* i1: done. */
static V shared_swap_if(struct amdgpu *a, V p, V expected, V desired)
{
    V pair = LLVMBuildAtomicCmpXchgSyncScope(a->b.builder, p, expected, desired, LLVMAtomicOrderingAcquireRelease,
                                             LLVMAtomicOrderingMonotonic, agent(a));
    return b_field(&a->b, pair, 1);
}

/* ---- Control flow */

static void enter(struct amdgpu *a, BB block)
{
    LLVMPositionBuilderAtEnd(a->b.builder, block);
}

static void go(struct amdgpu *a, BB block)
{
    LLVMBuildBr(a->b.builder, block);
}

static BB block(struct amdgpu *a)
{
    return ptx_block_new(&a->b, "");
}

/* To `no` unless the condition holds; the builder goes on where it does. */
static void unless(struct amdgpu *a, V condition, BB no)
{
    BB yes = block(a);
    LLVMBuildCondBr(a->b.builder, condition, yes, no);
    enter(a, yes);
}

/* A mutable value, in the function's entry block. */
static V var(struct amdgpu *a, LLVMTypeRef type)
{
    BB here = LLVMGetInsertBlock(a->b.builder), entry = LLVMGetEntryBasicBlock(a->b.fn);
    V first = LLVMGetFirstInstruction(entry);
    if (first)
        LLVMPositionBuilderBefore(a->b.builder, first);
    else
        enter(a, entry);
    V slot = LLVMBuildAlloca(a->b.builder, type, "");
    enter(a, here);
    return slot;
}

static V get(struct amdgpu *a, V slot)
{
    return LLVMBuildLoad2(a->b.builder, LLVMGetAllocatedType(slot), slot, "");
}

static void set(struct amdgpu *a, V slot, V value)
{
    LLVMBuildStore(a->b.builder, value, slot);
}

/* ---- Pages.  Numbers of pages and counts are i32. */

/* The bits of pages [from, from + n) that lie in the bitmap word of page `from`, and how many they are. */
struct bits {
    V word;  /* address of the word, a pointer */
    V mask;  /* i64 */
    V count; /* i32, at least 1 when n is */
};

static struct bits bits_of(struct amdgpu *a, V map, V from, V n)
{
    struct ptx_lower *b = &a->b;
    V first = b_and(b, from, b_i32(b, MAP_WORD - 1)), room = b_sub(b, b_i32(b, MAP_WORD), first);
    V count = b_umin(b, n, room);
    V ones = b_lshr(b, b_i64(b, ~0ull), b_zext(b, b_and(b, b_sub(b, b_i32(b, MAP_WORD), count), b_i32(b, MAP_WORD - 1)), b->i64));
    V index = b_zext(b, b_lshr(b, from, b_i32(b, 6)), b->i64);
    return (struct bits){ .word = b_inttoptr(b, b_add(b, map, b_shl(b, index, b_i64(b, 3))), b->ptr[AS_GLOBAL]),
                          .mask = b_shl(b, ones, b_zext(b, first, b->i64)), .count = count };
}

/* Gives pages [from, end) back to the bitmap. */
static void pages_release(struct amdgpu *a, V map, V from, V end)
{
    struct ptx_lower *b = &a->b;
    V at_page = var(a, b->i32);
    BB head = block(a), body = block(a), done = block(a);
    set(a, at_page, from);
    go(a, head);
    enter(a, head);
    V page = get(a, at_page);
    LLVMBuildCondBr(b->builder, b_ult(b, page, end), body, done);
    enter(a, body);
    struct bits bits = bits_of(a, map, page, b_sub(b, end, page));
    shared_rmw(a, LLVMAtomicRMWBinOpAnd, bits.word, b_not(b, bits.mask));
    set(a, at_page, b_add(b, page, bits.count));
    go(a, head);
    enter(a, done);
}

/* Takes the free run [start, start + n) word by word; to `lost` when somebody else took part of it meanwhile, with all given
 * back. */
static void pages_claim(struct amdgpu *a, V map, V start, V n, BB lost)
{
    struct ptx_lower *b = &a->b;
    V at_page = var(a, b->i32), end = b_add(b, start, n);
    BB head = block(a), body = block(a), next = block(a), undo = block(a), done = block(a);
    set(a, at_page, start);
    go(a, head);
    enter(a, head);
    V page = get(a, at_page);
    LLVMBuildCondBr(b->builder, b_ult(b, page, end), body, done);
    enter(a, body);
    struct bits bits = bits_of(a, map, page, b_sub(b, end, page));
    V old = shared_rmw(a, LLVMAtomicRMWBinOpOr, bits.word, bits.mask), others = b_and(b, old, bits.mask);
    LLVMBuildCondBr(b->builder, b_eq(b, others, b_i64(b, 0)), next, undo);
    enter(a, next);
    set(a, at_page, b_add(b, page, bits.count));
    go(a, head);
    enter(a, undo);
    shared_rmw(a, LLVMAtomicRMWBinOpAnd, bits.word, b_or(b, b_not(b, bits.mask), others));
    pages_release(a, map, start, page);
    go(a, lost);
    enter(a, done);
}

/* One step of the search: the bits from `page` on in its word.  Updates the run of free pages seen last and the place. */
static void search_step(struct amdgpu *a, V map, V n_pages, V n, V at_page, V at_run, V at_scanned)
{
    struct ptx_lower *b = &a->b;
    V zero = b_i32(b, 0), page = get(a, at_page), wrap = b_icmp(b, LLVMIntUGE, page, n_pages);
    page = b_select(b, wrap, zero, page);
    V run = b_select(b, wrap, zero, get(a, at_run)); /* no run goes round the end */
    struct bits bits = bits_of(a, map, page, b_i32(b, MAP_WORD));
    V first = b_zext(b, b_and(b, page, b_i32(b, MAP_WORD - 1)), b->i64);
    V word = b_lshr(b, shared_load(a, bits.word, b->i64), first);
    V taken = b_trunc(b, word, b->i1), flipped = b_select(b, taken, b_not(b, word), word);
    V same = b_trunc(b, b_intrinsic(b, "llvm.cttz", &b->i64, 1, (V[]){ flipped, b_bool(b, false) }, 2), b->i32);
    same = b_umin(b, same, bits.count);
    V more = b_umin(b, same, b_sub(b, n, run));
    V step = b_select(b, taken, same, more);
    set(a, at_run, b_select(b, taken, zero, b_add(b, run, more)));
    set(a, at_page, b_add(b, page, step));
    set(a, at_scanned, b_add(b, get(a, at_scanned), step));
}

/* A run of `n` pages (at least 1): its first page's number.  To `full` when there is none. */
static V pages_take(struct amdgpu *a, V heap, V n, BB full)
{
    struct ptx_lower *b = &a->b;
    V map = constant(a, heap, HEAP(map), b->i64), n_pages = constant(a, heap, HEAP(n_pages), b->i32);
    V at_page = var(a, b->i32), at_run = var(a, b->i32), at_scanned = var(a, b->i32);
    BB head = block(a), body = block(a), found = block(a), lost = block(a);
    V hint = at(a, heap, HEAP(hint));
    set(a, at_page, shared_load(a, hint, b->i32));
    set(a, at_run, b_i32(b, 0));
    set(a, at_scanned, b_i32(b, 0));
    go(a, head);
    enter(a, head);
    /* Once round, and so much further as a run that the hint lay in the middle of. */
    V limit = b_add(b, b_add(b, n_pages, n), b_i32(b, MAP_WORD));
    LLVMBuildCondBr(b->builder, b_ult(b, get(a, at_scanned), limit), body, full);
    enter(a, body);
    search_step(a, map, n_pages, n, at_page, at_run, at_scanned);
    LLVMBuildCondBr(b->builder, b_eq(b, get(a, at_run), n), found, head);
    enter(a, lost);
    set(a, at_run, b_i32(b, 0));
    go(a, head);
    enter(a, found);
    V start = b_sub(b, get(a, at_page), n);
    pages_claim(a, map, start, n, lost);
    shared_store(a, hint, b_add(b, start, n));
    return start;
}

static V kind_at(struct amdgpu *a, V heap, V page)
{
    struct ptx_lower *b = &a->b;
    V kinds = constant(a, heap, HEAP(kind), b->i64);
    return b_inttoptr(b, b_add(b, kinds, b_shl(b, b_zext(b, page, b->i64), b_i64(b, 2))), b->ptr[AS_GLOBAL]);
}

/* ---- Small blocks */

static V class_at(struct amdgpu *a, V heap, V class, uint64_t field)
{
    struct ptx_lower *b = &a->b;
    _Static_assert(sizeof(struct aw_heap_class) == 16, "indexed by a shift");
    V offset = b_shl(b, b_zext(b, class, b->i64), b_i64(b, 4));
    return at(a, b_add(b, heap, offset), HEAP(classes) + field);
}

static V half(struct amdgpu *a, V word, bool high)
{
    struct ptx_lower *b = &a->b;
    return b_trunc(b, high ? b_lshr(b, word, b_i64(b, 32)) : word, b->i32);
}

static V halves(struct amdgpu *a, V high, V low)
{
    struct ptx_lower *b = &a->b;
    return b_or(b, b_shl(b, b_zext(b, high, b->i64), b_i64(b, 32)), b_zext(b, low, b->i64));
}

/* The head that follows `old` with block number `low`: one tag further. */
static V next_head(struct amdgpu *a, V old, V low)
{
    return halves(a, b_add(&a->b, half(a, old, true), b_i32(&a->b, 1)), low);
}

/* A block of the list, its number plus 1 as a link has it -> offset in bytes. */
static V link_offset(struct amdgpu *a, V link)
{
    struct ptx_lower *b = &a->b;
    return b_shl(b, b_zext(b, b_sub(b, link, b_i32(b, 1)), b->i64), b_i64(b, MIN_SHIFT));
}

/* Tries to take a freed block of the class: sets *result (address, i64) and goes to `got`; to `again` when somebody was faster.
 * The builder goes on where the list is empty. */
static void list_pop(struct amdgpu *a, V pages, V list, V result, BB got, BB again)
{
    struct ptx_lower *b = &a->b;
    BB some = block(a), empty = block(a), won = block(a);
    V head = shared_load(a, list, b->i64), link = half(a, head, false);
    LLVMBuildCondBr(b->builder, b_ne(b, link, b_i32(b, 0)), some, empty);
    enter(a, some);
    V address = b_add(b, pages, link_offset(a, link));
    /* It may be somebody's by now; then the tag has changed and what is read here does not matter. */
    V next = shared_load(a, b_inttoptr(b, address, b->ptr[AS_GLOBAL]), b->i32);
    LLVMBuildCondBr(b->builder, shared_swap_if(a, list, head, next_head(a, head, next)), won, again);
    enter(a, won);
    set(a, result, address);
    go(a, got);
    enter(a, empty);
}

/* Tries to cut a block off the class's page: as list_pop.  The builder goes on where the page is used up; returns the word as
 * read. */
static V page_cut(struct amdgpu *a, V pages, V word_at, V class, V result, BB got, BB again)
{
    struct ptx_lower *b = &a->b;
    BB room = block(a), used_up = block(a), cut = block(a);
    V most = b_lshr(b, b_i32(b, PAGE >> MIN_SHIFT), class), word = shared_load(a, word_at, b->i64);
    V has = b_and(b, b_ne(b, half(a, word, true), b_i32(b, 0)), b_ult(b, half(a, word, false), most));
    LLVMBuildCondBr(b->builder, has, room, used_up);
    enter(a, room);
    V old = shared_rmw(a, LLVMAtomicRMWBinOpAdd, word_at, b_i64(b, 1)), index = half(a, old, false);
    LLVMBuildCondBr(b->builder, b_ult(b, index, most), cut, again);
    enter(a, cut);
    V page = b_zext(b, b_sub(b, half(a, old, true), b_i32(b, 1)), b->i64);
    V block_at = b_shl(b, b_zext(b, index, b->i64), b_zext(b, b_add(b, class, b_i32(b, MIN_SHIFT)), b->i64));
    set(a, result, b_add(b, b_add(b, pages, b_mul(b, page, b_i64(b, PAGE))), block_at));
    go(a, got);
    enter(a, used_up);
    return word;
}

/* Is this the first lane of the wave that is here?  One page is enough for all of them. */
static V is_first(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    V lane = ptx_amdgpu_wave_lane(a);
    V first = b_intrinsic(b, "llvm.amdgcn.readfirstlane", &b->i32, 1, &lane, 1);
    return b_eq(b, lane, first);
}

/* The class's page is used up: one lane puts a new one in its place.  Ends in `again`, or in `full` for a lane that found none
 * while nobody else did. */
static void page_renew(struct amdgpu *a, V heap, V word_at, V seen, V class, BB again, BB full)
{
    struct ptx_lower *b = &a->b;
    BB none = block(a), loser = block(a);
    unless(a, is_first(a), again);
    V page = pages_take(a, heap, b_i32(b, 1), none), kind = kind_at(a, heap, page);
    shared_store(a, kind, b_or(b, class, b_i32(b, AW_HEAP_SMALL)));
    V fresh = halves(a, b_add(b, page, b_i32(b, 1)), b_i32(b, 0));
    LLVMBuildCondBr(b->builder, shared_swap_if(a, word_at, seen, fresh), again, loser);
    enter(a, loser); /* another wave was faster */
    shared_store(a, kind, b_i32(b, 0));
    pages_release(a, constant(a, heap, HEAP(map), b->i64), page, b_add(b, page, b_i32(b, 1)));
    go(a, again);
    enter(a, none);
    V now = shared_load(a, word_at, b->i64);
    V same = b_eq(b, half(a, now, true), half(a, seen, true));
    LLVMBuildCondBr(b->builder, same, full, again);
}

static void small_take(struct amdgpu *a, V heap, V size, V result, BB got, BB full)
{
    struct ptx_lower *b = &a->b;
    BB again = block(a);
    /* Bits of (size - 1) / 16: 16 -> 0, 17 to 32 -> 1, 33 to 64 -> 2 ... */
    V units = b_lshr(b, b_sub(b, size, b_i32(b, 1)), b_i32(b, MIN_SHIFT));
    V zeros = b_intrinsic(b, "llvm.ctlz", &b->i32, 1, (V[]){ units, b_bool(b, false) }, 2);
    V class = b_sub(b, b_i32(b, 32), zeros);
    V pages = constant(a, heap, HEAP(pages), b->i64);
    V list = class_at(a, heap, class, offsetof(struct aw_heap_class, free));
    V word_at = class_at(a, heap, class, offsetof(struct aw_heap_class, page));
    go(a, again);
    enter(a, again);
    list_pop(a, pages, list, result, got, again);
    V seen = page_cut(a, pages, word_at, class, result, got, again);
    page_renew(a, heap, word_at, seen, class, again, full);
}

static void large_take(struct amdgpu *a, V heap, V size, V result, BB got, BB full)
{
    struct ptx_lower *b = &a->b;
    V n = b_trunc(b, b_lshr(b, b_add(b, size, b_i64(b, PAGE - 1)), b_i64(b, 10)), b->i32);
    unless(a, b_icmp(b, LLVMIntULE, n, constant(a, heap, HEAP(n_pages), b->i32)), full);
    V start = pages_take(a, heap, n, full);
    shared_store(a, kind_at(a, heap, start), n);
    V offset = b_mul(b, b_zext(b, start, b->i64), b_i64(b, PAGE));
    set(a, result, b_add(b, constant(a, heap, HEAP(pages), b->i64), offset));
    go(a, got);
}

/* ---- The bodies */

/* Address of struct aw_heap; to `none` when the launch gave none. */
static V heap_find(struct amdgpu *a, V env, BB none)
{
    struct ptx_lower *b = &a->b;
    ptx_amdgpu_env_mark(a, AW_ENV_HEAP_SYMBOL);
    unless(a, b_ne(b, env, b_i64(b, 0)), none);
    V heap = constant(a, env, offsetof(struct aw_env, heap), b->i64);
    unless(a, b_ne(b, heap, b_i64(b, 0)), none);
    return heap;
}

/* p: bytes, kernarg */
void ptx_amdgpu_malloc(struct amdgpu *a, V *p)
{
    struct ptx_lower *b = &a->b;
    _Static_assert(PAGE == 1 << 10 && AW_HEAP_SMALL_MAX == 16 << (AW_HEAP_CLASSES - 1), "as the shifts have it");
    V result = var(a, b->i64);
    BB none = block(a), got = block(a), small = block(a), large = block(a);
    V heap = heap_find(a, ptx_amdgpu_env(a, p[1]), none);
    V size = b_binary(b, "llvm.umax", p[0], b_i64(b, 1)); /* none is some, as on NVIDIA's cards */
    unless(a, b_icmp(b, LLVMIntULE, size, b_i64(b, (uint64_t)1 << 40)), none); /* countable in pages */
    LLVMBuildCondBr(b->builder, b_icmp(b, LLVMIntULE, size, b_i64(b, AW_HEAP_SMALL_MAX)), small, large);
    enter(a, small);
    small_take(a, heap, b_trunc(b, size, b->i32), result, got, none);
    enter(a, large);
    large_take(a, heap, size, result, got, none);
    enter(a, got);
    LLVMBuildRet(b->builder, b_inttoptr(b, get(a, result), b->ptr[AS_GENERIC]));
    enter(a, none);
    LLVMBuildRet(b->builder, LLVMConstNull(b->ptr[AS_GENERIC]));
}

/* Puts the block at `offset` on its class's list. */
static void list_push(struct amdgpu *a, V heap, V class, V address, V offset)
{
    struct ptx_lower *b = &a->b;
    BB again = block(a), done = block(a);
    V list = class_at(a, heap, class, offsetof(struct aw_heap_class, free));
    V link = b_add(b, b_trunc(b, b_lshr(b, offset, b_i64(b, MIN_SHIFT)), b->i32), b_i32(b, 1));
    go(a, again);
    enter(a, again);
    V head = shared_load(a, list, b->i64);
    shared_store(a, b_inttoptr(b, address, b->ptr[AS_GLOBAL]), half(a, head, false));
    LLVMBuildCondBr(b->builder, shared_swap_if(a, list, head, next_head(a, head, link)), done, again);
    enter(a, done);
}

/* p: address, kernarg.  A pointer that malloc did not give, or a run freed twice, ends the kernel as on the host device. */
void ptx_amdgpu_free(struct amdgpu *a, V *p)
{
    struct ptx_lower *b = &a->b;
    BB done = block(a), bad = block(a), small = block(a), large = block(a);
    V env = ptx_amdgpu_env(a, p[1]), address = b_ptrtoint(b, p[0], b->i64);
    unless(a, b_ne(b, address, b_i64(b, 0)), done);
    V heap = heap_find(a, env, bad), offset = b_sub(b, address, constant(a, heap, HEAP(pages), b->i64));
    V page64 = b_lshr(b, offset, b_i64(b, 10)), n_pages = constant(a, heap, HEAP(n_pages), b->i32);
    unless(a, b_ult(b, page64, b_zext(b, n_pages, b->i64)), bad);
    V page = b_trunc(b, page64, b->i32), into = b_and(b, b_trunc(b, offset, b->i32), b_i32(b, PAGE - 1));
    V kind_p = kind_at(a, heap, page), kind = shared_load(a, kind_p, b->i32);
    LLVMBuildCondBr(b->builder, b_ne(b, b_and(b, kind, b_i32(b, AW_HEAP_SMALL)), b_i32(b, 0)), small, large);
    enter(a, small);
    V class = b_and(b, kind, b_i32(b, 7)), size = b_shl(b, b_i32(b, 1 << MIN_SHIFT), class);
    unless(a, b_eq(b, b_and(b, into, b_sub(b, size, b_i32(b, 1))), b_i32(b, 0)), bad);
    list_push(a, heap, class, address, offset);
    go(a, done);
    enter(a, large);
    unless(a, b_eq(b, into, b_i32(b, 0)), bad);
    V n = shared_rmw(a, LLVMAtomicRMWBinOpXchg, kind_p, b_i32(b, 0));
    unless(a, b_ne(b, n, b_i32(b, 0)), bad);
    pages_release(a, constant(a, heap, HEAP(map), b->i64), page, b_add(b, page, n));
    go(a, done);
    enter(a, bad);
    ptx_amdgpu_die(a, env, b_i32(b, AW_ERR_LAUNCH_FAILED));
    enter(a, done);
    LLVMBuildRetVoid(b->builder);
}

/* ---- Swaps of 16 bytes, one lane of the device at a time.  The lock is taken and given back within one turn of the loop, whose
 * end all lanes of the wave reach together: the convergent operation there keeps LLVM from moving what is locked out of the loop,
 * where lanes would wait for those that wait for the lock. */

/* p: address, expected, new, compare, kernarg */
void ptx_amdgpu_swap_128(struct amdgpu *a, V *p)
{
    struct ptx_lower *b = &a->b;
    V old = var(a, b->i128), done = var(a, b->i1);
    BB bad = block(a), again = block(a), held = block(a), write = block(a), give = block(a), next = block(a), out = block(a);
    V env = ptx_amdgpu_env(a, p[4]), lock = at(a, heap_find(a, env, bad), HEAP(wide_lock));
    set(a, old, b_int(b->i128, 0));
    set(a, done, b_bool(b, false));
    go(a, again);
    enter(a, again);
    LLVMBuildCondBr(b->builder, shared_swap_if(a, lock, b_i32(b, 0), b_i32(b, 1)), held, next);
    enter(a, held);
    LLVMTypeRef words = LLVMVectorType(b->i32, 4); /* readers do not ask for the lock: one access, where an i128 would be two */
    V load = LLVMBuildLoad2(b->builder, words, p[0], ""), seen = b_bitcast(b, load, b->i128);
    LLVMSetVolatile(load, 1);
    LLVMSetAlignment(load, 16);
    set(a, old, seen);
    V always = b_eq(b, p[3], b_i32(b, 0));
    LLVMBuildCondBr(b->builder, b_or(b, always, b_eq(b, seen, p[1])), write, give);
    enter(a, write);
    V store = LLVMBuildStore(b->builder, b_bitcast(b, p[2], words), p[0]);
    LLVMSetVolatile(store, 1);
    LLVMSetAlignment(store, 16);
    go(a, give);
    enter(a, give);
    shared_rmw(a, LLVMAtomicRMWBinOpXchg, lock, b_i32(b, 0));
    set(a, done, b_bool(b, true));
    go(a, next);
    enter(a, next);
    b_intrinsic(b, "llvm.amdgcn.wave.barrier", NULL, 0, NULL, 0);
    LLVMBuildCondBr(b->builder, get(a, done), out, again);
    enter(a, out);
    LLVMBuildRet(b->builder, get(a, old));
    enter(a, bad);
    ptx_amdgpu_die(a, env, b_i32(b, AW_ERR_LAUNCH_FAILED));
}
