// SPDX-License-Identifier: Apache-2.0
#include "datasets/hdf5.hpp"

#include <fcntl.h>
#include <hdf5.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <numeric>
#include <type_traits>

#include "reference/error.hpp"

namespace shardmark::datasets::hdf5 {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t>);

/// Runs before any other call: errors are reported as exceptions, not printed.
void quiet() { [[maybe_unused]] static const herr_t once = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

/// Returns the innermost description on HDF5's error stack, which names the cause.
std::string cause() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned level, const H5E_error2_t* error, void* out) {
        if (level == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
        return herr_t{0};
      },
      &text);
  // "file write failed: time = ..., errno = 28, error message = 'No space left on device', buf = ..."
  if (const auto begin = text.find("error message = '"); begin != std::string::npos) {
    text.erase(0, text.find('\'', begin) + 1);
    text.erase(std::min(text.find('\''), text.size()));
  }
  std::ranges::replace(text, '\n', ' ');
  return text.empty() ? "HDF5 gives no reason" : text;
}

/// Returns the descriptor of a file that HDF5's default driver has open; -1 when there is none.
int descriptor_of(hid_t file) {
  void* descriptor = nullptr;
  return H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor) < 0 ? -1 : *static_cast<int*>(descriptor);
}

/// HDF5 keeps open what it could not write, and crashes on it when the library ends, as it does in MPI_Finalize. So
/// what it still holds of this file goes to memory: the file is lost, but can be closed.
void give_up(hid_t file) {
  const int memory = memfd_create("given up", MFD_CLOEXEC);
  if (memory < 0) return;
  dup2(memory, descriptor_of(file));
  close(memory);
}

/// Returns whether that has happened: memory has no name in any folder.
bool given_up(hid_t file) {
  struct stat status = {};
  return fstat(descriptor_of(file), &status) != 0 || status.st_nlink == 0;
}

herr_t close_file(hid_t file) {
  if (H5Fflush(file, H5F_SCOPE_LOCAL) < 0) give_up(file);
  return H5Fclose(file);
}

herr_t close_dataset(hid_t dataset) {
  if (H5Dflush(dataset) < 0) give_up(Handle(H5Iget_file_id(dataset), H5Fclose).id());
  return H5Dclose(dataset);
}

template <class T>
hid_t file_type() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_STD_U8LE;
  if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_STD_U32LE;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_STD_U64LE;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_STD_I64LE;
  if constexpr (std::is_same_v<T, float>) return H5T_IEEE_F32LE;
}

template <class T>
hid_t memory_type() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
  if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_NATIVE_UINT32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
  if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
}

Handle space(std::int64_t count) {
  const auto n = static_cast<hsize_t>(count);
  return {H5Screate_simple(1, &n, nullptr), H5Sclose};
}

Handle open_object(const File& file, const std::string& object) {
  Handle handle(H5Oopen(file.id(), object.c_str(), H5P_DEFAULT), H5Oclose);
  if (handle.id() < 0) file.fail(object, "is missing or damaged (" + cause() + ")");
  return handle;
}

