// SPDX-License-Identifier: Apache-2.0
//
// Random graphs against the same work done eagerly. A plan is a list of operations on regions of
// managed memory, with every dependency that its results need and some more. It becomes a graph by
// hand (with children and clones) or by capturing several streams; the graph is launched, changed
// and launched again, and after each time the memory must be what one stream makes of the
// operations in the order of the list.
#include "graphs.h"

TestSuite(graph_fuzz, .timeout = 120, .data = NEEDS("kernels"));

enum { REGIONS = 6, SIZE = 48, OPS_MAX = 24, PARTS_MAX = 3, STREAMS = 3 };

enum type { FILL, ADD, COPY, MEMSET, MEMCPY, HOST, EMPTY, SIMPLE_TYPES, CHILD = SIMPLE_TYPES };

struct host_work {
    int *region;
    int value;
};

struct op {
    enum type type;
    int dst, src, value;
    bool disabled;
    int part_count; // CHILD: operations one after the other
    struct op *parts;
    int dependency_count, dependencies[OPS_MAX];
    int stream; // where it is captured
};

struct plan {
    uint64_t random;
    int count;
    struct op ops[OPS_MAX];
    struct op parts[OPS_MAX][PARTS_MAX];
};

// Memory and what host functions are told; one for the graph, one for the eager work.
struct world {
    int *memory; // REGIONS * SIZE
    struct host_work host[OPS_MAX][PARTS_MAX + 1];
};

static unsigned pick(struct plan *plan, unsigned bound)
{
    plan->random ^= plan->random << 13;
    plan->random ^= plan->random >> 7;
    plan->random ^= plan->random << 17;
    return (unsigned)((plan->random >> 20) % bound);
}

// ---- plans ----

static void make_op(struct plan *plan, struct op *op, enum type type)
{
    *op = (struct op){.type = type,
                      .dst = (int)pick(plan, REGIONS),
                      .value = (int)pick(plan, 1000),
                      .stream = (int)pick(plan, STREAMS)};
    op->src = (op->dst + 1 + (int)pick(plan, REGIONS - 1)) % REGIONS;
}

static unsigned writes_of(const struct op *op)
{
    unsigned set = op->type == EMPTY || op->type == CHILD ? 0 : 1u << op->dst;
    for (int i = 0; i < op->part_count; i++) {
        set |= writes_of(&op->parts[i]);
    }
    return set;
}

static unsigned reads_of(const struct op *op)
{
    unsigned set = op->type == COPY || op->type == MEMCPY ? 1u << op->src : 0;
    if (op->type == ADD || op->type == HOST) {
        set = 1u << op->dst;
    }
    for (int i = 0; i < op->part_count; i++) {
        set |= reads_of(&op->parts[i]);
    }
    return set;
}

static void make_plan(struct plan *plan, uint64_t seed)
{
    memset(plan, 0, sizeof(*plan));
    plan->random = seed * 0x9e3779b97f4a7c15ull + 1;
    plan->count = 1 + (int)pick(plan, OPS_MAX - 1);
    for (int i = 0; i < plan->count; i++) {
        struct op *op = &plan->ops[i];
        make_op(plan, op, pick(plan, 8) == 0 ? CHILD : (enum type)pick(plan, SIMPLE_TYPES));
        if (op->type == CHILD) {
            op->parts = plan->parts[i];
            op->part_count = 1 + (int)pick(plan, PARTS_MAX);
            for (int p = 0; p < op->part_count; p++) {
                make_op(plan, &op->parts[p], (enum type)pick(plan, SIMPLE_TYPES));
            }
        }
        for (int j = 0; j < i; j++) {
            const struct op *before = &plan->ops[j];
            bool conflict = (writes_of(before) & (writes_of(op) | reads_of(op))) ||
                            (reads_of(before) & writes_of(op));
            if (conflict || pick(plan, 10) == 0) {
                op->dependencies[op->dependency_count++] = j;
            }
        }
    }
}

// ---- eager ----

static void CUDART_CB host_function(void *argument)
{
    const struct host_work *work = argument;
    for (int i = 0; i < SIZE; i++) {
        work->region[i] = (int)((unsigned)work->region[i] * 3 + (unsigned)work->value);
    }
}

