// SPDX-License-Identifier: Apache-2.0
//
// Texture objects in every dimension, against a sampler on the host written from the Programming
// Guide: filters, address modes, read modes, layers, cubes, mipmaps, gather, linear and pitched
// memory, templates for vectors and small types.
#include "e2e.h"

static const float PI2 = 6.2831853f;

// ---------------------------------------------------------------- host side

struct Sampler {
    cudaTextureFilterMode filter = cudaFilterModePoint;
    cudaTextureAddressMode address = cudaAddressModeClamp;
    bool normalized = false;
};

static int index_of(long i, long n, const Sampler &s)
{
    if (i >= 0 && i < n) {
        return (int)i;
    }
    if (s.address == cudaAddressModeBorder) {
        return -1;
    }
    if (s.normalized && s.address == cudaAddressModeWrap) {
        return (int)((i % n + n) % n);
    }
    if (s.normalized && s.address == cudaAddressModeMirror) {
        long k = (i % (2 * n) + 2 * n) % (2 * n);
        return (int)(k < n ? k : 2 * n - 1 - k);
    }
    return i < 0 ? 0 : (int)(n - 1);
}

// Channel of a volume of `size` texels (x fastest), sampled at u in texels; the border is 0.
template <typename F>
static double host_sample(F texel, const int size[3], int dimensions, const double u[3],
                          const Sampler &s)
{
    double sum = 0;
    for (int n = 0; n < (s.filter == cudaFilterModeLinear ? 1 << dimensions : 1); n++) {
        int at[3] = {0, 0, 0};
        double weight = 1;
        bool border = false;
        for (int d = 0; d < dimensions; d++) {
            long i = (long)std::floor(u[d]);
            if (s.filter == cudaFilterModeLinear) {
                double fixed = std::floor((u[d] - 0.5) * 256 + 0.5) / 256, low = std::floor(fixed);
                i = (long)low + (n >> d & 1);
                weight *= n >> d & 1 ? fixed - low : 1 - (fixed - low);
            }
            at[d] = index_of(i, size[d], s);
            border = border || at[d] < 0;
        }
        sum += border || weight == 0 ? 0 : weight * texel(at[0], at[1], at[2]);
    }
    return sum;
}

static cudaTextureObject_t make(const cudaResourceDesc &resource, const Sampler &s,
                                cudaTextureReadMode mode = cudaReadModeElementType)
{
    cudaTextureDesc desc = {};
    for (int i = 0; i < 3; i++) {
        desc.addressMode[i] = s.address;
    }
    desc.filterMode = s.filter;
    desc.mipmapFilterMode = s.filter;
    desc.normalizedCoords = s.normalized;
    desc.readMode = mode;
    desc.maxMipmapLevelClamp = 100;
    cudaTextureObject_t object = 0;
    CHECK(cudaCreateTextureObject(&object, &resource, &desc, nullptr));
    return object;
}

static cudaResourceDesc of_array(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

template <typename T>
static cudaArray_t make_array(const std::vector<T> &data, int width, int height, int depth,
                              unsigned flags)
{
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth), flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr =
        make_cudaPitchedPtr((void *)data.data(), width * sizeof(T), width, height ? height : 1);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(width, height ? height : 1, depth ? depth : 1);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static std::vector<float> numbers(size_t n, unsigned seed)
{
    Random random(seed);
    std::vector<float> data(n);
    for (float &x : data) {
        x = random.uniform(-1, 1);
    }
    return data;
}

// ---------------------------------------------------------------- 1D, 2D, 3D

__global__ void read_all(cudaTextureObject_t t, int dimensions, const float *u, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = dimensions == 1   ? tex1D<float>(t, u[3 * i])
                 : dimensions == 2 ? tex2D<float>(t, u[3 * i], u[3 * i + 1])
                                   : tex3D<float>(t, u[3 * i], u[3 * i + 1], u[3 * i + 2]);
    }
}

