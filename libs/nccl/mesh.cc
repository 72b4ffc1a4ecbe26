/* Gloo behind mesh.h.  C++ because Gloo's interface is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

/* NCCL waits for as long as it takes; Gloo wants a number. */
static const std::chrono::milliseconds forever = std::chrono::hours(24 * 365);

namespace {

struct Meeting : gloo::rendezvous::Store {
    aw_nccl_meeting calls;
    explicit Meeting(const aw_nccl_meeting &calls) : calls(calls) {}

    void set(const std::string &key, const std::vector<char> &data) override
    {
        if (!calls.set(calls.user, key.c_str(), data.data(), data.size()))
            throw std::runtime_error("the rank that made the ncclUniqueId is not reached any more");
    }

    std::vector<char> get(const std::string &key) override
    {
        void *data;
        size_t size;
        if (!calls.get(calls.user, key.c_str(), &data, &size))
            throw std::runtime_error("the rank that made the ncclUniqueId is not reached any more");
        std::vector<char> bytes(static_cast<char *>(data), static_cast<char *>(data) + size);
        std::free(data);
        return bytes;
    }

    void wait(const std::vector<std::string> &keys) override
    {
        for (const auto &key : keys)
            get(key);
    }

    void wait(const std::vector<std::string> &keys, const std::chrono::milliseconds &) override { wait(keys); }
};

/* One for all meshes of a process: it has a thread.  Never freed, as meshes may outlive what would. */
std::shared_ptr<gloo::transport::Device> device_of(const char *address)
{
    static std::mutex lock;
    static auto *devices = new std::map<std::string, std::shared_ptr<gloo::transport::Device>>;
    std::lock_guard<std::mutex> guard(lock);
    auto &device = (*devices)[address];
    if (!device)
        device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(address));
    return device;
}

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

/* Gloo's buffers wait without end for a peer that does not come, and closing connections on one's own side does not wake them.
 * So each buffer, of collectives too, is made through this, which knows those that there are, and wakes them for an abort. */
class Watch : public gloo::transport::Context {
public:
    explicit Watch(std::shared_ptr<gloo::transport::Context> real) : Context(real->rank, real->size), real(std::move(real)) {}

    std::unique_ptr<gloo::transport::Pair> &getPair(int rank) override { return real->getPair(rank); }
    std::unique_ptr<gloo::transport::Pair> &createPair(int rank) override { return real->createPair(rank); }
    Buffer createUnboundBuffer(void *at, size_t size) override;

    void abort()
    {
        std::lock_guard<std::mutex> guard(lock);
        aborted = true;
        for (auto *buffer : buffers) {
            buffer->abortWaitRecv();
            buffer->abortWaitSend();
        }
    }

    void check()
    {
        if (aborted)
            throw std::runtime_error("ended by an abort");
    }

    std::shared_ptr<gloo::transport::Context> real;
    std::mutex lock;
    std::set<gloo::transport::UnboundBuffer *> buffers;
    std::atomic<bool> aborted{ false };
};

class WatchedBuffer : public gloo::transport::UnboundBuffer {
public:
  WatchedBuffer(Watch &watch, void *at, size_t size)
      : UnboundBuffer(at, size), watch(watch), real(watch.real->createUnboundBuffer(at, size))
  {
      std::lock_guard<std::mutex> guard(watch.lock);
      watch.buffers.insert(real.get());
    }

    ~WatchedBuffer() override
    {
        std::lock_guard<std::mutex> guard(watch.lock);
        watch.buffers.erase(real.get());
    }

    bool waitRecv(int *rank, std::chrono::milliseconds timeout) override
    {
        watch.check();
        bool done = real->waitRecv(rank, timeout);
        watch.check();
        return done;
    }

    bool waitSend(int *rank, std::chrono::milliseconds timeout) override
    {
        watch.check();
        bool done = real->waitSend(rank, timeout);
        watch.check();
        return done;
    }

    void abortWaitRecv() override { real->abortWaitRecv(); }
    void abortWaitSend() override { real->abortWaitSend(); }
    void send(int rank, uint64_t slot, size_t offset, size_t size) override { real->send(rank, slot, offset, size); }
    void recv(int rank, uint64_t slot, size_t offset, size_t size) override { real->recv(rank, slot, offset, size); }
    void recv(std::vector<int> ranks, uint64_t slot, size_t offset,
              size_t size) override { real->recv(std::move(ranks), slot, offset, size); }

private:
    Watch &watch;
    Buffer real;
};

