// sharing.c in C++: two processes and one GPU. The producer fills memory, the consumer sums it without a copy through the host; an event of
// both says when it is filled.
#include <cushim.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::size_t count = 1 << 16;

// What the consumer needs, beside the file of the pool.
struct parcel {
  cushim::descriptor pool, memory, filled;
};

void need(bool holds, const char *what) {
  if (holds) return;
  std::perror(what);
  std::exit(1);
}

// A message of one part, with room for one file.
struct message {
  iovec part{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};

  explicit message(parcel &parcel) {
    part.iov_base = &parcel;
    part.iov_len = sizeof parcel;
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
};

void send_parcel(int socket, parcel parcel, int file) {
  message message(parcel);
  cmsghdr *const right = CMSG_FIRSTHDR(&message.header);
  right->cmsg_level = SOL_SOCKET;
  right->cmsg_type = SCM_RIGHTS;
  right->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(right), &file, sizeof file);
  need(sendmsg(socket, &message.header, 0) == static_cast<ssize_t>(sizeof parcel), "sendmsg");
}

int receive_parcel(int socket, parcel &parcel) {
  message message(parcel);
  int file = -1;
  need(recvmsg(socket, &message.header, MSG_WAITALL) == static_cast<ssize_t>(sizeof parcel), "recvmsg");
  const cmsghdr *const right = CMSG_FIRSTHDR(&message.header);
  if (right != nullptr && right->cmsg_type == SCM_RIGHTS) std::memcpy(&file, CMSG_DATA(right), sizeof file);
  return file;
}

void produce(int socket) {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  const cushim::stream stream{context};
  cushim::device_pool_options pool_options;
  pool_options.choice = CUSHIM_POOL_OWN;
  pool_options.handle_types = 1; // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
  const cushim::resource pool = cushim::resource::device_pool(device, pool_options);
  const cushim::buffer memory = pool.allocate(stream, count * sizeof(std::uint32_t));
  cushim::event_options event_options;
  event_options.interprocess = true;
  const cushim::event filled = cushim::event::create(context, event_options);

  // Recorded before the message: an event that was not recorded yet is waited for by nobody.
  stream.fill<std::uint32_t>(memory, 3);
  filled.record(stream);

  const cushim::exported_pool exported = pool.export_descriptor();
  send_parcel(socket, {exported.bytes, memory.export_descriptor(), filled.export_descriptor()}, exported.file);
  close(exported.file);

  // The memory is not freed before the consumer has let it go.
  char done;
  need(read(socket, &done, 1) == 1, "read");
}

void consume(int socket) {
  {
    const cushim::driver driver = cushim::driver::open();
    const cushim::device_ref device = driver.get_device(0);
    const cushim::context context = cushim::context::retain_primary(device);
    const cushim::stream stream{context};
    parcel parcel;
    const int file = receive_parcel(socket, parcel);
    const cushim::resource pool = cushim::resource::from_descriptor(device, parcel.pool, file);
    close(file);
    std::vector<std::uint32_t> numbers(count);
    {
      const cushim::buffer memory = cushim::buffer::from_descriptor(pool, stream, parcel.memory);
      const cushim::event filled = cushim::event::from_descriptor(context, parcel.filled);
      stream.wait(filled);
      stream.copy(numbers, memory);
    }
    stream.sync();
    std::printf("the sum of what the other process wrote: %llu\n",
                std::accumulate(numbers.begin(), numbers.end(), 0ull));
  }
  need(write(socket, "", 1) == 1, "write");
}

} // namespace

int main() {
  int sockets[2], status = 0;
  need(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
  // Before CUDA is used in either process: a child that is made later cannot use it.
  const pid_t child = fork();
  need(child >= 0, "fork");
  try {
    if (child == 0) {
      close(sockets[0]);
      produce(sockets[1]);
      return 0;
    }
    close(sockets[1]);
    consume(sockets[0]);
  } catch (const cushim::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  need(waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