static void dimensions_and_modes()
{
    const int shape[3][3] = {{19, 0, 0}, {16, 9, 0}, {8, 5, 4}};
    for (int dimensions = 1; dimensions <= 3; dimensions++) {
        const int *s = shape[dimensions - 1];
        int size[3] = {s[0], s[1] ? s[1] : 1, s[2] ? s[2] : 1};
        std::vector<float> data = numbers((size_t)size[0] * size[1] * size[2], dimensions);
        cudaArray_t array = make_array(data, s[0], s[1], s[2], 0);
        for (int mode = 0; mode < 16; mode++) {
            Sampler sampler;
            sampler.filter = mode & 1 ? cudaFilterModeLinear : cudaFilterModePoint;
            sampler.normalized = mode >> 1 & 1;
            sampler.address = (cudaTextureAddressMode)(mode >> 2);
            cudaTextureObject_t t = make(of_array(array), sampler);
            Random random(mode + 1);
            const int n = 1000;
            std::vector<float> u(3 * n), want(n);
            for (int i = 0; i < n; i++) {
                double at[3];
                for (int d = 0; d < 3; d++) { // coordinates that floats hold exactly
                    double texels =
                        (random.below(3 * 64 * size[d]) - 64 * size[d]) / 64.0 + 1 / 512.0;
                    u[3 * i + d] = (float)(sampler.normalized ? texels / size[d] : texels);
                    at[d] = sampler.normalized ? (double)(u[3 * i + d] * (float)size[d])
                                               : (double)u[3 * i + d];
                }
                want[i] = (float)host_sample(
                    [&](int x, int y, int z) {
                        return data[x + size[0] * (y + (size_t)size[1] * z)];
                    },
                    size, dimensions, at, sampler);
            }
            Device<float> du(u), out(n);
            read_all<<<4, 256>>>(t, dimensions, du, out, n);
            CHECK_LAUNCH();
            std::vector<float> got = out.get();
            for (int i = 0; i < n; i++) { // one step of a weight where the coordinate rounds
                double tolerance = mode & 1 ? 2 * dimensions / 256.0 : 1e-6;
                if (!near(got[i], want[i], tolerance)) {
                    bool edge = !(mode & 1) && sampler.normalized;
                    if (!edge) {
                        FAIL("%dD mode %d at %g %g %g: %g, not %g", dimensions, mode, u[3 * i],
                             u[3 * i + 1], u[3 * i + 2], got[i], want[i]);
                    }
                }
            }
            CHECK(cudaDestroyTextureObject(t));
        }
        CHECK(cudaFreeArray(array));
    }
}

// ---------------------------------------------------------------- formats, linear, pitched

__global__ void read_formats(cudaTextureObject_t bytes, cudaTextureObject_t shorts,
                             cudaTextureObject_t ints, cudaTextureObject_t linear, int n, float4 *a,
                             short2 *b, int *c, float *d)
{
    int i = threadIdx.x;
    a[i] = tex2D<float4>(bytes, i % 8 + 0.5f, i / 8 + 0.5f);
    b[i] = tex2D<short2>(shorts, i % 8 + 0.5f, i / 8 + 0.5f);
    c[i] = tex1Dfetch<int>(ints, i - 4); // 0 outside
    d[i] = tex1Dfetch<float>(linear, i);
}

