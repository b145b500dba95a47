// SPDX-License-Identifier: Apache-2.0
// What becomes of a packet beside being sent: the first byte says what, the second with which number. `mark` is kept in a
// field list, `lost` is not.
#include <core.p4>
#include <v1model.p4>

header in_t {
    bit<8>  what;
    bit<8>  number;
    bit<8>  kind;   // instance type in egress
    bit<8>  mark;
    bit<8>  lost;
    bit<16> port;
    bit<16> rid;
    bit<16> length;
}
struct headers_t { in_t req; }
struct metadata_t {
    @field_list(1) bit<8> mark;
    bit<8> lost;
}
struct sample_t { bit<8> number; bit<16> length; }

parser ParserImpl(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.req);
        transition accept;
    }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control IngressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (std.instance_type == 0) {
            meta.mark = 0xaa;
            meta.lost = 0xbb;
        }
        if (hdr.req.what == 1) clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.req.number, 1);
        else if (hdr.req.what == 3) std.mcast_grp = (bit<16>)hdr.req.number;
        else if (hdr.req.what == 4 && std.instance_type == 0) resubmit_preserving_field_list(1);
        else if (hdr.req.what == 6) digest<sample_t>(1, { hdr.req.number, hdr.req.length });
        else if (hdr.req.what == 7) truncate((bit<32>)hdr.req.number);
        else if (hdr.req.what == 8) mark_to_drop(std);
        else if (hdr.req.what == 10) resubmit_preserving_field_list(1);
        else if (hdr.req.what == 12) assert(hdr.req.number == 1);
        else if (hdr.req.what == 13) log_msg("number {} of {}", { hdr.req.number, hdr.req.what });
        else if (hdr.req.what == 14) {
            std.mcast_grp = 1;
            mark_to_drop(std);
        } else if (hdr.req.what == 15) {
            if (hdr.req.number == 1) exit;
            hdr.req.lost = 0x15;
        }
        // Not in the copies that ingress makes.
        hdr.req.length = 0x1111;
    }
}
control EgressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        hdr.req.kind = (bit<8>)std.instance_type;
        hdr.req.mark = meta.mark;
        if (hdr.req.what != 15) hdr.req.lost = meta.lost;
        hdr.req.port = (bit<16>)std.egress_port;
        hdr.req.rid = std.egress_rid;
        if (hdr.req.what == 2 && std.instance_type == 0) {
            clone_preserving_field_list(CloneType.E2E, (bit<32>)hdr.req.number, 1);
        } else if (hdr.req.what == 5) {
            hdr.req.what = 0;
            recirculate_preserving_field_list(1);
        } else if (hdr.req.what == 9) {
            mark_to_drop(std);
        } else if (hdr.req.what == 11) {
            recirculate_preserving_field_list(1);
        } else if (hdr.req.what == 16) {
            clone_preserving_field_list(CloneType.E2E, (bit<32>)hdr.req.number, 1);
        }
    }
}
control Update(inout headers_t hdr, inout metadata_t meta) { apply { } }
control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.req); }
}
V1Switch(ParserImpl(), Verify(), IngressImpl(), EgressImpl(), Update(), DeparserImpl()) main;