Handle open_attribute(const File& file, const std::string& object, const std::string& name) {
  const Handle owner = open_object(file, object);
  Handle attribute(H5Aopen(owner.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
  if (attribute.id() < 0) file.fail(object, "attribute '" + name + "' is missing or damaged");
  return attribute;
}

void write_attribute_of(const File& file, const std::string& object, const std::string& name, hid_t type,
                        const void* value) {
  const Handle owner = open_object(file, object);
  const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(H5Acreate2(owner.id(), name.c_str(), type, scalar.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (attribute.id() < 0 || H5Awrite(attribute.id(), type, value) < 0)
    file.fail(object, "cannot write attribute '" + name + "' (" + cause() + ")");
}

/// Returns the type in files of the numbers of a row; that in memory is the same on the little-endian machines that we
/// run on.
Handle row_type(RowElement type) {
  if (type == RowElement::int32) return {H5Tcopy(H5T_STD_I32LE), H5Tclose};
  if (type == RowElement::int64) return {H5Tcopy(H5T_STD_I64LE), H5Tclose};
  if (type == RowElement::uint8) return {H5Tcopy(H5T_STD_U8LE), H5Tclose};
  if (type == RowElement::uint32) return {H5Tcopy(H5T_STD_U32LE), H5Tclose};
  Handle handle(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  if (type == RowElement::fp32) return handle;
  const bool half = type == RowElement::fp16;  // else the upper half of fp32
  const std::size_t exponent = half ? 5 : 8, mantissa = 15 - exponent;
  H5Tset_fields(handle.id(), 15, mantissa, exponent, 0, mantissa);
  H5Tset_size(handle.id(), 2);
  H5Tset_ebias(handle.id(), half ? 15 : 127);
  return handle;
}

Handle matrix(std::int64_t rows, std::int64_t elements) {
  const std::array dims{static_cast<hsize_t>(rows), static_cast<hsize_t>(elements)};
  return {H5Screate_simple(2, dims.data(), nullptr), H5Sclose};
}

bool select_rows(const Handle& matrix, std::int64_t first, std::int64_t count, std::int64_t elements) {
  const std::array start{static_cast<hsize_t>(first), hsize_t{0}};
  const std::array size{static_cast<hsize_t>(count), static_cast<hsize_t>(elements)};
  return H5Sselect_hyperslab(matrix.id(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr) >= 0;
}

/// Lets a data set be made together with the groups above it.
Handle with_groups() {
  Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links.id(), 1);
  return links;
}

/// Doubles the percent signs of a name, which would stand for a number of a block.
std::string without_pattern(const std::string& name) {
  std::string text;
  for (const char c : name) text.append(c == '%' ? 2 : 1, c);
  return text;
}

/// Room for one chunk; whatever is read or appended in smaller pieces passes through it once.
Handle access_with_cache() {
  Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  constexpr std::size_t slots = 1;
  constexpr double evict_read_chunks_first = 1.0;
  H5Pset_chunk_cache(access.id(), slots, chunk_bytes, evict_read_chunks_first);
  return access;
}

}  // namespace

bool is_threadsafe() {
  hbool_t safe = false;
  return H5is_library_threadsafe(&safe) >= 0 && safe;
}

void File::fail(const std::string& object, const std::string& what) const {
  throw InputError(path_ + ": " + object + ": " + what);
}

File File::create(const std::string& path) { return create(path, path); }

File File::create(const OutputFile& output) { return create(output.path(), output.target()); }

File File::create(const std::string& path, const std::string& name) {
  quiet();
  if (std::error_code none; std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw InputError(name + ": HDF5 needs a regular file; name another");
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(access.id(), H5F_LIBVER_V110, H5F_LIBVER_LATEST);
  Handle handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), close_file);
  if (handle.id() < 0) throw InputError(name + ": cannot create (" + cause() + ")");
  return {name, std::move(handle)};
}

File File::open(const std::string& path) {
  quiet();
  if (!std::filesystem::exists(path)) throw InputError(path + ": no such file");
  Handle handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (handle.id() < 0) throw InputError(path + ": cannot open as HDF5, truncated or damaged (" + cause() + ")");
  return {path, std::move(handle)};
}

void File::close() {
  const bool flushed = H5Fflush(handle_.id(), H5F_SCOPE_LOCAL) >= 0 && !given_up(handle_.id());
  const std::string why = flushed ? "" : cause();
  handle_ = Handle();
  if (!flushed) fail("/", "cannot write (" + why + ")");
}

void File::begin_write_back() const { sync_file_range(descriptor_of(id()), 0, 0, SYNC_FILE_RANGE_WRITE); }

bool File::exists(const std::string& object) const {
  for (std::size_t end = object.find('/', 1); end != std::string::npos; end = object.find('/', end + 1))
    if (H5Lexists(id(), object.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
  return H5Lexists(id(), object.c_str(), H5P_DEFAULT) > 0;
}

void File::create_group(const std::string& group) {
  const Handle handle(H5Gcreate2(id(), group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (handle.id() < 0) fail(group, "cannot create the group (" + cause() + ")");
}

void File::write_attribute(const std::string& object, const std::string& name, const std::string& value) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), value.size() + 1);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  write_attribute_of(*this, object, name, type.id(), value.c_str());
}

void File::write_attribute(const std::string& object, const std::string& name, std::int64_t value) {
  write_attribute_of(*this, object, name, H5T_STD_I64LE, &value);
}

bool File::has_attribute(const std::string& object, const std::string& name) const {
  return H5Aexists(open_object(*this, object).id(), name.c_str()) > 0;
}

std::string File::read_string(const std::string& object, const std::string& name) const {
  const Handle attribute = open_attribute(*this, object, name);
  const Handle type(H5Aget_type(attribute.id()), H5Tclose);
  const Handle scalar(H5Aget_space(attribute.id()), H5Sclose);
  if (H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) > 0 ||
      H5Sget_simple_extent_npoints(scalar.id()) != 1)
    fail(object, "attribute '" + name + "' is not one string of fixed length");
  std::string value(H5Tget_size(type.id()), '\0');
  if (H5Aread(attribute.id(), type.id(), value.data()) < 0) fail(object, "cannot read attribute '" + name + "'");
  value.resize(std::min(value.find('\0'), value.size()));
  return value;
}

std::int64_t File::read_integer(const std::string& object, const std::string& name) const {
  const Handle attribute = open_attribute(*this, object, name);
  const Handle type(H5Aget_type(attribute.id()), H5Tclose);
  const Handle scalar(H5Aget_space(attribute.id()), H5Sclose);
  std::int64_t value = 0;
  if (H5Tget_class(type.id()) != H5T_INTEGER || H5Sget_simple_extent_npoints(scalar.id()) != 1 ||
      H5Aread(attribute.id(), H5T_NATIVE_INT64, &value) < 0)
    fail(object, "attribute '" + name + "' is not one integer");
  return value;
}

template <class T>
void File::write_array(const std::string& object, std::span<const T> values, const std::vector<std::int64_t>& shape) {
  const std::int64_t cells = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  if (cells != std::ssize(values))
    fail(object,
         "its shape has " + std::to_string(cells) + " elements, " + std::to_string(values.size()) + " were given");
  const std::vector<hsize_t> dims(shape.begin(), shape.end());
  const Handle extent(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
  const Handle dataset(
      H5Dcreate2(id(), object.c_str(), file_type<T>(), extent.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      close_dataset);
  if (dataset.id() < 0) fail(object, "cannot create the data set (" + cause() + ")");
  if (values.empty()) return;
  if (H5Dwrite(dataset.id(), memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0 ||
      H5Dflush(dataset.id()) < 0)
    fail(object, "cannot write (" + cause() + ")");
}

void File::write_view(const std::string& object, RowElement type, std::int64_t rows, std::int64_t elements,
                      std::span<const RowsElsewhere> pieces) {
  const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose), links = with_groups(), whole = matrix(rows, elements);
  bool good = true;
  for (const RowsElsewhere& piece : pieces) {
    const Handle source = matrix(piece.count, elements);
    good = good && select_rows(whole, piece.first, piece.count, elements) &&
           H5Pset_virtual(layout.id(), whole.id(), without_pattern(piece.file).c_str(),
                          without_pattern(piece.object).c_str(), source.id()) >= 0;
  }
  H5Sselect_all(whole.id());
  const Handle dataset(
      H5Dcreate2(id(), object.c_str(), row_type(type).id(), whole.id(), links.id(), layout.id(), H5P_DEFAULT),
      close_dataset);
  if (!good || dataset.id() < 0) fail(object, "cannot create the view (" + cause() + ")");
}

RowData RowData::create(File& file, const std::string& name, RowElement type, std::int64_t rows,
                        std::int64_t elements) {
  const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose), links = with_groups();
  H5Pset_fill_time(layout.id(), H5D_FILL_TIME_NEVER);  // every row is written
  Handle handle(H5Dcreate2(file.id(), name.c_str(), row_type(type).id(), matrix(rows, elements).id(), links.id(),
                           layout.id(), H5P_DEFAULT),
                close_dataset);
  if (handle.id() < 0) file.fail(name, "cannot create the data set (" + cause() + ")");
  return {file, name, type, elements, std::move(handle)};
}

RowData RowData::open(const File& file, const std::string& name, RowElement type, std::int64_t rows,
                      std::int64_t elements) {
  if (!file.exists(name)) file.fail(name, "the data set is missing");
  Handle handle(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (handle.id() < 0) file.fail(name, "the data set cannot be opened (" + cause() + ")");
  const Handle stored(H5Dget_type(handle.id()), H5Tclose), extent(H5Dget_space(handle.id()), H5Sclose);
  if (H5Tequal(stored.id(), row_type(type).id()) <= 0 || H5Sextent_equal(extent.id(), matrix(rows, elements).id()) <= 0)
    file.fail(name, "the data set has another element type or shape");
  return {file, name, type, elements, std::move(handle)};
}

std::pair<Handle, Handle> RowData::select(std::int64_t first, std::size_t bytes) const {
  const auto count = static_cast<std::int64_t>(bytes) / (elements_ * bytes_of(type_));
  std::pair<Handle, Handle> spaces{Handle(H5Dget_space(handle_.id()), H5Sclose), matrix(count, elements_)};
  if (!select_rows(spaces.first, first, count, elements_)) file_->fail(name_, "has no such rows (" + cause() + ")");
  return spaces;
}

void RowData::write(std::int64_t first, std::span<const std::byte> rows) {
  const auto [target, memory] = select(first, rows.size());
  if (H5Dwrite(handle_.id(), row_type(type_).id(), memory.id(), target.id(), H5P_DEFAULT, rows.data()) < 0)
    file_->fail(name_, "cannot write (" + cause() + ")");
}

void RowData::read(std::int64_t first, std::span<std::byte> rows) const {
  const auto [source, memory] = select(first, rows.size());
  if (H5Dread(handle_.id(), row_type(type_).id(), memory.id(), source.id(), H5P_DEFAULT, rows.data()) < 0)
    file_->fail(name_, "cannot be read, truncated or damaged (" + cause() + ")");
}

void RowData::begin_read(std::int64_t first, std::int64_t count) const {
  const haddr_t begin = H5Dget_offset(handle_.id());
  const std::int64_t row = elements_ * bytes_of(type_);
  if (begin != HADDR_UNDEF)
    posix_fadvise(descriptor_of(file_->id()), static_cast<off_t>(begin) + first * row, count * row,
                  POSIX_FADV_WILLNEED);
}

template <class T>
Dataset<T> Dataset<T>::create(File& file, const std::string& name, std::int64_t chunk_elements) {
  const hsize_t none = 0;
  const hsize_t unlimited = H5S_UNLIMITED;
  const auto chunk = static_cast<hsize_t>(chunk_elements);
  const Handle extent(H5Screate_simple(1, &none, &unlimited), H5Sclose);
  const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(layout.id(), 1, &chunk);
  H5Pset_fletcher32(layout.id());
  const Handle access = access_with_cache();
  Handle handle(H5Dcreate2(file.id(), name.c_str(), file_type<T>(), extent.id(), H5P_DEFAULT, layout.id(), access.id()),
                close_dataset);
  if (handle.id() < 0) file.fail(name, "cannot create the data set (" + cause() + ")");
  return {file, name, std::move(handle), 0};
}

template <class T>
Dataset<T> Dataset<T>::open(const File& file, const std::string& name) {
  if (!file.exists(name)) file.fail(name, "the data set is missing");
  const Handle access = access_with_cache();
  Handle handle(H5Dopen2(file.id(), name.c_str(), access.id()), close_dataset);
  if (handle.id() < 0) file.fail(name, "the data set cannot be opened (" + cause() + ")");
  const Handle type(H5Dget_type(handle.id()), H5Tclose);
  const Handle extent(H5Dget_space(handle.id()), H5Sclose);
  if (H5Tequal(type.id(), file_type<T>()) <= 0 || H5Sget_simple_extent_ndims(extent.id()) != 1)
    file.fail(name, "the data set has another element type or is not one-dimensional");
  return {file, name, std::move(handle), static_cast<std::int64_t>(H5Sget_simple_extent_npoints(extent.id()))};
}

template <class T>
void Dataset<T>::append(std::span<const T> values) {
  if (values.empty()) return;
  const auto first = static_cast<hsize_t>(size_);
  const auto count = static_cast<hsize_t>(values.size());
  const hsize_t extent = first + count;
  bool good = H5Dset_extent(handle_.id(), &extent) >= 0;
  const Handle memory = space(std::ssize(values));
  const Handle target(H5Dget_space(handle_.id()), H5Sclose);
  good = good && H5Sselect_hyperslab(target.id(), H5S_SELECT_SET, &first, nullptr, &count, nullptr) >= 0 &&
         H5Dwrite(handle_.id(), memory_type<T>(), memory.id(), target.id(), H5P_DEFAULT, values.data()) >= 0;
  if (!good) file_->fail(name_, "cannot write (" + cause() + ")");
  size_ += std::ssize(values);
}

template <class T>
void Dataset<T>::read(std::int64_t first, std::span<T> values) const {
  if (first < 0 || first + std::ssize(values) > size_)
    file_->fail(name_, "ends at element " + std::to_string(size_) + ", elements [" + std::to_string(first) + ", " +
                           std::to_string(first + std::ssize(values)) + ") were asked for");
  if (values.empty()) return;
  const auto start = static_cast<hsize_t>(first);
  const auto count = static_cast<hsize_t>(values.size());
  const Handle memory = space(std::ssize(values));
  const Handle source(H5Dget_space(handle_.id()), H5Sclose);
  if (H5Sselect_hyperslab(source.id(), H5S_SELECT_SET, &start, nullptr, &count, nullptr) < 0 ||
      H5Dread(handle_.id(), memory_type<T>(), memory.id(), source.id(), H5P_DEFAULT, values.data()) < 0)
    file_->fail(name_, "elements [" + std::to_string(first) + ", " + std::to_string(first + std::ssize(values)) +
                           ") cannot be read, truncated or checksum mismatch (" + cause() + ")");
}

template void File::write_array(const std::string&, std::span<const float>, const std::vector<std::int64_t>&);
template void File::write_array(const std::string&, std::span<const std::int64_t>, const std::vector<std::int64_t>&);
template class Dataset<std::uint8_t>;
template class Dataset<std::uint32_t>;
template class Dataset<std::uint64_t>;
template class Dataset<float>;

}  // namespace shardmark::datasets::hdf5
