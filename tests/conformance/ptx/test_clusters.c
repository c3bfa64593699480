// SPDX-License-Identifier: Apache-2.0
//
// Clusters of blocks: special registers, barrier.cluster, shared memory of other blocks, and the
// errors of launches with clusters (PTX ISA mapa, getctarank, barrier.cluster; CUDA C++ Programming
// Guide, "Thread Block Clusters").
#include "run.h"

TestSuite(clusters, .timeout = 60);

// Only devices from 9.0 on have clusters.
static void want_arch(const char *arch)
{
    cr_assert(setenv("INFINIRT_CPU_ARCH", arch, 1) == 0);
}

struct kernel_text {
    struct ptx_module *module;
    char *text;
};

static struct kernel_text make(const char *directives, const char *attributes, const char *body)
{
    static const char *const names[] = {"k"};
    struct kernel_text made = {NULL, NULL};
    size_t size = 0;
    FILE *stream = open_memstream(&made.text, &size);
    fprintf(
        stream,
        ".version 8.6\n.target sm_90\n.address_size 64\n%s\n"
        ".visible .entry k(.param .u64 pout)\n%s\n{\n"
        " .reg .pred %%p<20>; .reg .b32 %%r<40>, %%id, %%rank, %%block; .reg .b64 %%l<20>, %%out;\n"
        " ld.param.u64 %%out, [pout]; mov.u32 %%id, %%tid.x; mov.u32 %%rank, %%cluster_ctarank;\n"
        " mov.u32 %%block, %%ctaid.x;\n%s\n ret;\n}\n",
        directives, attributes, body);
    fclose(stream);
    made.module = ptx_module_register(made.text, names, 1);
    cr_assert(made.module != NULL);
    ptx_module_end(made.module);
    return made;
}

static cudaError_t launch(struct kernel_text *kernel, dim3 grid, dim3 block, dim3 cluster,
                          void *out)
{
    void *arguments[] = {&out};
    cudaLaunchAttribute attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster.x;
    attribute.val.clusterDim.y = cluster.y;
    attribute.val.clusterDim.z = cluster.z;
    cudaLaunchConfig_t config = {
        .gridDim = grid, .blockDim = block, .attrs = &attribute, .numAttrs = cluster.x ? 1 : 0};
    return cudaLaunchKernelExC(&config, ptx_module_stub(kernel->module, 0), arguments);
}

// Runs it and fetches `count` words that were 0 before.
static void run_cluster(const char *directives, const char *body, dim3 grid, dim3 block,
                        dim3 cluster, uint32_t *out, size_t count)
{
    void *device;
    want_arch("9.0");
    struct kernel_text kernel = make(directives, "", body);
    OK(cudaMalloc(&device, count * 4));
    OK(cudaMemset(device, 0, count * 4));
    OK(launch(&kernel, grid, block, cluster, device));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(out, device, count * 4, cudaMemcpyDeviceToHost));
    OK(cudaFree(device));
    free(kernel.text);
}

#define BARRIER " barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
// %l0: where this block's word in the output is.
#define OUT_BLOCK " mad.wide.u32 %l0, %block, 4, %out;\n"

