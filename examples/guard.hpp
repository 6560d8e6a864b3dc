// guard.hpp: a lock as C++ users know them, for copying; guard.cpp shows its use. C++11 to C++20.
//
//   redlock_guard guard(&client, "invoice:42", 10000, 3000);
//   if (!guard) return guard.status();
//   while (guard && work()) {} // this lock can run out: ask it again
//
// It moves as std::unique_lock does, and releases where its scope ends. std::lock_guard does not
// fit: it cannot say that there is no lock, or that it is lost.
#ifndef REDLOCK_GUARD_HPP
#define REDLOCK_GUARD_HPP

#include "redlock.h"

#include <memory>
#include <utility>

class redlock_guard {
public:
  redlock_guard() noexcept : client_(nullptr), refusal_(REDLOCK_INVALID) {} // holds nothing

  // Waits for up to wait_ms. The client must outlive the guard, and both belong to one thread.
  redlock_guard(redlock *client, const char *resource, uint32_t ttl_ms, uint32_t wait_ms)
      : client_(client), refusal_(REDLOCK_INVALID), lock_(new redlock_lock()) {
    redlock_status status = redlock_acquire(client, lock_.get(), resource, ttl_ms, wait_ms);
    if (status == REDLOCK_OK) return;
    refusal_ = status;
    lock_.reset();
  }

  redlock_guard(redlock_guard &&) = default;
  redlock_guard &operator=(redlock_guard from) noexcept { // what it held is released with `from`
    std::swap(client_, from.client_);
    std::swap(refusal_, from.refusal_);
    lock_.swap(from.lock_);
    return *this;
  }
  // Swallows EXPIRED: to know whether all of the work was done under the lock, call release().
  ~redlock_guard() {
    if (lock_) release(); // else redlock_server_error(client, -1) would no longer say what it did
  }

  // Whether it is held now, and for how much longer.
  explicit operator bool() const noexcept { return remaining_ms() > 0; }
  int64_t remaining_ms() const noexcept { return redlock_remaining_ms(client_, lock_.get()); }

  // How the acquire, the keeping or the release ended; EXPIRED when the lock's time is over;
  // INVALID if there is no lock. Why an extension failed, extend alone says.
  redlock_status status() const noexcept {
    if (!lock_) return refusal_;
    const bool is_over = lock_->operation != REDLOCK_RELEASE && !*this;
    return lock_->status == REDLOCK_OK && is_over ? REDLOCK_EXPIRED : lock_->status;
  }

  redlock_status extend(uint32_t ttl_ms) noexcept {
    return redlock_extend(client_, lock_.get(), ttl_ms);
  }

  // Before the scope ends: what std::unique_lock calls unlock(). (Its own release() forgets the
  // mutex, and leaves it locked.) EXPIRED: the work took longer than the lock was ours.
  redlock_status release() noexcept { return redlock_release(client_, lock_.get()); }

  redlock_lock *get() const noexcept { return lock_.get(); } // for redlock_keep, and its token

private:
  redlock *client_;
  redlock_status refusal_; // of the constructor's call; INVALID if it was not refused
  std::unique_ptr<redlock_lock> lock_; // on the heap, for a lock that is kept must not move
};

#endif
