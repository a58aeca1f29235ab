#include "presets/trace/perfetto_trace.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <protozero/basic_pbf_builder.hpp>
#include <protozero/buffer_fixed.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::presets {

using costmodel::kSpanKinds;
using costmodel::kStreams;
using costmodel::MemoryPoint;
using costmodel::Seconds;
using costmodel::Simulation;
using costmodel::Span;
using costmodel::SpanKind;
using costmodel::StageChunk;
using costmodel::StageTimeline;
using costmodel::Stream;

namespace {

// Fields of Perfetto's messages, by their numbers in protos/perfetto/trace.
using FieldNumber = protozero::pbf_tag_type;
enum class TraceField : FieldNumber { Packet = 1 };
enum class PacketField : FieldNumber {
  Timestamp = 8,
  Sequence = 10,
  TrackEvent = 11,
  InternedData = 12,
  SequenceFlags = 13,
  TrackDescriptor = 60
};
enum class TrackField : FieldNumber {
  Uuid = 1,
  Name = 2,
  Parent = 5,
  Counter = 8,
  ChildOrdering = 11,
  Rank = 12,
  Description = 14
};
enum class CounterField : FieldNumber { Unit = 3, ShareKey = 7 };
enum class EventField : FieldNumber {
  Categories = 3,
  Annotations = 4,
  Type = 9,
  Track = 11,
  Name = 23,
  CounterValue = 30,
  Flows = 47,
  EndingFlows = 48
};
enum class AnnotationField : FieldNumber { NameId = 1, Int = 4, Double = 5, Name = 10 };
enum class InternedField : FieldNumber { Categories = 1, AnnotationNames = 3 };
enum class NameField : FieldNumber { Id = 1, Name = 2 };

template <class Field>
using MessageBuilder = protozero::basic_pbf_builder<protozero::fixed_size_buffer_adaptor, Field>;

// Values of Perfetto's enumerations.
constexpr std::int32_t kSliceBegin = 1, kSliceEnd = 2, kCounterEvent = 4;  // TrackEvent.Type
constexpr std::int32_t kSizeInBytes = 3;                                   // CounterDescriptor.Unit
constexpr std::int32_t kExplicitOrder = 3;                 // TrackDescriptor.ChildTracksOrdering
constexpr std::uint32_t kCleared = 1, kNeedsInterned = 2;  // TracePacket.SequenceFlags

constexpr std::uint64_t kMicrobatchName = 1, kChunkName = 2, kMicrobatchesName = 3;

// Tracks by number: the step, then each stage with one for each stream and counter.
constexpr std::uint64_t kStepTrack = 1;
constexpr std::uint64_t kTracksOfStage = 1 + kStreams + 2;
std::uint64_t stage_track(int stage) {
  return kStepTrack + 1 + static_cast<std::uint64_t>(stage) * kTracksOfStage;
}
std::uint64_t stream_track(int stage, std::size_t stream) {
  return stage_track(stage) + 1 + stream;
}
std::uint64_t allocated_track(int stage) {
  return stage_track(stage) + 1 + kStreams;
}
std::uint64_t activations_track(int stage) {
  return allocated_track(stage) + 1;
}

std::uint64_t whole_nanoseconds(Seconds time) {
  return static_cast<std::uint64_t>(std::llround(time.value() * 1e9));
}

/// Hidden states, or their gradients, that a micro-batch takes from one stage to another.
struct Flows {
  std::optional<std::uint64_t> from, to;  // another stage
};

/// Who waits for whom: names each crossing from one stage's chunk to the next one's.
class Crossings {
 public:
  explicit Crossings(const costmodel::Layout& layout)
      : schedule_{layout.schedule}, stages_{layout.pp}, chunks_{costmodel::chunks_per_stage(layout)} {}

  [[nodiscard]] Flows of(int stage, const Span& span) const {
    if (span.chunk < 0 || span.microbatch < 0) return {};
    const StageChunk at{stage, span.chunk};
    switch (span.kind) {
      case SpanKind::Forward:
        return {.from = behind(before(at), span, false), .to = behind(at, span, false)};
      case SpanKind::Backward:
      case SpanKind::BackwardInput:
        return {.from = behind(at, span, true), .to = behind(before(at), span, true)};
      case SpanKind::SendForward:
        return {.from = {}, .to = behind(at, span, false)};
      case SpanKind::SendBackward:
        return {.from = {}, .to = behind(before(at), span, true)};
      default:
        return {};
    }
  }

