// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <memory>

namespace shardmark::comm {

/// A TaskStack is a stack of its own on which a function runs on the thread that enters it; the function can leave the
/// stack and be entered again where it left (POSIX contexts). The address and the thread sanitizer are told of each
/// switch, so that both may run over programs that use it.
class TaskStack {
 public:
  TaskStack();
  ~TaskStack();
  TaskStack(const TaskStack&) = delete;
  TaskStack& operator=(const TaskStack&) = delete;

  /// Makes the next enter() call function(argument) from its beginning. The function must not throw; where it returns
  /// enter() does.
  void start(void (*function)(void*), void* argument);

  /// Goes on with the function; returns when it leaves or ends. Always by the same thread.
  void enter();

  /// Returns from enter(); for the function itself.
  void leave();

 private:
  static void run(unsigned high, unsigned low);
  void arrive();
  void depart(bool ends);

  std::unique_ptr<std::byte[]> stack_;
  ucontext_t inside_{}, outside_{};
  void (*function_)(void*) = nullptr;
  void* argument_ = nullptr;

  // What sanitizers know of both sides.
  void *fake_inside_ = nullptr, *fake_outside_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_bytes_ = 0;
  void *fiber_inside_ = nullptr, *fiber_outside_ = nullptr;
};

}  // namespace shardmark::comm
