// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/task_stack.hpp"

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace shardmark::comm {
namespace {

constexpr std::size_t stack_bytes = std::size_t{4} << 20;  // of which a task touches what it needs

/// Announces a switch to the stack [bottom, bottom + bytes). `fake` is where the sanitizer keeps what it has of the
/// stack that is left; null where that stack ends.
void begin_switch([[maybe_unused]] void** fake, [[maybe_unused]] const void* bottom,
                  [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(fake, bottom, bytes);
#endif
}

/// Ends a switch, on the stack that was entered. `bottom` and `bytes` receive the stack that was left.
void end_switch([[maybe_unused]] void* fake, [[maybe_unused]] const void** bottom,
                [[maybe_unused]] std::size_t* bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, bottom, bytes);
#endif
}

}  // namespace

TaskStack::TaskStack() : stack_(std::make_unique_for_overwrite<std::byte[]>(stack_bytes)) {}

TaskStack::~TaskStack() {
#if defined(__SANITIZE_THREAD__)
  if (fiber_inside_ != nullptr) __tsan_destroy_fiber(fiber_inside_);
#endif
}

void TaskStack::start(void (*function)(void*), void* argument) {
  function_ = function;
  argument_ = argument;
  fake_inside_ = nullptr;
#if defined(__SANITIZE_THREAD__)
  if (fiber_inside_ != nullptr) __tsan_destroy_fiber(fiber_inside_);
  fiber_inside_ = __tsan_create_fiber(0);
#endif
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_.get();
  inside_.uc_stack.ss_size = stack_bytes;
  inside_.uc_link = nullptr;  // run() does not return
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&inside_, reinterpret_cast<void (*)()>(&TaskStack::run), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
}

void TaskStack::run(unsigned high, unsigned low) {
  auto& self = *reinterpret_cast<TaskStack*>(static_cast<std::uintptr_t>(high) << 32 | low);
  self.arrive();
  self.function_(self.argument_);
  self.depart(true);
}

void TaskStack::enter() {
#if defined(__SANITIZE_THREAD__)
  fiber_outside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber_inside_, 0);
#endif
  begin_switch(&fake_outside_, stack_.get(), stack_bytes);
  swapcontext(&outside_, &inside_);
  end_switch(fake_outside_, nullptr, nullptr);
}

void TaskStack::arrive() { end_switch(fake_inside_, &outside_bottom_, &outside_bytes_); }

void TaskStack::depart(bool ends) {
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(fiber_outside_, 0);
#endif
  begin_switch(ends ? nullptr : &fake_inside_, outside_bottom_, outside_bytes_);
  swapcontext(&inside_, &outside_);
}

void TaskStack::leave() {
  depart(false);
  arrive();
}

}  // namespace shardmark::comm