Buffer Watch::createUnboundBuffer(void *at, size_t size)
{
    return std::make_unique<WatchedBuffer>(*this, at, size);
}

struct MeshContext : gloo::rendezvous::Context {
    using Context::Context;
    std::shared_ptr<Watch> watch()
    {
        auto made = std::make_shared<Watch>(transportContext_);
        transportContext_ = made;
        return made;
    }
};

} // namespace

struct aw_nccl_mesh {
    std::shared_ptr<MeshContext> context;
    std::shared_ptr<Watch> watch;
    uint32_t tag = 0;
    std::vector<uint64_t> sent, received; /* how many, to and from each rank */
    std::string error;

    template <typename F> bool call(F f)
    {
        try {
            f();
            return true;
        } catch (const std::exception &e) {
            error = e.what();
            return false;
        }
    }
    Buffer buffer(const void *data, size_t size) { return context->createUnboundBuffer(const_cast<void *>(data), size); }
};

struct aw_nccl_transfer {
    Buffer buffer;
    bool receives;
};

static aw_nccl_mesh *create(int rank, int size, const char *address, const aw_nccl_meeting *meeting, char *ret_error,
                            size_t error_size)
{
    try {
        auto mesh = std::make_unique<aw_nccl_mesh>();
        auto device = device_of(address);
        Meeting store(*meeting);
        mesh->context = std::make_shared<MeshContext>(rank, size);
        mesh->context->setTimeout(forever);
        mesh->context->connectFullMesh(store, device);
        mesh->watch = mesh->context->watch();
        mesh->sent.resize(static_cast<size_t>(size));
        mesh->received.resize(static_cast<size_t>(size));
        gloo::BarrierOptions barrier(mesh->context);
        barrier.setTag(mesh->tag++);
        gloo::barrier(barrier);
        return mesh.release();
    } catch (const std::exception &e) {
        snprintf(ret_error, error_size, "%s", e.what());
        return nullptr;
    }
}

static void close_mesh(aw_nccl_mesh *mesh)
{
    try {
        mesh->watch->abort();
        mesh->context->closeConnections();
    } catch (const std::exception &) { /* they are broken, then */
    }
}

static void destroy(aw_nccl_mesh *mesh)
{
    delete mesh;
}

static const char *error(const aw_nccl_mesh *mesh)
{
    return mesh->error.c_str();
}

/* Gloo takes the size of an element from its type. */
template <typename F> static void with_element(size_t element, F f)
{
    switch (element) {
    case 1: f(uint8_t()); break;
    case 2: f(uint16_t()); break;
    case 4: f(uint32_t()); break;
    default: f(uint64_t()); break;
    }
}

static bool allreduce(aw_nccl_mesh *mesh, void *data, size_t count, size_t element, aw_nccl_reduce_fn *fn, void *user)
{
    return mesh->call([&] {
        gloo::AllreduceOptions options(mesh->context);
        with_element(element, [&](auto e) { options.setOutput(static_cast<decltype(e) *>(data), count); });
        options.setReduceFunction([=](void *c, const void *a, const void *b, size_t n) { fn(user, c, a, b, n); });
        options.setTag(mesh->tag++);
        gloo::allreduce(options);
    });
}

static bool reduce(aw_nccl_mesh *mesh, void *data, size_t count, size_t element, int root, aw_nccl_reduce_fn *fn, void *user)
{
    return mesh->call([&] {
        gloo::ReduceOptions options(mesh->context);
        with_element(element, [&](auto e) { options.setOutput(static_cast<decltype(e) *>(data), count); });
        options.setReduceFunction([=](void *c, const void *a, const void *b, size_t n) { fn(user, c, a, b, n); });
        options.setRoot(root);
        options.setTag(mesh->tag++);
        gloo::reduce(options);
    });
}

