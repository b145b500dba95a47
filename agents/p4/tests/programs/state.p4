// SPDX-License-Identifier: Apache-2.0
// Registers, counters, meters, hashes, chance, action profiles and selectors: the first byte says which.
#include <core.p4>
#include <v1model.p4>

header in_t {
    bit<8>  what;
    bit<8>  index;
    bit<32> value;
    bit<32> result;
}
struct headers_t { in_t req; }
struct metadata_t { bit<100> wide; }

parser ParserImpl(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.req);
        transition accept;
    }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control IngressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<32>>(8) cells;
    register<bit<100>>(4) wide_cells;
    counter(8, CounterType.packets_and_bytes) counts;
    meter(4, MeterType.packets) packet_rate;
    meter(4, MeterType.bytes) byte_rate;
    action_profile(4) profile;
    action_selector(HashAlgorithm.crc16, 8, 16) selector;

    action set(bit<32> value) { hdr.req.result = value; }
    table by_profile {
        key = { hdr.req.index: exact; }
        actions = { set; NoAction; }
        implementation = profile;
    }
    table by_selector {
        key = { hdr.req.index: exact; hdr.req.value: selector; }
        actions = { set; NoAction; }
        implementation = selector;
    }
    apply {
        std.egress_spec = 1;
        if (hdr.req.what == 0) {
            cells.read(hdr.req.result, (bit<32>)hdr.req.index);
            cells.write((bit<32>)hdr.req.index, hdr.req.value);
        } else if (hdr.req.what == 1) {
            wide_cells.read(meta.wide, (bit<32>)hdr.req.index);
            hdr.req.result = meta.wide[99:68];
            wide_cells.write((bit<32>)hdr.req.index, hdr.req.value ++ 68w5);
        } else if (hdr.req.what == 2) counts.count((bit<32>)hdr.req.index);
        else if (hdr.req.what == 3) packet_rate.execute_meter((bit<32>)hdr.req.index, hdr.req.result);
        else if (hdr.req.what == 4) byte_rate.execute_meter((bit<32>)hdr.req.index, hdr.req.result);
        else if (hdr.req.what == 5) hash(hdr.req.result, HashAlgorithm.crc16, 32w0, { hdr.req.value, hdr.req.index }, 64w0x100000000);
        else if (hdr.req.what == 6) hash(hdr.req.result, HashAlgorithm.crc32, 32w0, { hdr.req.value, hdr.req.index }, 64w0x100000000);
        else if (hdr.req.what == 7) hash(hdr.req.result, HashAlgorithm.csum16, 32w0, { hdr.req.value }, 64w0x100000000);
        else if (hdr.req.what == 8) hash(hdr.req.result, HashAlgorithm.xor16, 32w0, { hdr.req.value }, 64w0x100000000);
        else if (hdr.req.what == 9) hash(hdr.req.result, HashAlgorithm.identity, 32w7, { hdr.req.value }, 64w1000);
        else if (hdr.req.what == 10) hash(hdr.req.result, HashAlgorithm.crc16_custom, 32w0, { hdr.req.value }, 64w0x100000000);
        else if (hdr.req.what == 11) hash(hdr.req.result, HashAlgorithm.crc32_custom, 32w0, { hdr.req.value }, 64w0x100000000);
        else if (hdr.req.what == 12) random(hdr.req.result, 32w10, hdr.req.value);
        else if (hdr.req.what == 13) by_profile.apply();
        else if (hdr.req.what == 14) by_selector.apply();
        else if (hdr.req.what == 15) hash(hdr.req.result, HashAlgorithm.crc16, 32w3, { hdr.req.value }, 64w0);
    }
}
control EgressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control Update(inout headers_t hdr, inout metadata_t meta) { apply { } }
control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.req); }
}
V1Switch(ParserImpl(), Verify(), IngressImpl(), EgressImpl(), Update(), DeparserImpl()) main;