 private:
  [[nodiscard]] std::optional<StageChunk> before(StageChunk at) const {
    return costmodel::previous_chunk(schedule_, stages_, at);
  }
  /// Between `at` and the chunk behind it, where that is another stage's.
  [[nodiscard]] std::optional<std::uint64_t> behind(std::optional<StageChunk> at, const Span& span,
                                                    bool backward) const {
    if (!at) return {};
    const auto next = costmodel::next_chunk(schedule_, stages_, chunks_, *at);
    if (!next || next->stage == at->stage) return {};
    const auto place = static_cast<std::uint64_t>(costmodel::chunk_position(schedule_, stages_, *at));
    const auto microbatch = static_cast<std::uint64_t>(span.microbatch);
    return (microbatch << 24U | place << 1U | (backward ? 1U : 0U)) + 1;
  }

  costmodel::ScheduleKind schedule_;
  int stages_, chunks_;
};

}  // namespace

/// Writes the packets of one sequence, in pieces.
class PerfettoTraceWriter::Packets {
 public:
  using Packet = MessageBuilder<PacketField>;
  using Track = MessageBuilder<TrackField>;
  using Event = MessageBuilder<EventField>;

  Packets(const costmodel::Layout& layout, const std::string& title, TraceSink sink)
      : crossings_{layout}, sink_{std::move(sink)}, bytes_(kTracePiece + title.size()), buffer_{bytes_} {
    for (std::size_t i = 0; i < kSpanKinds; ++i) kinds_[i] = name_of(static_cast<SpanKind>(i));
    write_interned_names();
    write_track([&](Track& track) {
      track.add_uint64(TrackField::Uuid, kStepTrack);
      track.add_string(TrackField::Name, title);
      track.add_string(TrackField::Description, kTraceMadeBy.data(), kTraceMadeBy.size());
      track.add_enum(TrackField::ChildOrdering, kExplicitOrder);
    });
  }