// Arguments of a kernel operation; `pointers` refers to the other members.
struct kernel_arguments {
    int *dst, *src, value, size;
    void *pointers[3];
};

static enum kernel kernel_of(const struct op *op, const struct world *world,
                             struct kernel_arguments *ret)
{
    ret->dst = world->memory + (size_t)op->dst * SIZE;
    ret->src = world->memory + (size_t)op->src * SIZE;
    ret->value = op->value;
    ret->size = SIZE;
    ret->pointers[0] = &ret->dst;
    switch (op->type) {
    case FILL:
        ret->pointers[1] = &ret->value;
        ret->pointers[2] = &ret->size;
        return KERNEL_FILL;
    case ADD:
        ret->pointers[1] = &ret->size;
        return KERNEL_ADD_ONE;
    default:
        ret->pointers[1] = &ret->src;
        ret->pointers[2] = &ret->size;
        return KERNEL_COPY;
    }
}

static struct host_work *host_work_of(const struct op *op, struct world *world, int i, int part)
{
    struct host_work *work = &world->host[i][part];
    *work = (struct host_work){world->memory + (size_t)op->dst * SIZE, op->value};
    return work;
}

// Enqueues operation `i` (its part, or 0 for the whole) on a stream, capturing or not.
static void enqueue(const struct op *op, struct world *world, int i, int part, cudaStream_t stream)
{
    struct kernel_arguments k;
    enum kernel kernel = kernel_of(op, world, &k);
    switch (op->type) {
    case FILL:
    case ADD:
    case COPY:
        OK(kernel_launch(kernel, 2, 32, k.pointers, 0, stream));
        break;
    case MEMSET:
        OK(cudaMemsetAsync(k.dst, op->value & 255, SIZE * sizeof(int), stream));
        break;
    case MEMCPY:
        OK(cudaMemcpyAsync(k.dst, k.src, SIZE * sizeof(int), cudaMemcpyDefault, stream));
        break;
    case HOST:
        OK(cudaLaunchHostFunc(stream, host_function, host_work_of(op, world, i, part)));
        break;
    case EMPTY:
        break;
    case CHILD:
        for (int p = 0; p < op->part_count; p++) {
            enqueue(&op->parts[p], world, i, p + 1, stream);
        }
        break;
    }
}

static void run_eagerly(const struct plan *plan, struct world *world, cudaStream_t stream)
{
    for (int i = 0; i < plan->count; i++) {
        if (!plan->ops[i].disabled) {
            enqueue(&plan->ops[i], world, i, 0, stream);
        }
        OK(cudaStreamSynchronize(stream)); // what host functions are told is used again
    }
}

// ---- by hand ----

static cudaGraphNode_t add_op(cudaGraph_t graph, const struct op *op, struct world *world, int i,
                              int part, const cudaGraphNode_t *before, size_t count)
{
    cudaGraphNode_t node;
    struct kernel_arguments k;
    struct cudaKernelNodeParams params = {.func = (void *)kernel_stub(kernel_of(op, world, &k)),
                                          .gridDim = dim(2, 1, 1),
                                          .blockDim = dim(32, 1, 1),
                                          .kernelParams = k.pointers};
    struct cudaMemsetParams fill = {.dst = k.dst,
                                    .value = (unsigned)op->value & 255,
                                    .elementSize = 1,
                                    .width = SIZE * sizeof(int),
                                    .height = 1};
    struct cudaHostNodeParams host = {.fn = host_function};
    cudaGraph_t child;
    switch (op->type) {
    case FILL:
    case ADD:
    case COPY:
        OK(cudaGraphAddKernelNode(&node, graph, before, count, &params));
        break;
    case MEMSET:
        OK(cudaGraphAddMemsetNode(&node, graph, before, count, &fill));
        break;
    case MEMCPY:
        OK(cudaGraphAddMemcpyNode1D(&node, graph, before, count, k.dst, k.src, SIZE * sizeof(int),
                                    cudaMemcpyDefault));
        break;
    case HOST:
        host.userData = host_work_of(op, world, i, part);
        OK(cudaGraphAddHostNode(&node, graph, before, count, &host));
        break;
    case EMPTY:
        OK(cudaGraphAddEmptyNode(&node, graph, before, count));
        break;
    case CHILD:
        child = new_graph();
        for (int p = 0; p < op->part_count; p++) {
            cudaGraphNode_t last = node;
            node = add_op(child, &op->parts[p], world, i, p + 1, &last, p ? 1 : 0);
        }
        OK(cudaGraphAddChildGraphNode(&node, graph, before, count, child));
        OK(cudaGraphDestroy(child));
        break;
    }
    return node;
}

