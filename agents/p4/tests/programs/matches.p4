// SPDX-License-Identifier: Apache-2.0
// One table of each match kind: the byte `which` says which is applied; its action writes `result`.
#include <core.p4>
#include <v1model.p4>

header in_t {
    bit<8>   which;
    bit<8>   a;
    bit<16>  b;
    bit<32>  c;
    bit<128> d;
    bit<16>  result;
}
struct headers_t {
    in_t req;
    in_t second;
}
struct metadata_t { }

parser ParserImpl(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.req);
        transition select(hdr.req.which) {
            0xff: both;
            default: accept;
        }
    }
    state both {
        packet.extract(hdr.second);
        transition accept;
    }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control IngressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    direct_meter<bit<16>>(MeterType.packets) rate;

    action set(bit<16> value) { hdr.req.result = value; }
    action set_marked(bit<16> value) { hdr.req.c = (bit<32>)value; rate.read(hdr.req.result); }
    action other() { hdr.req.result = 0xeeee; }
    table exact_one { key = { hdr.req.a: exact; } actions = { set; other; NoAction; } size = 4; support_timeout = true; }
    table exact_wide { key = { hdr.req.d: exact; hdr.req.a: exact; } actions = { set; } }
    table by_prefix { key = { hdr.req.b: exact; hdr.req.c: lpm; } actions = { set; } }
    table by_wide_prefix { key = { hdr.req.d: lpm; } actions = { set; } }
    table by_mask { key = { hdr.req.a: ternary; hdr.req.b: exact; hdr.req.c: lpm; } actions = { set; } }
    table by_range { key = { hdr.req.a: range; hdr.req.b: range; hdr.req.c: ternary; } actions = { set; } }
    table by_optional { key = { hdr.req.a: optional; hdr.req.b: optional; } actions = { set; } }
    table by_valid { key = { hdr.second.isValid(): exact; } actions = { set; } }
    table fixed {
        key = { hdr.req.a: ternary; }
        actions = { set; other; }
        const entries = {
            0x10 &&& 0xf0: set(1);
            0x11: set(2);
            _: other();
        }
        const default_action = set(9);
    }
    table marked { key = { hdr.req.a: exact; } actions = { set_marked; } meters = rate; }
    table by_action { key = { hdr.req.a: exact; } actions = { set; other; NoAction; } default_action = NoAction(); }
    apply {
        std.egress_spec = 1;
        if (hdr.req.which == 0) exact_one.apply();
        else if (hdr.req.which == 1) exact_wide.apply();
        else if (hdr.req.which == 2) by_prefix.apply();
        else if (hdr.req.which == 3) by_wide_prefix.apply();
        else if (hdr.req.which == 4) by_mask.apply();
        else if (hdr.req.which == 5) by_range.apply();
        else if (hdr.req.which == 6) by_optional.apply();
        else if (hdr.req.which == 7 || hdr.req.which == 0xff) by_valid.apply();
        else if (hdr.req.which == 8) fixed.apply();
        else if (hdr.req.which == 9) marked.apply();
        else if (hdr.req.which == 10) {
            switch (by_action.apply().action_run) {
                set: { hdr.req.c = 1; }
                other: { hdr.req.c = 2; }
                default: { hdr.req.c = 3; }
            }
        }
    }
}
control EgressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control Update(inout headers_t hdr, inout metadata_t meta) { apply { } }
control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.req);
        packet.emit(hdr.second);
    }
}
V1Switch(ParserImpl(), Verify(), IngressImpl(), EgressImpl(), Update(), DeparserImpl()) main;
