// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace shardmark {

/// The folders of the control groups (version 2) that this process is in, from the innermost to the root: a limit of
/// any of them holds. Of version 1 those of `controller` follow: cpu, memory.
std::vector<std::filesystem::path> control_groups(const char* controller);

/// Bytes that processes may still take on this node: what the kernel calls available, or what the tightest of the
/// control groups leaves. File pages that it can drop do not count as taken.
std::int64_t memory_available();

}  // namespace shardmark