static cudaGraph_t build(const struct plan *plan, struct world *world, cudaGraphNode_t *nodes)
{
    cudaGraph_t graph = new_graph();
    for (int i = 0; i < plan->count; i++) {
        const struct op *op = &plan->ops[i];
        cudaGraphNode_t before[OPS_MAX];
        for (int d = 0; d < op->dependency_count; d++) {
            before[d] = nodes[op->dependencies[d]];
        }
        nodes[i] = add_op(graph, op, world, i, 0, before, (size_t)op->dependency_count);
    }
    return graph;
}

// ---- by capture ----

static cudaGraph_t capture(const struct plan *plan, struct world *world,
                           const cudaStream_t *streams, const cudaEvent_t *events)
{
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
    OK(cudaEventRecord(events[OPS_MAX], streams[0]));
    for (int s = 1; s < STREAMS; s++) {
        OK(cudaStreamWaitEvent(streams[s], events[OPS_MAX], 0));
    }
    for (int i = 0; i < plan->count; i++) {
        const struct op *op = &plan->ops[i];
        for (int d = 0; d < op->dependency_count; d++) {
            OK(cudaStreamWaitEvent(streams[op->stream], events[op->dependencies[d]], 0));
        }
        enqueue(op, world, i, 0, streams[op->stream]);
        OK(cudaEventRecord(events[i], streams[op->stream]));
    }
    for (int s = 1; s < STREAMS; s++) {
        OK(cudaEventRecord(events[OPS_MAX + s], streams[s]));
        OK(cudaStreamWaitEvent(streams[0], events[OPS_MAX + s], 0));
    }
    OK(cudaStreamEndCapture(streams[0], &graph));
    return graph;
}

// ---- changes ----

static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph)
{
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;
    return cudaGraphExecUpdate(exec, graph, &info);
#else
    cudaGraphNode_t node;
    enum cudaGraphExecUpdateResult result;
    return cudaGraphExecUpdate(exec, graph, &node, &result);
#endif
}

// Another value for one operation, told to the exec by its node.
static void change_node(struct plan *plan, struct world *world, cudaGraphExec_t exec,
                        const cudaGraphNode_t *nodes)
{
    int i = (int)pick(plan, (unsigned)plan->count);
    struct op *op = &plan->ops[i];
    op->value = (int)pick(plan, 1000);
    struct kernel_arguments k;
    struct cudaKernelNodeParams params = {.func = (void *)kernel_stub(kernel_of(op, world, &k)),
                                          .gridDim = dim(2, 1, 1),
                                          .blockDim = dim(32, 1, 1),
                                          .kernelParams = k.pointers};
    struct cudaMemsetParams fill = {.dst = k.dst,
                                    .value = (unsigned)op->value & 255,
                                    .elementSize = 1,
                                    .width = SIZE * sizeof(int),
                                    .height = 1};
    switch (op->type) {
    case FILL:
        OK(cudaGraphExecKernelNodeSetParams(exec, nodes[i], &params));
        break;
    case MEMSET:
        OK(cudaGraphExecMemsetNodeSetParams(exec, nodes[i], &fill));
        break;
    case HOST:
        host_work_of(op, world, i, 0); // the function is told through the same memory
        break;
    default:
        break;
    }
#if CUDART_VERSION >= 11060
    if (op->type <= MEMCPY && pick(plan, 2)) {
        unsigned enabled = 7;
        op->disabled = !op->disabled;
        OK(cudaGraphNodeSetEnabled(exec, nodes[i], !op->disabled));
        OK(cudaGraphNodeGetEnabled(exec, nodes[i], &enabled));
        cr_assert(enabled == !op->disabled);
    }
#endif
}

// Other values for all operations. Disabled nodes stay disabled when the whole graph is updated.
static void change_values(struct plan *plan)
{
    for (int i = 0; i < plan->count; i++) {
        plan->ops[i].value = (int)pick(plan, 1000);
        for (int p = 0; p < plan->ops[i].part_count; p++) {
            plan->ops[i].parts[p].value = (int)pick(plan, 1000);
        }
    }
}

