// Strangers at an encrypted port that shake hands with keys and then say the names of others: with
// the key of a member of the mesh, which is that of another name, and with one that nobody knows.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "src/link/zmq_socket.h"
#include "tests/link/target.h"

namespace kimesh::test {

class KeyedThieves {
 public:
  explicit KeyedThieves(const Target& target) : target_(target) {
    const CurvePair outsider = make_curve_pair();
    for (std::size_t i = 0; i < kThieves; ++i)
      thieves_[i] = {i % 2 == 0 ? "n1" : "n3", i % 4 < 2 ? target.member : outsider, {}, 0};
  }
  // Each goes on as far as it gets without waiting; so many of them have connected anew.
  int step() {
    int connected = 0;
    for (Thief& thief : thieves_) {
      if (thief.socket && !has_ended(thief)) continue;
      connect(thief);
      ++connected;
    }
    return connected;
  }

 private:
  static constexpr std::size_t kThieves = 8;
  static constexpr int kStepsMax = 300;  // of one that is not answered
  struct Thief {
    std::string name;
    CurvePair own;
    ZmqSocket socket;
    int steps = 0;
  };

  void connect(Thief& thief) {
    thief.socket.close();
    thief.socket = ZmqSocket(zmq_, ZMQ_DEALER);
    thief.socket.dial_curve(thief.own, target_.key);
    static_cast<void>(thief.socket.connect(target_.endpoint));
    thief.steps = 0;
  }
  // Says its words once its key is taken. True: it was answered, or turned away.
  static bool has_ended(Thief& thief) {
    bool ended = ++thief.steps > kStepsMax;
    while (const auto event = thief.socket.next_monitor_event()) {
      if (event->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) speak(thief);
      ended = ended || event->event == ZMQ_EVENT_DISCONNECTED ||
              event->event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    }
    ZmqPart answer;
    return thief.socket.receive(answer) || ended;
  }
  static void speak(Thief& thief) {
    Hello hello;
    hello.from = thief.name;
    hello.to = "n0";
    hello.incarnation = 1;
    for (const Frame& frame :
         {Frame(hello), Frame(Halt{thief.name, HaltKind::kFailure, "die"}), Frame(Bye{thief.name})})
      static_cast<void>(thief.socket.send({encode_frame(frame)}));
  }

  const Target target_;
  ZmqContext zmq_{16 * kThieves, std::chrono::seconds(15), std::chrono::milliseconds(200)};
  std::array<Thief, kThieves> thieves_;
};

}  // namespace kimesh::test