static void formats()
{
    const int n = 32;
    std::vector<uchar4> bytes(n);
    std::vector<short2> shorts(n);
    std::vector<int> ints(n);
    std::vector<signed char> small(n);
    for (int i = 0; i < n; i++) {
        bytes[i] = make_uchar4(8 * i, 255 - i, i == 3 ? 255 : 0, i);
        shorts[i] = make_short2((short)(1000 * i - 16000), (short)-i);
        ints[i] = 7 * i - 100;
        small[i] = (signed char)(8 * i - 128);
    }
    cudaArray_t a = make_array(bytes, 8, 4, 0, 0), b = make_array(shorts, 8, 4, 0, 0);
    Device<int> di(ints);
    Device<signed char> ds(small);
    cudaResourceDesc linear = {};
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = di.p;
    linear.res.linear.desc = cudaCreateChannelDesc<int>();
    linear.res.linear.sizeInBytes = n * sizeof(int);
    cudaResourceDesc chars = linear;
    chars.res.linear.devPtr = ds.p;
    chars.res.linear.desc = cudaCreateChannelDesc<signed char>();
    chars.res.linear.sizeInBytes = n;
    Sampler point;
    Device<float4> oa(n);
    Device<short2> ob(n);
    Device<int> oc(n);
    Device<float> od(n);
    read_formats<<<1, n>>>(make(of_array(a), point, cudaReadModeNormalizedFloat),
                           make(of_array(b), point), make(linear, point),
                           make(chars, point, cudaReadModeNormalizedFloat), n, oa, ob, oc, od);
    CHECK_LAUNCH();
    std::vector<float4> ga = oa.get();
    std::vector<short2> gb = ob.get();
    std::vector<int> gc = oc.get();
    std::vector<float> gd = od.get();
    for (int i = 0; i < n; i++) {
        EXPECT(ga[i].x == bytes[i].x / 255.0f && ga[i].y == bytes[i].y / 255.0f);
        EXPECT(ga[i].z == bytes[i].z / 255.0f && ga[i].w == bytes[i].w / 255.0f);
        EXPECT(gb[i].x == shorts[i].x && gb[i].y == shorts[i].y);
        EXPECT(gc[i] == (i < 4 ? 0 : ints[i - 4]));
        EXPECT(gd[i] == std::fmax(small[i] / 127.0f, -1.0f));
    }
    CHECK(cudaFreeArray(a));
    CHECK(cudaFreeArray(b));
}

__global__ void blur(cudaTextureObject_t t, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) { // a corner of four texels: their mean
        out[y * width + x] = tex2D<float>(t, (float)x, (float)y);
    }
}

static void pitched()
{
    const int width = 33, height = 17;
    std::vector<float> data = numbers(width * height, 9), want(width * height);
    void *memory;
    size_t pitch;
    CHECK(cudaMallocPitch(&memory, &pitch, width * sizeof(float), height));
    CHECK(cudaMemcpy2D(memory, pitch, data.data(), width * sizeof(float), width * sizeof(float),
                       height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    Sampler linear;
    linear.filter = cudaFilterModeLinear;
    Device<float> out(width * height);
    blur<<<dim3(3, 2), dim3(16, 16)>>>(make(resource, linear), out, width, height);
    CHECK_LAUNCH();
    auto at = [&](int x, int y) { return data[(x < 0 ? 0 : x) + width * (y < 0 ? 0 : y)]; };
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            want[y * width + x] = (at(x - 1, y - 1) + at(x, y - 1) + at(x - 1, y) + at(x, y)) / 4;
        }
    }
    expect_near(out.get(), want, 1e-6);
    CHECK(cudaFree(memory));
}

// ---------------------------------------------------------------- layers, cubes

__global__ void read_layers(cudaTextureObject_t one, cudaTextureObject_t two, float *out)
{
    int layer = threadIdx.x, i = blockIdx.x;
    out[(layer * 8 + i) * 2] = tex1DLayered<float>(one, i + 0.5f, layer);
    out[(layer * 8 + i) * 2 + 1] = tex2DLayered<float>(two, i % 4 + 0.5f, i / 4 + 0.5f, layer);
}

