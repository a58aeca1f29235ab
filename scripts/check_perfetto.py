#!/usr/bin/env python3
"""usage: check_perfetto.py HEXAPLAN

Reads binary traces of `hexaplan simulate --trace x.pftrace` with Perfetto's own schema (pip install perfetto protobuf):
no field may be unknown to it, every event lies on a track that is described, slices of a track close before the next one
opens, and every arrow goes from a pass over its message to a pass of another stage, forward in time.
"""

import collections
import pathlib
import subprocess
import sys
import tempfile

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

QUESTION = "--model llama-3.1-8b --cluster 32xh100 --seq 8k --global-batch 64 --micro-batch 1"
LAYOUTS = [("tp2 pp4 sp zero1", schedule) for schedule in ("gpipe", "1f1b", "zb-h1", "zb-2p", "zb-v", "vhalf", "dualpipe", "dualpipev")]
LAYOUTS += [("tp2 pp4 vpp2 sp zero1", "interleaved"), ("tp4 dp8 sp zero3", "1f1b")]
EVENT = perfetto.TrackEvent


def check(trace: perfetto.Trace) -> str:
    # What the schema does not know is not written out again as known fields: the sizes would differ.
    known = perfetto.Trace()
    known.CopyFrom(trace)
    known.DiscardUnknownFields()
    assert known.ByteSize() == trace.ByteSize(), "a field that the schema does not have"

    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    opened, arrows, slices = {}, collections.defaultdict(list), 0
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        assert event.track_uuid in tracks, event
        if event.type == EVENT.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in opened, (opened[event.track_uuid], event)
            opened[event.track_uuid] = packet.timestamp
            slices += 1
            for last, flows in ((False, event.flow_ids), (True, event.terminating_flow_ids)):
                for flow in flows:
                    arrows[flow].append((packet.timestamp, last, tracks[event.track_uuid].parent_uuid))
        elif event.type == EVENT.TYPE_SLICE_END:
            assert opened.pop(event.track_uuid) <= packet.timestamp, event
        else:
            assert event.type == EVENT.TYPE_COUNTER and tracks[event.track_uuid].HasField("counter"), event
    assert not opened, opened
    for flow, steps in arrows.items():
        # The order of the file is that of the passes of one stage, not of all.
        ends = [step for step in sorted(steps) if step[1]]
        assert len(steps) == 3 and len(ends) == 1 and ends[0] == max(steps), (flow, steps)
        assert len({stage for _, _, stage in steps}) == 2, (flow, steps)
    return f"{slices} slices, {len(arrows)} arrows"


def main() -> None:
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        for layout, schedule in LAYOUTS:
            path = pathlib.Path(folder) / "step.pftrace"
            subprocess.run([program, "simulate", *QUESTION.split(), "--layout", layout, "--schedule", schedule, "--quiet", "--trace", path],
                           check=True, stdout=subprocess.DEVNULL)
            trace = perfetto.Trace()
            trace.ParseFromString(path.read_bytes())
            print(f"{layout}, {schedule}: {check(trace)}")


if __name__ == "__main__":
    main()
