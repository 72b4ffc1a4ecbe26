// Linking with lld in this process: relocatable objects in, one shared object out.  The only C++ of the project.
// lld keeps global state, so that links are serialised; it reports errors and returns, and only when it says that it cannot run
// again does this room refuse further links.
// SPDX-License-Identifier: Apache-2.0
#include "lld/Common/Driver.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" {
#include "target/target.h"
}

LLD_HAS_DRIVER(elf)

namespace {

std::mutex lock;
bool broken;
const char *const *kept_options;

// A private directory with the files; removed with it.
struct Files {
    std::string dir, objects[2], output;

    Files()
    {
        const char *tmp = getenv("TMPDIR");
        std::string name = std::string(tmp && *tmp ? tmp : "/tmp") + "/anywarp-XXXXXX";
        std::vector<char> path(name.begin(), name.end());
        path.push_back(0);
        if (!mkdtemp(path.data()))
            return;
        dir = path.data();
        objects[0] = dir + "/kernel.o";
        objects[1] = dir + "/soft.o";
        output = dir + "/kernel.so";
    }

    ~Files()
    {
        if (dir.empty())
            return;
        for (const std::string &object : objects)
            unlink(object.c_str());
        unlink(output.c_str());
        rmdir(dir.c_str());
    }
};

bool write_file(const std::string &path, const char *bytes, size_t size)
{
    FILE *f = fopen(path.c_str(), "wb");
    if (!f)
        return false;
    bool ok = fwrite(bytes, 1, size, f) == size;
    return fclose(f) == 0 && ok;
}

bool read_file(const std::string &path, ptx_result *ret)
{
    FILE *f = fopen(path.c_str(), "rb");
    if (!f)
        return false;
    bool ok = fseek(f, 0, SEEK_END) == 0;
    long size = ok ? ftell(f) : -1;
    char *bytes = size >= 0 ? static_cast<char *>(malloc(static_cast<size_t>(size) + 1)) : nullptr;
    rewind(f);
    ok = bytes && fread(bytes, 1, static_cast<size_t>(size), f) == static_cast<size_t>(size);
    fclose(f);
    if (!ok) {
        free(bytes);
        return false;
    }
    bytes[size] = 0;
    ret->bytes = bytes;
    ret->size = static_cast<size_t>(size);
    return true;
}

int run_lld(const char *machine, const Files &files, unsigned n, aw_buf *diags)
{
    std::vector<const char *> args = { "ld.lld", "-m", machine, "-shared", "--no-undefined", "--threads=1",
                                       "-o", files.output.c_str() };
    for (unsigned i = 0; i < n; i++)
        args.push_back(files.objects[i].c_str());
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
    Files files;
    bool written = !files.dir.empty();
    for (unsigned i = 0; written && i < n; i++)
        written = write_file(files.objects[i], objects[i].bytes, objects[i].size);
    if (!written) {
        aw_buf_printf(diags, "<link>:0:0: error: cannot write a temporary file: %s\n", strerror(errno));
        return AW_ERR_OS;
    }
    int status = run_lld(machine, files, n, diags);
    if (status != AW_OK)
        return status;
    if (read_file(files.output, ret))
        return AW_OK;
    aw_buf_printf(diags, "<link>:0:0: error: cannot read the linked object: %s\n", strerror(errno));
    return AW_ERR_OS;
}