static void layers()
{
    std::vector<float> one = numbers(8 * 5, 3), two = numbers(4 * 2 * 5, 4);
    cudaArray_t a = make_array(one, 8, 0, 5, cudaArrayLayered);
    cudaArray_t b = make_array(two, 4, 2, 5, cudaArrayLayered);
    Sampler point;
    Device<float> out(5 * 8 * 2);
    read_layers<<<8, 5>>>(make(of_array(a), point), make(of_array(b), point), out);
    CHECK_LAUNCH();
    std::vector<float> got = out.get();
    for (int i = 0; i < 40; i++) {
        EXPECT(got[2 * i] == one[i] && got[2 * i + 1] == two[i]);
    }
    CHECK(cudaFreeArray(a));
    CHECK(cudaFreeArray(b));
}

// Every texel of every face, by its direction (Programming Guide, "Cubemap Textures").
__global__ void read_cube(cudaTextureObject_t cube, cudaTextureObject_t cubes, int n, float *out)
{
    int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
    float s = (2 * x + 1.0f) / n - 1, t = (2 * y + 1.0f) / n - 1;
    const float table[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
                               {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};
    int i = (face * n + y) * n + x;
    const float *v = table[face];
    out[2 * i] = texCubemap<float>(cube, v[0], v[1], v[2]);
    out[2 * i + 1] = texCubemapLayered<float>(cubes, 3 * v[0], 3 * v[1], 3 * v[2], 2);
}

static void cubes()
{
    const int n = 5;
    std::vector<float> one = numbers(n * n * 6, 5), all = numbers(n * n * 18, 6);
    cudaArray_t a = make_array(one, n, n, 6, cudaArrayCubemap);
    cudaArray_t b = make_array(all, n, n, 18, cudaArrayCubemap | cudaArrayLayered);
    Sampler point;
    point.normalized = true;
    Device<float> out(2 * n * n * 6);
    read_cube<<<6, dim3(n, n)>>>(make(of_array(a), point), make(of_array(b), point), n, out);
    CHECK_LAUNCH();
    std::vector<float> got = out.get();
    for (int i = 0; i < n * n * 6; i++) {
        EXPECT(got[2 * i] == one[i] && got[2 * i + 1] == all[2 * n * n * 6 + i]);
    }
    CHECK(cudaFreeArray(a));
    CHECK(cudaFreeArray(b));
}

// ---------------------------------------------------------------- mipmaps, gather

__global__ void read_levels(cudaTextureObject_t t, float *out)
{
    int level = threadIdx.x;
    float step = exp2f((float)level) / 32;
    out[3 * level] = tex2DLod<float>(t, 0.3f, 0.6f, (float)level);
    out[3 * level + 1] = tex2DLod<float>(t, 0.3f, 0.6f, level + 0.5f);
    out[3 * level + 2] =
        tex2DGrad<float>(t, 0.3f, 0.6f, make_float2(step, 0), make_float2(0, step / 4));
}

static void mipmaps()
{
    cudaMipmappedArray_t mipmap;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(32, 32, 0), 6));
    for (int level = 0; level < 6; level++) { // level k holds the number k + 1 everywhere
        cudaArray_t array;
        CHECK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
        int n = 32 >> level;
        std::vector<float> data(n * n, (float)(level + 1));
        CHECK(cudaMemcpy2DToArray(array, 0, 0, data.data(), n * sizeof(float), n * sizeof(float), n,
                                  cudaMemcpyHostToDevice));
    }
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    Sampler linear;
    linear.filter = cudaFilterModeLinear;
    linear.normalized = true;
    Device<float> out(18);
    read_levels<<<1, 6>>>(make(resource, linear), out);
    CHECK_LAUNCH();
    std::vector<float> got = out.get(), want(18);
    for (int level = 0; level < 6; level++) {
        want[3 * level] = want[3 * level + 2] = level + 1.0f;
        want[3 * level + 1] = level == 5 ? 6 : level + 1.5f;
    }
    expect_near(got, want, 1e-3);
    CHECK(cudaFreeMipmappedArray(mipmap));
}