Test(clusters, special_registers)
{
    enum { GX = 4, GY = 6, GZ = 2, WORDS = 12, BLOCKS = GX * GY * GZ };
    static uint32_t out[BLOCKS * WORDS];
    run_cluster("",
                " mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.z;\n"
                " mad.lo.u32 %r3, %r2, 6, %r1; mad.lo.u32 %r3, %r3, 4, %block;\n"
                " mul.lo.u32 %r3, %r3, 48; cvt.u64.u32 %l0, %r3; add.u64 %l0, %out, %l0;\n"
                " mov.u32 %r4, %cluster_ctaid.x; st.global.u32 [%l0], %r4;\n"
                " mov.u32 %r4, %cluster_ctaid.y; st.global.u32 [%l0+4], %r4;\n"
                " mov.u32 %r4, %cluster_ctaid.z; st.global.u32 [%l0+8], %r4;\n"
                " mov.u32 %r4, %cluster_nctaid.x; st.global.u32 [%l0+12], %r4;\n"
                " mov.u32 %r4, %cluster_nctaid.y; st.global.u32 [%l0+16], %r4;\n"
                " mov.u32 %r4, %clusterid.x; st.global.u32 [%l0+20], %r4;\n"
                " mov.u32 %r4, %clusterid.y; st.global.u32 [%l0+24], %r4;\n"
                " mov.u32 %r4, %nclusterid.x; st.global.u32 [%l0+28], %r4;\n"
                " mov.u32 %r4, %nclusterid.y; st.global.u32 [%l0+32], %r4;\n"
                " st.global.u32 [%l0+36], %rank;\n"
                " mov.u32 %r4, %cluster_nctarank; st.global.u32 [%l0+40], %r4;\n"
                " mov.pred %p0, %is_explicit_cluster; selp.u32 %r4, 1, 0, %p0;\n"
                " st.global.u32 [%l0+44], %r4;\n" BARRIER,
                dim(GX, GY, GZ), dim(1, 1, 1), dim(2, 3, 1), out, BLOCKS * WORDS);
    for (unsigned z = 0; z < GZ; z++) {
        for (unsigned y = 0; y < GY; y++) {
            for (unsigned x = 0; x < GX; x++) {
                const uint32_t *o = out + ((z * GY + y) * GX + x) * WORDS;
                const uint32_t want[WORDS] = {
                    x % 2, y % 3, 0, 2, 3, x / 2, y / 3, GX / 2, GY / 3, x % 2 + 2 * (y % 3), 6, 1};
                for (int i = 0; i < WORDS; i++) {
                    cr_assert(o[i] == want[i], "block %u,%u,%u word %d is %u, not %u", x, y, z, i,
                              o[i], want[i]);
                }
            }
        }
    }
}

// Each block reads what the next one wrote, by all forms of addresses.
Test(clusters, shared_memory_of_the_next_block)
{
    enum { BLOCKS = 16, SIZE = 4 };
    uint32_t out[BLOCKS * 4];
    run_cluster(".shared .align 4 .u32 before[3];\n.shared .align 4 .u32 word;\n",
                " add.u32 %r1, %block, 1000; st.shared.u32 [word], %r1;\n" BARRIER
                " add.u32 %r2, %rank, 1; and.b32 %r2, %r2, 3; mov.u32 %r3, word;\n"
                " mapa.shared::cluster.u32 %r4, %r3, %r2; ld.shared::cluster.u32 %r5, [%r4];\n"
                " getctarank.shared::cluster.u32 %r6, %r4;\n"
                " cvta.shared.u64 %l1, %r3; mapa.u64 %l2, %l1, %r2; ld.u32 %r7, [%l2];\n"
                " getctarank.u64 %r8, %l2;\n"
                " isspacep.shared::cluster %p0, %l1; selp.u32 %r9, 1, 0, %p0;\n"
                " isspacep.shared %p1, %l2; selp.u32 %r10, 1, 0, %p1; shl.b32 %r10, %r10, 1;\n"
                " setp.eq.u32 %p2, %r6, %r8; @!%p2 mov.u32 %r6, 99;\n"
                " setp.eq.u32 %p2, %r6, %r2; @!%p2 mov.u32 %r6, 98;\n"
                " mul.wide.u32 %l0, %block, 16; add.u64 %l0, %out, %l0; or.b32 %r9, %r9, %r10;\n"
                " st.global.v4.u32 [%l0], {%r5, %r7, %r6, %r9};\n" BARRIER,
                dim(BLOCKS, 1, 1), dim(1, 1, 1), dim(SIZE, 1, 1), out, BLOCKS * 4);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t next = i / SIZE * SIZE + (i + 1) % SIZE;
        cr_assert(out[4 * i] == 1000 + next, "block %u read %u", i, out[4 * i]);
        cr_assert(out[4 * i + 1] == 1000 + next, "block %u, generic: %u", i, out[4 * i + 1]);
        cr_assert(out[4 * i + 2] == (i + 1) % SIZE, "rank of the address: %u", out[4 * i + 2]);
        cr_assert(out[4 * i + 3] == 1, "what is shared: %u", out[4 * i + 3]);
    }
}