  void add(int stage, const StageTimeline& piece) {
    const auto index = static_cast<std::size_t>(stage);
    if (index >= named_.size()) named_.resize(index + 1);
    if (!std::exchange(named_[index].stage, true)) name_stage(stage);
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      if (piece.streams[stream].empty()) continue;
      if (!std::exchange(named_[index].streams[stream], true)) name_stream(stage, stream);
      for (const Span& span : piece.streams[stream]) write_slice(stage, stream_track(stage, stream), span);
    }
    for (const MemoryPoint& point : piece.memory) {
      write_counter(allocated_track(stage), point.at, whole(point.allocated));
      write_counter(activations_track(stage), point.at, whole(point.activations));
    }
  }

  void finish(const Simulation& simulation) {
    write_event(kStepTrack, kSliceBegin, {}, [&](Event& event) {
      event.add_string(EventField::Name, "step");
      annotate(event, "step_seconds", simulation.total.value());
      annotate(event, kMicrobatchesName, simulation.microbatches);
    });
    write_event(kStepTrack, kSliceEnd, simulation.total, [](Event&) {});
    flush();
  }

 private:
  struct Named {
    bool stage = false;
    std::array<bool, kStreams> streams{};
  };

  template <class Fill>
  void write_packet(const Fill& fill) {
    {
      MessageBuilder<TraceField> trace{buffer_};
      Packet packet{trace, TraceField::Packet};
      packet.add_uint32(PacketField::Sequence, 1);
      fill(packet);
    }
    if (buffer_.size() >= kTracePiece - kLongestPacket) flush();
  }
  template <class Fill>
  void write_track(const Fill& fill) {
    write_packet([&](Packet& packet) {
      Track track{packet, PacketField::TrackDescriptor};
      fill(track);
    });
  }
  template <class Fill>
  void write_event(std::uint64_t track, std::int32_t type, Seconds at, const Fill& fill) {
    write_packet([&](Packet& packet) {
      packet.add_uint64(PacketField::Timestamp, whole_nanoseconds(at));
      packet.add_uint32(PacketField::SequenceFlags, kNeedsInterned);
      Event event{packet, PacketField::TrackEvent};
      event.add_enum(EventField::Type, type);
      event.add_uint64(EventField::Track, track);
      fill(event);
    });
  }

  /// Texts that many events name by number.
  void write_interned_names() {
    write_packet([&](Packet& packet) {
      packet.add_uint32(PacketField::SequenceFlags, kCleared);
      MessageBuilder<InternedField> names{packet, PacketField::InternedData};
      const auto intern = [&](InternedField list, std::uint64_t id, std::string_view name) {
        MessageBuilder<NameField> entry{names, list};
        entry.add_uint64(NameField::Id, id);
        entry.add_string(NameField::Name, name.data(), name.size());
      };
      for (std::size_t i = 0; i < kSpanKinds; ++i) intern(InternedField::Categories, i + 1, kinds_[i]);
      intern(InternedField::AnnotationNames, kMicrobatchName, "microbatch");
      intern(InternedField::AnnotationNames, kChunkName, "chunk");
      intern(InternedField::AnnotationNames, kMicrobatchesName, "microbatches");
    });
  }

  void name_stage(int stage) {
    write_track([&](Track& track) {
      track.add_uint64(TrackField::Uuid, stage_track(stage));
      track.add_string(TrackField::Name, fmt::format("stage {}", stage));
      track.add_uint64(TrackField::Parent, kStepTrack);
      track.add_enum(TrackField::ChildOrdering, kExplicitOrder);
      track.add_int32(TrackField::Rank, stage);
    });
    name_counter(stage, allocated_track(stage), "live memory", kStreams);
    name_counter(stage, activations_track(stage), "activations kept", kStreams + 1);
  }
  void name_stream(int stage, std::size_t stream) {
    write_track([&](Track& track) {
      track.add_uint64(TrackField::Uuid, stream_track(stage, stream));
      const std::string_view name = name_of(static_cast<Stream>(stream));
      track.add_string(TrackField::Name, name.data(), name.size());
      track.add_uint64(TrackField::Parent, stage_track(stage));
      track.add_int32(TrackField::Rank, static_cast<std::int32_t>(stream));
    });
  }
  void name_counter(int stage, std::uint64_t number, const char* name, std::int32_t rank) {
    write_track([&](Track& track) {
      track.add_uint64(TrackField::Uuid, number);
      track.add_string(TrackField::Name, name);
      track.add_uint64(TrackField::Parent, stage_track(stage));
      {
        MessageBuilder<CounterField> counter{track, TrackField::Counter};
        counter.add_enum(CounterField::Unit, kSizeInBytes);
        counter.add_string(CounterField::ShareKey, "bytes");
      }
      track.add_int32(TrackField::Rank, rank);
    });
  }

  void write_slice(int stage, std::uint64_t track, const Span& span) {
    const auto kind = static_cast<std::size_t>(span.kind);
    write_event(track, kSliceBegin, span.begin, [&](Event& event) {
      event.add_uint64(EventField::Categories, kind + 1);
      if (span.microbatch >= 0) {
        annotate(event, kMicrobatchName, span.microbatch);
        name_.assign(kinds_[kind]);
        name_ += ' ';
        name_ += fmt::format_int{span.microbatch}.c_str();
        event.add_string(EventField::Name, name_);
      } else {
        event.add_string(EventField::Name, kinds_[kind].data(), kinds_[kind].size());
      }
      if (span.chunk >= 0) annotate(event, kChunkName, span.chunk);
      const Flows flows = crossings_.of(stage, span);
      if (flows.to) event.add_fixed64(EventField::Flows, *flows.to);
      if (flows.from) event.add_fixed64(EventField::EndingFlows, *flows.from);
    });
    write_event(track, kSliceEnd, span.end, [](Event&) {});
  }
  void write_counter(std::uint64_t track, Seconds at, std::int64_t value) {
    write_event(track, kCounterEvent, at,
                [&](Event& event) { event.add_int64(EventField::CounterValue, value); });
  }

  static void annotate(Event& event, std::uint64_t name, std::int64_t value) {
    MessageBuilder<AnnotationField> annotation{event, EventField::Annotations};
    annotation.add_uint64(AnnotationField::NameId, name);
    annotation.add_int64(AnnotationField::Int, value);
  }
  static void annotate(Event& event, const char* name, double value) {
    MessageBuilder<AnnotationField> annotation{event, EventField::Annotations};
    annotation.add_string(AnnotationField::Name, name);
    annotation.add_double(AnnotationField::Double, value);
  }

  void flush() {
    for (std::string_view rest{buffer_.data(), buffer_.size()}; !rest.empty();) {
      const std::string_view piece = rest.substr(0, kTracePiece);
      sink_(piece);
      rest.remove_prefix(piece.size());
    }
    buffer_ = protozero::fixed_size_buffer_adaptor{bytes_};
  }

  static constexpr std::size_t kLongestPacket = 1 << 10;  // of those that come in numbers
  Crossings crossings_;
  TraceSink sink_;
  std::vector<char> bytes_;  // room for a title of any length
  protozero::fixed_size_buffer_adaptor buffer_;
  std::string name_;
  std::array<std::string_view, kSpanKinds> kinds_;
  std::vector<Named> named_;  // by stage
};

PerfettoTraceWriter::PerfettoTraceWriter(const costmodel::Layout& layout, const std::string& title,
                                         TraceSink sink)
    : packets_{std::make_unique<Packets>(layout, title, std::move(sink))} {}
PerfettoTraceWriter::~PerfettoTraceWriter() = default;

void PerfettoTraceWriter::add(int stage, const StageTimeline& piece) {
  packets_->add(stage, piece);
}

void PerfettoTraceWriter::finish(const Simulation& simulation) {
  packets_->finish(simulation);
}

}  // namespace hexaplan::presets