__global__ void gather(cudaTextureObject_t t, float4 *out)
{
    out[threadIdx.x] = tex2Dgather<float4>(t, 3.0f, 2.0f, threadIdx.x);
}

__global__ void gather_one(cudaTextureObject_t t, float4 *out)
{
    out[0] = tex2Dgather<float4>(t, 3.0f, 2.0f, 0);
    out[1] = tex2Dgather<float4>(t, 3.0f, 2.0f, 1);
    out[2] = tex2Dgather<float4>(t, 3.0f, 2.0f, 2);
    out[3] = tex2Dgather<float4>(t, 3.0f, 2.0f, 3);
}

static void gathers()
{
    std::vector<float4> data(6 * 5);
    for (int i = 0; i < 30; i++) {
        data[i] = make_float4((float)i, (float)(100 + i), (float)(200 + i), (float)(300 + i));
    }
    cudaArray_t array = make_array(data, 6, 5, 0, cudaArrayTextureGather);
    Sampler point;
    cudaTextureObject_t t = make(of_array(array), point);
    Device<float4> out(4), out_one(4);
    gather<<<1, 4>>>(t, out);
    gather_one<<<1, 1>>>(t, out_one);
    CHECK_LAUNCH();
    std::vector<float4> got = out.get(), one = out_one.get();
    for (int c = 0; c < 4; c++) { // texels (2,2) (3,2) (3,1) (2,1)
        const float want[4] = {14, 15, 9, 8};
        float base = 100.0f * c;
        EXPECT(got[c].x == base + want[0] && got[c].y == base + want[1]);
        EXPECT(got[c].z == base + want[2] && got[c].w == base + want[3]);
        EXPECT(one[c].x == got[c].x && one[c].w == got[c].w);
    }
    CHECK(cudaFreeArray(array));
}

// ---------------------------------------------------------------- a picture

// Rotates an image about its centre, as the simpleTexture sample does.
__global__ void rotate(cudaTextureObject_t t, float *out, int width, int height, float theta)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = x - width / 2.0f, v = y - height / 2.0f;
    float tu = (u * cosf(theta) - v * sinf(theta)) / width + 0.5f;
    float tv = (v * cosf(theta) + u * sinf(theta)) / height + 0.5f;
    out[y * width + x] = tex2D<float>(t, tu, tv);
}

static void picture()
{
    const int n = 64;
    std::vector<float> data(n * n);
    for (int i = 0; i < n * n; i++) {
        data[i] = 0.5f + 0.5f * std::sin(PI2 * (i % n) / n) * std::cos(PI2 * (i / n) / n);
    }
    cudaArray_t array = make_array(data, n, n, 0, 0);
    Sampler sampler;
    sampler.filter = cudaFilterModeLinear;
    sampler.address = cudaAddressModeWrap;
    sampler.normalized = true;
    Device<float> out(n * n);
    const float theta = 0.5f;
    rotate<<<dim3(4, 4), dim3(16, 16)>>>(make(of_array(array), sampler), out, n, n, theta);
    CHECK_LAUNCH();
    std::vector<float> got = out.get();
    for (int y = 0; y < n; y++) {
        for (int x = 0; x < n; x++) { // the periodic function itself, half a texel aside
            double u = x - n / 2.0, v = y - n / 2.0;
            double tu = (u * std::cos(theta) - v * std::sin(theta)) / n + 0.5 - 0.5 / n;
            double tv = (v * std::cos(theta) + u * std::sin(theta)) / n + 0.5 - 0.5 / n;
            double want = 0.5 + 0.5 * std::sin(PI2 * tu) * std::cos(PI2 * tv);
            EXPECT(std::fabs(got[y * n + x] - want) < 0.01);
        }
    }
    CHECK(cudaFreeArray(array));
}

int main()
{
    dimensions_and_modes();
    formats();
    pitched();
    layers();
    cubes();
    mipmaps();
    gathers();
    picture();
    return pass();
}
