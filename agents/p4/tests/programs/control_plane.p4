// SPDX-License-Identifier: Apache-2.0
// Each kind of entity that P4Runtime can write, in one pipeline, for tests of the service.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

@controller_header("packet_in")
header packet_in_h {
    bit<9> ingress_port;
    bit<7> reason;
}

@controller_header("packet_out")
header packet_out_h {
    bit<9> egress_port;
    bit<1> through_pipeline;
    bit<6> pad;
}

header ethernet_h {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_h {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> length;
    bit<16> id;
    bit<3> flags;
    bit<13> offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    packet_in_h packet_in;
    packet_out_h packet_out;
    ethernet_h ethernet;
    ipv4_h ipv4;
}

struct learned_t {
    bit<48> mac;
    bit<9> port;
}

struct metadata_t {
    bit<16> flow;
    bit<2> colour;
    bit<2> direct_colour;
    learned_t learned;
}

parser TheParser(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    value_set<bit<16>>(4) ip_like;

    state start {
        transition select(s.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }
    state parse_packet_out {
        p.extract(h.packet_out);
        transition parse_ethernet;
    }
    state parse_ethernet {
        p.extract(h.ethernet);
        transition select(h.ethernet.type) {
            0x0800: parse_ipv4;
            ip_like: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        p.extract(h.ipv4);
        transition accept;
    }
}

control NoCheck(inout headers_t h, inout metadata_t m) {
    apply {}
}

control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) route_hits;
    direct_meter<bit<2>>(MeterType.packets) acl_meter;
    counter(512, CounterType.packets) port_packets;
    meter(64, MeterType.bytes) port_meter;
    register<bit<48>>(64) last_source;
    @max_group_size(16)
    action_selector(HashAlgorithm.crc16, 128, 16) spread;
    action_profile(32) hops;

    action drop() {
        mark_to_drop(s);
    }
    action forward(bit<9> port) {
        s.egress_spec = port;
    }
    action route(bit<48> mac, bit<9> port) {
        h.ethernet.dst = mac;
        h.ipv4.ttl = h.ipv4.ttl - 1;
        s.egress_spec = port;
        route_hits.count();
    }
    action flood(bit<16> group) {
        s.mcast_grp = group;
    }
    action to_cpu() {
        s.egress_spec = CPU_PORT;
    }
    action mirror(bit<32> session) {
        clone(CloneType.I2E, session);
    }
    action police() {
        acl_meter.read(m.direct_colour);
    }
    action set_flow(bit<16> flow) {
        m.flow = flow;
    }

    table switching {
        key = { h.ethernet.dst: exact; }
        actions = { forward; flood; to_cpu; drop; }
        default_action = drop();
        size = 65536;
        support_timeout = true;
    }
    table routes {
        key = { h.ipv4.dst: lpm; }
        actions = { route; @defaultonly NoAction; }
        const default_action = NoAction();
        counters = route_hits;
        size = 16384;
    }
    table acl {
        key = {
            h.ipv4.src: ternary;
            h.ipv4.protocol: optional;
            h.ipv4.ttl: range;
        }
        actions = { drop; police; mirror; @defaultonly NoAction; }
        default_action = NoAction();
        meters = acl_meter;
        size = 64;
    }
    table balance {
        key = {
            h.ipv4.dst: exact;
            h.ipv4.src: selector;
        }
        actions = { forward; set_flow; NoAction; }
        implementation = spread;
        size = 64;
    }
    table indirect {
        key = { m.flow: exact; }
        actions = { forward; drop; }
        implementation = hops;
        size = 64;
    }
    table fixed {
        key = { h.ethernet.type: exact; }
        actions = { set_flow; NoAction; }
        const default_action = NoAction();
        const entries = {
            0x88cc: set_flow(1);
            0x0806: set_flow(2);
        }
    }

    apply {
        if (h.packet_out.isValid()) {
            if (h.packet_out.through_pipeline == 0) {
                s.egress_spec = h.packet_out.egress_port;
                h.packet_out.setInvalid();
                exit;
            }
            h.packet_out.setInvalid();
        }
        port_packets.count((bit<32>)s.ingress_port);
        port_meter.execute_meter((bit<32>)(s.ingress_port & 63), m.colour);
        last_source.write((bit<32>)(s.ingress_port & 63), h.ethernet.src);
        m.learned.mac = h.ethernet.src;
        m.learned.port = s.ingress_port;
        digest<learned_t>(1, m.learned);
        fixed.apply();
        switching.apply();
        if (h.ipv4.isValid()) {
            routes.apply();
            balance.apply();
            acl.apply();
        }
        indirect.apply();
    }
}

control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        if (s.egress_port == CPU_PORT) {
            h.packet_in.setValid();
            h.packet_in.ingress_port = s.ingress_port;
            h.packet_in.reason = 5;
        }
    }
}

control Checksum(inout headers_t h, inout metadata_t m) {
    apply {
        update_checksum(h.ipv4.isValid(),
            { h.ipv4.version, h.ipv4.ihl, h.ipv4.tos, h.ipv4.length, h.ipv4.id, h.ipv4.flags, h.ipv4.offset,
              h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst },
            h.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out p, in headers_t h) {
    apply {
        p.emit(h.packet_in);
        p.emit(h.ethernet);
        p.emit(h.ipv4);
    }
}

V1Switch(TheParser(), NoCheck(), MyIngress(), MyEgress(), Checksum(), Deparse()) main;
