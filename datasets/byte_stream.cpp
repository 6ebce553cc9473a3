// SPDX-License-Identifier: Apache-2.0
#include "datasets/byte_stream.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "reference/error.hpp"
#include "reference/output_file.hpp"

namespace shardmark::datasets {
namespace {

constexpr unsigned gzip_buffer = 1U << 18;
constexpr int zstd_level = 3;

[[noreturn]] void fail(const std::string& path, const std::string& what) { throw InputError(path + ": " + what); }

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

File open_file(const std::string& path, const char* mode, const std::string& name) {
  if (std::filesystem::is_directory(path)) fail(name, "is a directory, not a file");
  File file(std::fopen(path.c_str(), mode));
  if (!file) fail(name, std::string("cannot open: ") + std::strerror(errno));
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  return file;
}

void write_all(std::FILE* file, const std::string& path, const void* bytes, std::size_t count) {
  if (std::fwrite(bytes, 1, count, file) != count) fail(path, std::string("cannot write: ") + std::strerror(errno));
}

void close_written(File& file, const std::string& path) {
  if (std::fclose(file.release()) != 0) fail(path, std::string("cannot write: ") + std::strerror(errno));
}

class PlainReader : public ByteReader {
 public:
  explicit PlainReader(const std::string& path) : path_(path), file_(open_file(path, "rb", path)) {}

  std::size_t read(std::span<char> buffer) override {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file_.get());
    if (std::ferror(file_.get()) != 0) fail(path_, std::string("cannot read: ") + std::strerror(errno));
    return count;
  }

 private:
  std::string path_;
  File file_;
};

class GzipReader : public ByteReader {
 public:
  explicit GzipReader(const std::string& path) : path_(path) {
    open_file(path, "rb", path);
    file_ = gzopen(path.c_str(), "rb");
    if (file_ == nullptr) fail(path, "cannot open as gzip");
    gzbuffer(file_, gzip_buffer);
    if (gzdirect(file_) != 0) {
      gzclose(file_);
      fail(path, "is not gzip data although its name ends in .gz");
    }
  }
  ~GzipReader() override { gzclose(file_); }

  std::size_t read(std::span<char> buffer) override {
    const auto limit = static_cast<unsigned>(std::min<std::size_t>(buffer.size(), 1U << 30));
    const int count = gzread(file_, buffer.data(), limit);
    int error = Z_OK;
    const char* message = gzerror(file_, &error);
    if (error == Z_BUF_ERROR) fail(path_, "gzip data are truncated; fetch the file again");
    if (count < 0 || error != Z_OK) fail(path_, std::string("gzip data are corrupt (") + message + ")");
    return static_cast<std::size_t>(count);
  }

 private:
  std::string path_;
  gzFile file_ = nullptr;
};

struct FreeZstd {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

class ZstdReader : public ByteReader {
 public:
  explicit ZstdReader(const std::string& path)
      : path_(path), file_(open_file(path, "rb", path)), context_(ZSTD_createDCtx()), input_(ZSTD_DStreamInSize()) {}

  std::size_t read(std::span<char> buffer) override {
    ZSTD_outBuffer output{buffer.data(), buffer.size(), 0};
    while (output.pos < output.size) {
      if (pending_.pos == pending_.size) {
        pending_ = {input_.data(), std::fread(input_.data(), 1, input_.size(), file_.get()), 0};
        if (std::ferror(file_.get()) != 0) fail(path_, std::string("cannot read: ") + std::strerror(errno));
        if (pending_.size == 0 && frame_open_ && drained_) fail(path_, "zstd data are truncated; fetch the file again");
        if (pending_.size == 0 && !frame_open_) break;
      }
      const std::size_t before = output.pos;
      const std::size_t left = ZSTD_decompressStream(context_.get(), &output, &pending_);
      if (ZSTD_isError(left) != 0) fail(path_, std::string("zstd data are corrupt (") + ZSTD_getErrorName(left) + ")");
      frame_open_ = left != 0;
      drained_ = output.pos == before;
    }
    return output.pos;
  }

 private:
  std::string path_;
  File file_;
  std::unique_ptr<ZSTD_DCtx, FreeZstd> context_;
  std::vector<char> input_;
  ZSTD_inBuffer pending_{nullptr, 0, 0};
  bool frame_open_ = false;
  bool drained_ = true;  ///< the last call gave no output: what the context held back is out
};

class PlainWriter : public ByteWriter {
 public:
  explicit PlainWriter(const std::string& path)
      : output_(path), file_(open_file(output_.path(), "wb", output_.target())) {}

  void write(std::string_view bytes) override { write_all(file_.get(), output_.target(), bytes.data(), bytes.size()); }
  void finish() override {
    close_written(file_, output_.target());
    output_.commit();
  }

 private:
  OutputFile output_;
  File file_;
};

class GzipWriter : public ByteWriter {
 public:
  explicit GzipWriter(const std::string& path) : output_(path), file_(gzopen(output_.path().c_str(), "wb1")) {
    if (file_ == nullptr) fail(output_.target(), std::string("cannot create: ") + std::strerror(errno));
    gzbuffer(file_, gzip_buffer);
  }
  ~GzipWriter() override {
    if (file_ != nullptr) gzclose(file_);
  }

  void write(std::string_view bytes) override {
    if (!bytes.empty() && gzwrite(file_, bytes.data(), static_cast<unsigned>(bytes.size())) == 0)
      fail(output_.target(), "cannot write");
  }
  void finish() override {
    if (gzclose(std::exchange(file_, nullptr)) != Z_OK) fail(output_.target(), "cannot write");
    output_.commit();
  }

 private:
  OutputFile output_;
  gzFile file_;
};

class ZstdWriter : public ByteWriter {
 public:
  explicit ZstdWriter(const std::string& path)
      : output_(path),
        file_(open_file(output_.path(), "wb", output_.target())),
        context_(ZSTD_createCCtx()),
        buffer_(ZSTD_CStreamOutSize()) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, zstd_level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void write(std::string_view bytes) override { compress(bytes, ZSTD_e_continue); }
  void finish() override {
    compress({}, ZSTD_e_end);
    close_written(file_, output_.target());
    output_.commit();
  }

 private:
  void compress(std::string_view bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    std::size_t left = 1;
    while (directive == ZSTD_e_end ? left != 0 : input.pos < input.size) {
      ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
      left = ZSTD_compressStream2(context_.get(), &output, &input, directive);
      if (ZSTD_isError(left) != 0) fail(output_.target(), std::string("zstd: ") + ZSTD_getErrorName(left));
      write_all(file_.get(), output_.target(), buffer_.data(), output.pos);
    }
  }

  OutputFile output_;
  File file_;
  std::unique_ptr<ZSTD_CCtx, FreeZstd> context_;
  std::vector<char> buffer_;
};

}  // namespace

std::unique_ptr<ByteReader> open_bytes(const std::string& path) {
  if (path.ends_with(".gz")) return std::make_unique<GzipReader>(path);
  if (path.ends_with(".zst")) return std::make_unique<ZstdReader>(path);
  return std::make_unique<PlainReader>(path);
}

std::unique_ptr<ByteWriter> create_bytes(const std::string& path) {
  if (path.ends_with(".gz")) return std::make_unique<GzipWriter>(path);
  if (path.ends_with(".zst")) return std::make_unique<ZstdWriter>(path);
  return std::make_unique<PlainWriter>(path);
}

}  // namespace shardmark::datasets
