// Linking with lld in this process: relocatable objects in, one shared object out.  C++, as llvm_version.cpp is.
// lld keeps global state, so that links are serialised; it reports errors and returns, and only when it says that it cannot run
// again does this room refuse further links.
// SPDX-License-Identifier: Apache-2.0
#include "lld/Common/Driver.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" {
#include "base/file.h"
#include "finish/target.h"
}

LLD_HAS_DRIVER(elf)

namespace {

std::mutex lock;
bool broken;
const char *const *kept_options;

// A file without a name, for lld to open by its descriptor: nothing lies anywhere when the process is killed, no folder has to be
// there.
struct Input {
    int fd;
    std::string path;

    Input(const char *bytes, size_t size) : fd(memfd_create("anywarp", MFD_CLOEXEC)), path("/proc/self/fd/" + std::to_string(fd))
    {
        if (fd < 0 || aw_fd_write_all(fd, bytes, size))
            return;
        int error = errno;
        close(fd);
        errno = error;
        fd = -1;
    }
    Input(const Input &) = delete;

    ~Input()
    {
        if (fd >= 0)
            close(fd);
    }
};

// A pipe to write to.  lld gives a file that has a name to a fresh one beside it; only what is no file it writes to as it is.
class Output {
    int read_end = -1, write_end = -1, error = 0;
    std::vector<char> bytes;
    std::thread reader;

    void read_all()
    {
        char some[65536];
        for (;;) {
            ssize_t n = read(read_end, some, sizeof some);
            if (n > 0)
                bytes.insert(bytes.end(), some, some + n);
            else if (n == 0 || errno != EINTR) {
                error = n < 0 ? errno : 0;
                return;
            }
        }
    }

public:
    Output()
    {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return;
        read_end = ends[0];
        write_end = ends[1];
        reader = std::thread([this] { read_all(); });
    }
    Output(const Output &) = delete;

    ~Output()
    {
        finish();
        if (read_end >= 0)
            close(read_end);
    }

    bool opened() const { return write_end >= 0; }
    std::string path() const { return "/proc/self/fd/" + std::to_string(write_end); }

    // All that was written has been read.
    void finish()
    {
        if (write_end >= 0)
            close(write_end);
        write_end = -1;
        if (reader.joinable())
            reader.join();
    }

    bool take(ptx_result *ret)
    {
        finish();
        char *copy = error ? nullptr : static_cast<char *>(malloc(bytes.size() + 1));
        if (!copy) {
            errno = error ? error : ENOMEM;
            return false;
        }
        memcpy(copy, bytes.data(), bytes.size());
        copy[bytes.size()] = 0;
        ret->bytes = copy;
        ret->size = bytes.size();
        return true;
    }
};

int run_lld(const char *machine, const std::vector<std::unique_ptr<Input>> &inputs, const std::string &output, aw_buf *diags)
{
    std::vector<const char *> args = {
        "ld.lld", "-m", machine, "-shared", "--no-undefined", "--threads=1", "-o", output.c_str()
    };
    for (const std::unique_ptr<Input> &input : inputs)
        args.push_back(input->path.c_str());
    for (const char *const *option = kept_options; option && *option; option++)
        args.insert(args.end(), { "-mllvm", *option });
    std::string out, err;
    llvm::raw_string_ostream out_stream(out), err_stream(err);
    lld::Result result = lld::lldMain(args, out_stream, err_stream, { { lld::Gnu, &lld::elf::link } });
    if (!result.canRunAgain)
        broken = true;
    if (result.retCode == 0)
        return AW_OK;
    for (size_t at = 0; at < err.size();) {
        size_t end = err.find('\n', at);
        if (end == std::string::npos)
            end = err.size();
        aw_buf_printf(diags, "<link>:0:0: error: %.*s\n", static_cast<int>(end - at), err.data() + at);
        at = end + 1;
    }
    return AW_ERR_NOT_SUPPORTED;
}

} // namespace

extern "C" void ptx_link_keep_options(const char *const *options)
{
    std::lock_guard<std::mutex> guard(lock);
    kept_options = options;
}

extern "C" int ptx_link_shared(const char *machine, const struct ptx_bytes *objects, unsigned n, struct ptx_result *ret,
                               struct aw_buf *diags)
{
    std::lock_guard<std::mutex> guard(lock);
    if (broken) {
        aw_buf_printf(diags, "<link>:0:0: error: the linker failed before and cannot run again in this process\n");
        return AW_ERR_NOT_SUPPORTED;
    }
    std::vector<std::unique_ptr<Input>> inputs;
    for (unsigned i = 0; i < n; i++) {
        inputs.push_back(std::make_unique<Input>(objects[i].bytes, objects[i].size));
        if (inputs.back()->fd < 0) {
            aw_buf_printf(diags, "<link>:0:0: error: no memory for the linker's input: %s\n", strerror(errno));
            return AW_ERR_OS;
        }
    }
    Output output;
    if (!output.opened()) {
        aw_buf_printf(diags, "<link>:0:0: error: no pipe for the linker's output: %s\n", strerror(errno));
        return AW_ERR_OS;
    }
    int status = run_lld(machine, inputs, output.path(), diags);
    if (status != AW_OK)
        return status;
    if (output.take(ret))
        return AW_OK;
    aw_buf_printf(diags, "<link>:0:0: error: cannot read the linked object: %s\n", strerror(errno));
    return AW_ERR_OS;
}

extern "C" char *ptx_module_text(LLVMModuleRef module)
{
    std::string text;
    llvm::raw_string_ostream out(text);
    llvm::unwrap(module)->print(out, nullptr, true);
    return strdup(out.str().c_str());
}