static bool broadcast(aw_nccl_mesh *mesh, void *data, size_t size, int root)
{
    return mesh->call([&] {
        gloo::BroadcastOptions options(mesh->context);
        options.setOutput(static_cast<char *>(data), size);
        options.setRoot(root);
        options.setTag(mesh->tag++);
        gloo::broadcast(options);
    });
}

static bool allgather(aw_nccl_mesh *mesh, const void *in, void *out, size_t size)
{
    return mesh->call([&] {
        gloo::AllgatherOptions options(mesh->context);
        char *own = static_cast<char *>(out) + size * static_cast<size_t>(mesh->context->rank);
        if (in != own)
            options.setInput(const_cast<char *>(static_cast<const char *>(in)), size);
        options.setOutput(static_cast<char *>(out), size * static_cast<size_t>(mesh->context->size));
        options.setTag(mesh->tag++);
        gloo::allgather(options);
    });
}

static bool alltoall(aw_nccl_mesh *mesh, const void *in, void *out, size_t size)
{
    return mesh->call([&] {
        gloo::AlltoallOptions options(mesh->context);
        size_t all = size * static_cast<size_t>(mesh->context->size);
        options.setInput(const_cast<char *>(static_cast<const char *>(in)), all);
        options.setOutput(static_cast<char *>(out), all);
        options.setTag(mesh->tag++);
        gloo::alltoall(options);
    });
}

static bool gather(aw_nccl_mesh *mesh, const void *in, void *out, size_t size, int root)
{
    return mesh->call([&] {
        gloo::GatherOptions options(mesh->context);
        options.setInput(const_cast<char *>(static_cast<const char *>(in)), size);
        if (mesh->context->rank == root)
            options.setOutput(static_cast<char *>(out), size * static_cast<size_t>(mesh->context->size));
        options.setRoot(root);
        options.setTag(mesh->tag++);
        gloo::gather(options);
    });
}

static bool scatter(aw_nccl_mesh *mesh, const void *in, void *out, size_t size, int root)
{
    return mesh->call([&] {
        gloo::ScatterOptions options(mesh->context);
        std::vector<char *> parts;
        for (int i = 0; mesh->context->rank == root && i < mesh->context->size; i++)
            parts.push_back(const_cast<char *>(static_cast<const char *>(in)) + size * static_cast<size_t>(i));
        if (!parts.empty())
            options.setInputs(parts, size);
        options.setOutput(static_cast<char *>(out), size);
        options.setRoot(root);
        options.setTag(mesh->tag++);
        gloo::scatter(options);
    });
}

/* Apart from those of Gloo's own collectives, which begin with smaller numbers. */
static uint64_t slot(uint64_t number)
{
    return UINT64_C(0xf0) << 56 | (number & ((UINT64_C(1) << 56) - 1));
}

static aw_nccl_transfer *start(aw_nccl_mesh *mesh, const void *data, size_t size, int peer, bool receives)
{
    auto transfer = std::make_unique<aw_nccl_transfer>();
    transfer->receives = receives;
    bool fine = mesh->call([&] {
        transfer->buffer = mesh->buffer(data, size);
        auto &count = (receives ? mesh->received : mesh->sent)[static_cast<size_t>(peer)];
        if (receives)
            transfer->buffer->recv(peer, slot(count++));
        else
            transfer->buffer->send(peer, slot(count++));
    });
    return fine ? transfer.release() : nullptr;
}

static aw_nccl_transfer *send(aw_nccl_mesh *mesh, const void *data, size_t size, int peer)
{
    return start(mesh, data, size, peer, false);
}

static aw_nccl_transfer *receive(aw_nccl_mesh *mesh, void *data, size_t size, int peer)
{
    return start(mesh, data, size, peer, true);
}

static bool finish(aw_nccl_mesh *mesh, aw_nccl_transfer *transfer)
{
    std::unique_ptr<aw_nccl_transfer> owned(transfer);
    return mesh->call([&] {
        if (transfer->receives)
            transfer->buffer->waitRecv(forever);
        else
            transfer->buffer->waitSend(forever);
    });
}

extern "C" __attribute__((visibility("default"))) const aw_nccl_mesh_ops aw_nccl_gloo = {
    create, close_mesh, destroy, error, allreduce, reduce, broadcast, allgather, alltoall, gather, scatter, send, receive, finish,
};
