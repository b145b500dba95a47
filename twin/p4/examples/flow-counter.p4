// SPDX-License-Identifier: Apache-2.0
// Forwards IPv4 by exact destination and measures what passes: packets that an entry of `watch` takes are counted by class in
// the counter `classes`; registers have packets and bytes of each flow, at the hash of its addresses, protocol and ports.

#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<32> ipv4_addr_t;
typedef bit<9> port_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
const bit<32> FLOWS = 1024;

header ethernet_t {
    mac_t dst;
    mac_t src;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> diffserv;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    ipv4_addr_t src_addr;
    ipv4_addr_t dst_addr;
}

header ports_t {
    bit<16> src;
    bit<16> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct metadata_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> flow;
}

parser FlowParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        meta.src_port = 0;
        meta.dst_port = 0;
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): ports;
            (5, 0, PROTOCOL_UDP): ports;
            default: accept;
        }
    }
    state ports {
        packet.extract(hdr.ports);
        meta.src_port = hdr.ports.src;
        meta.dst_port = hdr.ports.dst;
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Measure(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(256, CounterType.packets_and_bytes) classes;
    register<bit<32>>(FLOWS) flow_packets;
    register<bit<64>>(FLOWS) flow_bytes;

    action forward(mac_t next_hop, port_t port) {
        hdr.ethernet.dst = next_hop;
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table hosts {
        key = { hdr.ipv4.dst_addr: exact @name("dst_addr"); }
        actions = { forward; drop; }
        default_action = drop();
        size = 1024;
    }

    action count_as(bit<8> class) {
        classes.count((bit<32>) class);
    }

    table watch {
        key = {
            hdr.ipv4.src_addr: ternary @name("src_addr");
            hdr.ipv4.protocol: optional @name("protocol");
            meta.dst_port: range @name("dst_port");
        }
        actions = { count_as; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    apply {
        if (!hdr.ipv4.isValid()) {
            mark_to_drop(standard);
            return;
        }
        watch.apply();
        hash(meta.flow, HashAlgorithm.crc32, (bit<32>) 0,
            { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, meta.src_port, meta.dst_port }, FLOWS);
        bit<32> packets;
        bit<64> bytes;
        flow_packets.read(packets, meta.flow);
        flow_packets.write(meta.flow, packets + 1);
        flow_bytes.read(bytes, meta.flow);
        flow_bytes.write(meta.flow, bytes + (bit<64>) standard.packet_length);
        hosts.apply();
    }
}

control Departure(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control FlowDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(FlowParser(), Verify(), Measure(), Departure(), Compute(), FlowDeparser()) main;