// ---- the test ----

struct fuzz {
    struct world graph, eager;
    cudaStream_t streams[STREAMS], other;
    cudaEvent_t events[OPS_MAX + STREAMS];
};

static void compare(const struct fuzz *f, uint64_t seed, const char *when)
{
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < REGIONS * SIZE; i++) {
        cr_assert(f->graph.memory[i] == f->eager.memory[i],
                  "seed %llu, %s: region %d element %d is %d, not %d", (unsigned long long)seed,
                  when, i / SIZE, i % SIZE, f->graph.memory[i], f->eager.memory[i]);
    }
}

static void launch(struct fuzz *f, struct plan *plan, cudaGraphExec_t exec, uint64_t seed,
                   const char *when)
{
    int times = 1 + (int)pick(plan, 2);
    for (int i = 0; i < times; i++) {
        // In one stream or two: launches of one exec come one after the other anyway.
        OK(cudaGraphLaunch(exec, pick(plan, 2) ? f->other : f->streams[0]));
    }
    for (int i = 0; i < times; i++) {
        run_eagerly(plan, &f->eager, f->streams[1]);
    }
    compare(f, seed, when);
}

static void run_seed(struct fuzz *f, uint64_t seed, bool captured)
{
    struct plan plan;
    cudaGraphNode_t nodes[OPS_MAX];
    cudaGraphExec_t exec;
    make_plan(&plan, seed);
    for (int i = 0; i < REGIONS * SIZE; i++) {
        f->graph.memory[i] = f->eager.memory[i] = i * 7;
    }
    cudaGraph_t graph = captured ? capture(&plan, &f->graph, f->streams, f->events)
                                 : build(&plan, &f->graph, nodes);
    if (!captured && pick(&plan, 2)) { // what a clone runs must be the same
        cudaGraph_t clone;
        OK(cudaGraphClone(&clone, graph));
        for (int i = 0; i < plan.count; i++) {
            OK(cudaGraphNodeFindInClone(&nodes[i], nodes[i], clone));
        }
        OK(cudaGraphDestroy(graph));
        graph = clone;
    }
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    launch(f, &plan, exec, seed, "first launch");
    for (int round = 0; round < 3; round++) {
        if (!captured && pick(&plan, 2)) {
            change_node(&plan, &f->graph, exec, nodes);
            launch(f, &plan, exec, seed, "a changed node");
        } else {
            change_values(&plan);
            cudaGraphNode_t ignored[OPS_MAX];
            cudaGraph_t changed = captured ? capture(&plan, &f->graph, f->streams, f->events)
                                           : build(&plan, &f->graph, ignored);
            cudaError_t e = update(exec, changed);
            cr_assert(e == cudaSuccess, "seed %llu: update answers %d", (unsigned long long)seed,
                      (int)e);
            OK(cudaGraphDestroy(changed));
            launch(f, &plan, exec, seed, "an updated graph");
        }
    }
    if (pick(&plan, 2)) {
        OK(cudaGraphDestroy(graph));
        launch(f, &plan, exec, seed, "without its graph");
        OK(cudaGraphExecDestroy(exec));
    } else {
        OK(cudaGraphExecDestroy(exec));
        OK(cudaGraphDestroy(graph));
    }
}

static void fuzz(bool captured, uint64_t first, uint64_t count)
{
    static struct fuzz f;
    kernels_register();
    OK(cudaMallocManaged((void **)&f.graph.memory, REGIONS * SIZE * sizeof(int), 1));
    OK(cudaMallocManaged((void **)&f.eager.memory, REGIONS * SIZE * sizeof(int), 1));
    for (int s = 0; s < STREAMS; s++) {
        OK(cudaStreamCreateWithFlags(&f.streams[s], cudaStreamNonBlocking));
    }
    OK(cudaStreamCreate(&f.other));
    for (size_t i = 0; i < LENGTH(f.events); i++) {
        OK(cudaEventCreateWithFlags(&f.events[i], cudaEventDisableTiming));
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        run_seed(&f, seed, captured);
    }
}

Test(graph_fuzz, built_by_hand)
{
    fuzz(false, 1, 300);
}

Test(graph_fuzz, captured)
{
    fuzz(true, 1000, 300);
}