// An address in the shared window means the same place for every block of the cluster.
Test(clusters, addresses_are_passed_on)
{
    uint32_t out[4];
    run_cluster(".shared .align 4 .u32 mail;\n.shared .align 4 .u32 box;\n",
                " mov.u32 %r1, box; mov.u32 %r2, mail; xor.b32 %r3, %rank, 1;\n"
                " mapa.shared::cluster.u32 %r4, %r2, %r3;\n"
                " st.shared::cluster.u32 [%r4], %r1;\n" BARRIER // where to write to me
                " ld.shared.u32 %r5, [mail]; add.u32 %r6, %block, 50;\n"
                " st.shared::cluster.u32 [%r5], %r6;\n" BARRIER
                " ld.shared.u32 %r7, [box];\n" OUT_BLOCK " st.global.u32 [%l0], %r7;\n",
                dim(4, 1, 1), dim(1, 1, 1), dim(2, 1, 1), out, 4);
    cr_assert(out[0] == 51 && out[1] == 50 && out[2] == 53 && out[3] == 52, "%u %u %u %u", out[0],
              out[1], out[2], out[3]);
}

Test(clusters, atomics_on_the_first_block)
{
    enum { CLUSTERS = 64, SIZE = 8, THREADS = 96 };
    uint32_t out[CLUSTERS];
    run_cluster(".shared .align 4 .u32 sum;\n",
                " setp.ne.u32 %p0, %id, 0; @!%p0 st.shared.u32 [sum], 0;\n" BARRIER
                " mov.u32 %r1, sum; mapa.shared::cluster.u32 %r2, %r1, 0;\n"
                " atom.shared::cluster.add.u32 %r3, [%r2], %id;\n"
                " red.shared::cluster.add.u32 [%r2], 1;\n" BARRIER
                " setp.ne.u32 %p1, %rank, 0; or.pred %p0, %p0, %p1; @%p0 bra END;\n"
                " ld.shared.u32 %r4, [sum]; mov.u32 %r5, %clusterid.x;\n"
                " mad.wide.u32 %l0, %r5, 4, %out; st.global.u32 [%l0], %r4;\nEND:\n",
                dim(CLUSTERS * SIZE, 1, 1), dim(THREADS, 1, 1), dim(SIZE, 1, 1), out, CLUSTERS);
    for (int i = 0; i < CLUSTERS; i++) {
        cr_assert(out[i] == SIZE * (THREADS * (THREADS - 1) / 2 + THREADS), "%d: %u", i, out[i]);
    }
}

// Work between arrive and wait; threads that exit count as arrived; many phases.
Test(clusters, phases_and_exits)
{
    enum { BLOCKS = 4, ROUNDS = 20 };
    uint32_t out[BLOCKS];
    run_cluster(".shared .align 4 .u32 token;\n",
                " setp.ge.u32 %p0, %id, 40; @%p0 ret;\n"
                " st.shared.u32 [token], %rank; mov.u32 %r1, 0; mov.u32 %r9, 0;\n"
                " mov.u32 %r2, token; add.u32 %r3, %rank, 1; and.b32 %r3, %r3, 3;\n"
                " mapa.shared::cluster.u32 %r4, %r2, %r3;\n" BARRIER
                "AGAIN:\n ld.shared::cluster.u32 %r5, [%r4];\n"
                " barrier.cluster.arrive.release; add.u32 %r9, %r9, %r5;\n"
                " barrier.cluster.wait.acquire; st.shared.u32 [token], %r5;\n" BARRIER
                " add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 20; @%p1 bra AGAIN;\n"
                " setp.ne.u32 %p2, %id, 39; @%p2 bra END;\n" OUT_BLOCK
                " st.global.u32 [%l0], %r9;\nEND:\n",
                dim(BLOCKS, 1, 1), dim(64, 1, 1), dim(BLOCKS, 1, 1), out, BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t sum = 0;
        for (uint32_t r = 0; r < ROUNDS; r++) {
            sum += (i + 1 + r) % BLOCKS;
        }
        cr_assert(out[i] == sum, "block %u: %u, not %u", i, out[i], sum);
    }
}

// An mbarrier in the first block on which the others arrive from afar while it spins.
Test(clusters, remote_arrival_at_an_mbarrier)
{
    enum { SIZE = 4 };
    uint32_t out[SIZE];
    run_cluster(".shared .align 8 .b64 bar;\n",
                " setp.ne.u32 %p0, %rank, 0; mov.u32 %r1, bar;\n"
                " @!%p0 mbarrier.init.shared.b64 [%r1], 3;\n" BARRIER " @!%p0 bra SPIN;\n"
                " mapa.shared::cluster.u32 %r2, %r1, 0;\n"
                " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2]; bra END;\n"
                "SPIN:\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0;\n"
                " @!%p1 bra SPIN;\n mov.u32 %r3, 7; st.global.u32 [%out], %r3;\n"
                "END:\n" BARRIER,
                dim(SIZE, 1, 1), dim(1, 1, 1), dim(SIZE, 1, 1), out, SIZE);
    cr_assert(out[0] == 7);
}

Test(clusters, barrier_without_a_cluster)
{
    uint32_t out[2];
    run_cluster(
        ".shared .align 4 .u32 word;\n",
        " setp.eq.u32 %p0, %id, 33; @%p0 st.shared.u32 [word], 5;\n" BARRIER
        " mov.u32 %r1, word; mapa.shared::cluster.u32 %r2, %r1, 0;\n"
        " setp.ne.u32 %p1, %id, 0; @%p1 bra END; ld.shared::cluster.u32 %r3, [%r2];\n" OUT_BLOCK
        " st.global.u32 [%l0], %r3;\nEND:\n",
        dim(2, 1, 1), dim(64, 1, 1), dim(0, 0, 0), out, 2);
    cr_assert(out[0] == 5 && out[1] == 5, "%u %u", out[0], out[1]);
}

// Without a suspension a kernel needs no cluster memory, only the registers.
Test(clusters, kernels_that_never_wait)
{
    uint32_t out[64];
    run_cluster("", OUT_BLOCK " st.global.u32 [%l0], %rank;\n", dim(64, 1, 1), dim(1, 1, 1),
                dim(8, 1, 1), out, 64);
    for (uint32_t i = 0; i < 64; i++) {
        cr_assert(out[i] == i % 8);
    }
}

Test(clusters, errors_of_launches)
{
    want_arch("9.0");
    struct kernel_text plain = make("", "", BARRIER);
    struct kernel_text fixed = make("", ".explicitcluster\n.reqnctapercluster 2, 1, 1", BARRIER);
    const void *stub = ptx_module_stub(plain.module, 0);
    struct cudaFuncAttributes attributes;
    int size = 0;
    cudaLaunchConfig_t config = {.gridDim = dim(16, 1, 1), .blockDim = dim(32, 1, 1)};
    OK(launch(&plain, dim(16, 1, 1), dim(32, 1, 1), dim(8, 1, 1), NULL));
    EXPECT(cudaErrorInvalidClusterSize,
           launch(&plain, dim(15, 1, 1), dim(32, 1, 1), dim(2, 1, 1), NULL));
    EXPECT(cudaErrorInvalidClusterSize,
           launch(&plain, dim(16, 1, 1), dim(32, 1, 1), dim(16, 1, 1), NULL));
    OK(cudaOccupancyMaxPotentialClusterSize(&size, stub, &config));
    cr_assert(size == 8);
    OK(cudaFuncSetAttribute(stub, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    OK(cudaOccupancyMaxPotentialClusterSize(&size, stub, &config));
    cr_assert(size == 16);
    OK(launch(&plain, dim(16, 1, 1), dim(32, 1, 1), dim(16, 1, 1), NULL));
    EXPECT(cudaErrorInvalidClusterSize,
           launch(&plain, dim(32, 1, 1), dim(32, 1, 1), dim(32, 1, 1), NULL));

    // The same choice for one launch (CUDA 13.2).
    OK(cudaFuncSetAttribute(stub, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
    cudaLaunchAttribute both[2];
    memset(both, 0, sizeof both);
    both[0].id = cudaLaunchAttributeClusterDimension;
    both[0].val.clusterDim.x = 16;
    both[0].val.clusterDim.y = both[0].val.clusterDim.z = 1;
    both[1].id = (cudaLaunchAttributeID)17;
    config.attrs = both;
    config.numAttrs = 2;
    void *null = NULL, *arguments[] = {&null};
    const cudaError_t expected[] = {cudaErrorInvalidClusterSize, cudaErrorInvalidClusterSize,
                                    cudaSuccess, cudaErrorInvalidValue};
    for (int mode = 0; mode < 4; mode++) {
        both[1].val.cooperative = mode;
        EXPECT(expected[mode], cudaLaunchKernelExC(&config, stub, arguments));
    }
    config.numAttrs = 0;

    // A size that the code demands is taken when none is given, and nothing else goes.
    OK(launch(&fixed, dim(4, 1, 1), dim(32, 1, 1), dim(0, 0, 0), NULL));
    EXPECT(cudaErrorInvalidClusterSize,
           launch(&fixed, dim(3, 1, 1), dim(32, 1, 1), dim(0, 0, 0), NULL));
    EXPECT(cudaErrorInvalidClusterSize,
           launch(&fixed, dim(4, 1, 1), dim(32, 1, 1), dim(4, 1, 1), NULL));
    OK(cudaFuncGetAttributes(&attributes, ptx_module_stub(fixed.module, 0)));
    cr_assert(attributes.requiredClusterWidth == 2);
    EXPECT(cudaErrorNotPermitted, cudaFuncSetAttribute(ptx_module_stub(fixed.module, 0),
                                                       cudaFuncAttributeRequiredClusterWidth, 4));
    OK(cudaFuncSetAttribute(stub, cudaFuncAttributeRequiredClusterWidth, 4));
    OK(cudaFuncGetAttributes(&attributes, stub));
    cr_assert(attributes.requiredClusterWidth == 4);
    EXPECT(cudaErrorInvalidClusterSize,
           launch(&plain, dim(6, 1, 1), dim(32, 1, 1), dim(0, 0, 0), NULL));
    OK(cudaDeviceSynchronize());

    EXPECT(cudaErrorInvalidValue, cudaOccupancyMaxPotentialClusterSize(NULL, stub, &config));
    EXPECT(cudaErrorInvalidValue, cudaOccupancyMaxPotentialClusterSize(&size, stub, NULL));
    EXPECT(cudaErrorInvalidDeviceFunction,
           cudaOccupancyMaxPotentialClusterSize(&size, &size, &config));
    OK(cudaOccupancyMaxPotentialClusterSize(&size, stub, &config));
    cr_assert(size == 4, "the required size");
    OK(cudaOccupancyMaxActiveClusters(&size, stub, &config));
    cr_assert(size > 0);
    EXPECT(cudaErrorInvalidValue, cudaOccupancyMaxActiveClusters(NULL, stub, &config));
    EXPECT(cudaErrorInvalidValue, cudaOccupancyMaxActiveClusters(&size, stub, NULL));
    EXPECT(cudaErrorInvalidDeviceFunction, cudaOccupancyMaxActiveClusters(&size, &size, &config));
    free(plain.text);
    free(fixed.text);
}

Test(clusters, a_deadlock_is_found)
{
    want_arch("9.0");
    // The second block waits for a barrier that nobody completes, the first for the cluster.
    struct kernel_text kernel = make(
        "", "", " setp.eq.u32 %p0, %rank, 0; @%p0 bra OVER; barrier.sync 3, 64;\nOVER:\n" BARRIER);
    OK(launch(&kernel, dim(2, 1, 1), dim(32, 1, 1), dim(2, 1, 1), NULL));
    EXPECT(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    free(kernel.text);
}

Test(clusters, only_from_9_0_on)
{
    want_arch("8.0");
    struct kernel_text kernel = make("", "", "");
    int size = 0;
    cudaLaunchConfig_t config = {.gridDim = dim(16, 1, 1), .blockDim = dim(32, 1, 1)};
    EXPECT(cudaErrorNotSupported, launch(&kernel, dim(4, 1, 1), dim(32, 1, 1), dim(2, 1, 1), NULL));
    OK(launch(&kernel, dim(4, 1, 1), dim(32, 1, 1), dim(1, 1, 1), NULL));
    OK(cudaOccupancyMaxPotentialClusterSize(&size, ptx_module_stub(kernel.module, 0), &config));
    cr_assert(size == 1);
    EXPECT(cudaErrorInvalidClusterSize,
           cudaOccupancyMaxActiveClusters(&size, ptx_module_stub(kernel.module, 0), &config));
    OK(cudaDeviceSynchronize());
    free(kernel.text);
}
