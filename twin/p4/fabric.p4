// SPDX-License-Identifier: Apache-2.0
// The fabric of Orrery for P4 switches (v1model): the tables of a `SwitchSpec`, in the order in which a packet passes them.
// A table miss drops the packet. Packets in transit to a hop carry its tag as their destination address (MAC chaining).
#include <core.p4>
#include <v1model.p4>

typedef bit<9> port_t;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<8> PROTO_TCP = 6;
const bit<8> PROTO_UDP = 17;

// Where a packet of a class with NFs is next.
const bit<3> ONWARD = 4;
const bit<2> RED = 2;
const bit<32> METERS = 1024;

// Places for stamps of packets that are in their chains; a stamp that nothing takes is written over.
const bit<32> STAMPS = 4096;
const bit<32> STAMPED_CLASSES = 64;
const bit<32> LATENCY_STEPS = 32;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  header_words;
    bit<8>  service;
    bit<16> total_bytes;
    bit<16> id;
    bit<1>  reserved;
    bit<1>  dont_fragment;
    bit<1>  more_fragments;
    bit<13> fragment_offset;
    bit<8>  ttl;
    bit<8>  proto;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header ipv4_options_t {
    varbit<320> options;
}

header ipv6_t {
    bit<32>  version_class_label;
    bit<16>  payload_bytes;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src;
    bit<128> dst;
}

header ports_t {
    bit<16> src;
    bit<16> dst;
}

struct headers_t {
    ethernet_t     ethernet;
    ipv4_t         ipv4;
    ipv4_options_t ipv4_options;
    ipv6_t         ipv6;
    ports_t        ports;
}

// Fields of the packet that entries match. Those that it lacks are 0: its ports, of every fragment. NFs also see the ports that
// a first fragment carries.
struct fields_t {
    bit<32> ip_src;
    bit<32> ip_dst;
    bit<8>  ip_proto;
    bit<1>  ip_fragment;
    bit<16> port_src;
    bit<16> port_dst;
    bit<1>  ip_later;
    bit<16> carried_src;
    bit<16> carried_dst;
    bit<1>  from_host;
    bit<64> hash;
    bit<64> rest;
    bit<32> kept_src;
    bit<32> kept_dst;
    bit<8>  kept_proto;
    bit<16> flow_id;
    bit<32> split;
    bit<16> nfs;
    bit<2>  colour;
    bit<32> rate;
    bit<32> packet;
    bit<48> since;
    bit<32> step;
    bit<32> stamped;
    // What is yet to be done.
    bool    to_steer;
    bool    to_split;
    bool    to_keep;
    bool    to_route;
    bool    to_return;
    bit<3>  stage;
}

// To the agent: the first packet of a flow that is to stay where the ranges of its split send it.
struct new_flow_t {
    bit<32> split;
    bit<16> flow_id;
    bit<32> ip_src;
    bit<32> ip_dst;
    bit<8>  ip_proto;
    bit<48> mac;
    port_t  port;
}

parser ParseFrame(packet_in packet, out headers_t hdr, inout fields_t fields, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.header_words) {
            (4, 5): addresses;
            (4, 6 .. 15): options;
            default: accept;
        }
    }

    state options {
        packet.extract(hdr.ipv4_options, ((bit<32>) hdr.ipv4.header_words - 5) << 5);
        transition addresses;
    }

    state addresses {
        fields.ip_src = hdr.ipv4.src;
        fields.ip_dst = hdr.ipv4.dst;
        fields.ip_proto = hdr.ipv4.proto;
        transition select(hdr.ipv4.more_fragments, hdr.ipv4.fragment_offset, hdr.ipv4.proto) {
            (0, 0, PROTO_TCP): ports;
            (0, 0, PROTO_UDP): ports;
            (0, 0, _): accept;
            (_, 0, PROTO_TCP): first_fragment;
            (_, 0, PROTO_UDP): first_fragment;
            (_, 0, _): fragment;
            default: later_fragment;
        }
    }

    state fragment {
        fields.ip_fragment = 1;
        transition accept;
    }

    state later_fragment {
        fields.ip_fragment = 1;
        fields.ip_later = 1;
        transition accept;
    }

    state first_fragment {
        fields.ip_fragment = 1;
        packet.extract(hdr.ports);
        fields.carried_src = hdr.ports.src;
        fields.carried_dst = hdr.ports.dst;
        transition accept;
    }

    state ports {
        packet.extract(hdr.ports);
        fields.port_src = hdr.ports.src;
        fields.port_dst = hdr.ports.dst;
        fields.carried_src = hdr.ports.src;
        fields.carried_dst = hdr.ports.dst;
        transition accept;
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        transition accept;
    }
}

control VerifyChecksums(inout headers_t hdr, inout fields_t fields) {
    apply { }
}

// The finalizer of splitmix64. Each step is a table of its own: in one action the compiler would put the expression of
// every step into the next, twice.
control Mix(inout bit<64> x) {
    action fold_30() {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    }

    action fold_27() {
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    }

    action fold_31() {
        x = x ^ (x >> 31);
    }

    @hidden table step_1 { actions = { fold_30; } const default_action = fold_30(); }
    @hidden table step_2 { actions = { fold_27; } const default_action = fold_27(); }
    @hidden table step_3 { actions = { fold_31; } const default_action = fold_31(); }

    apply {
        step_1.apply();
        step_2.apply();
        step_3.apply();
    }
}

// The time between a packet of a class and the same packet out of its chain, counted in steps of half an octave. A packet is
// known by its addresses, ports and identification: one whose addresses or ports an NF rewrites is not known again.
control Stamp(inout headers_t hdr, inout fields_t fields, inout standard_metadata_t standard) {
    register<bit<32>>(STAMPS) stamp_packet;
    register<bit<48>>(STAMPS) stamp_us;
    register<bit<32>>(STAMPS) stamp_class;
    counter(STAMPED_CLASSES * LATENCY_STEPS, CounterType.packets) latencies;
    bit<32> slot;
    bit<32> held;

    action stamp(bit<32> number) {
        stamp_packet.write(slot, fields.packet);
        stamp_us.write(slot, standard.ingress_global_timestamp);
        stamp_class.write(slot, number);
    }

    action step(bit<32> number) {
        fields.step = number;
    }

    table stamps {
        key = {
            standard.ingress_port: ternary @name("port");
            fields.from_host: ternary @name("from_host");
            hdr.ethernet.ether_type: ternary @name("eth_type");
            fields.ip_src: ternary @name("ip_src");
            fields.ip_dst: ternary @name("ip_dst");
            fields.ip_proto: ternary @name("ip_proto");
            fields.ip_fragment: ternary @name("ip_fragment");
            fields.port_src: range @name("port_src");
            fields.port_dst: range @name("port_dst");
        }
        actions = { stamp; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 16384;
    }

    table steps {
        key = { fields.since: range @name("us"); }
        actions = { step; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 32;
    }

    apply {
        hash(fields.packet, HashAlgorithm.crc32, (bit<32>) 0, {fields.ip_src, fields.ip_dst, fields.ip_proto, fields.port_src,
            fields.port_dst, hdr.ipv4.id}, (bit<64>) 0x1_0000_0000);
        slot = (bit<32>) fields.packet[31:20];
        if (fields.from_host == 1) {
            stamps.apply();
        } else {
            stamp_packet.read(held, slot);
            if (held == fields.packet) {
                stamp_packet.write(slot, 0);
                stamp_us.read(fields.since, slot);
                stamp_class.read(fields.stamped, slot);
                fields.since = standard.ingress_global_timestamp - fields.since;
                steps.apply();
                latencies.count(fields.stamped * LATENCY_STEPS + fields.step);
            }
        }
    }
}

control Steer(inout headers_t hdr, inout fields_t fields, inout standard_metadata_t standard) {
    Mix() mix_addresses;
    Mix() mix_rest;
    Stamp() stamp;
    direct_counter(CounterType.packets_and_bytes) admitted;
    direct_counter(CounterType.packets_and_bytes) steered;
    direct_counter(CounterType.packets_and_bytes) shared;
    direct_counter(CounterType.packets_and_bytes) kept;
    direct_counter(CounterType.packets_and_bytes) not_kept;
    direct_counter(CounterType.packets_and_bytes) routed;
    direct_counter(CounterType.packets_and_bytes) routed_ipv6;
    direct_counter(CounterType.packets_and_bytes) taken_1;
    direct_counter(CounterType.packets_and_bytes) taken_2;
    direct_counter(CounterType.packets_and_bytes) taken_3;
    direct_counter(CounterType.packets_and_bytes) passed;
    meter(METERS, MeterType.bytes) rates;
    counter(METERS, CounterType.packets_and_bytes) over_rate;

    action drop() {
        mark_to_drop(standard);
    }

    // `flow_id` will be H(f) of the fields under the masks (E2 3.4.4), the same as on every server; `split` tells whose
    // ranges are looked up.
    action hash_flow(bit<32> split, bit<64> addresses_mask, bit<64> rest_mask) {
        fields.hash = ((fields.ip_src ++ fields.ip_dst) & addresses_mask) + 0x9e3779b97f4a7c15;
        fields.rest = ((24w0 ++ fields.ip_proto ++ fields.port_src ++ fields.port_dst) & rest_mask) + 0x7f4a7c15;
        fields.split = split;
        fields.to_split = true;
    }

    // Of a split whose flows stay where they are when its ranges change: all packets that agree in the fields under the masks.
    action hash_kept(bit<32> split, bit<64> addresses_mask, bit<64> rest_mask) {
        fields.to_keep = true;
        fields.kept_src = fields.ip_src & addresses_mask[63:32];
        fields.kept_dst = fields.ip_dst & addresses_mask[31:0];
        fields.kept_proto = fields.ip_proto & rest_mask[39:32];
        hash_flow(split, addresses_mask, rest_mask);
    }

    // As a router does (RFC 1812 5.3.1). The checksum is updated for the one field (RFC 1624): ~m + m' is 0xfeff.
    action decrement_ttl() {
        bit<32> sum = (bit<32>) (~hdr.ipv4.checksum) + 0xfeff;
        hdr.ipv4.checksum = ~(sum[15:0] + sum[31:16]);
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    action to_steer(bit<1> from_host) {
        fields.from_host = from_host;
        fields.to_steer = true;
    }

    action to_route() {
        fields.to_route = true;
    }

    action enter_nfs(bit<16> nfs) {
        fields.nfs = nfs;
        fields.stage = 1;
    }

    action pass(bit<3> stage) {
        fields.stage = stage;
    }

    action limit(bit<3> stage, bit<32> rate) {
        fields.stage = stage;
        fields.rate = rate;
        rates.execute_meter(rate, fields.colour);
    }

    action output(port_t port) {
        standard.egress_spec = port;
    }

    action send(bit<48> mac, port_t port) {
        hdr.ethernet.dst = mac;
        standard.egress_spec = port;
    }

    action send_new(bit<48> mac, port_t port) {
        send(mac, port);
        digest<new_flow_t>(1, {fields.split, fields.flow_id, fields.kept_src, fields.kept_dst, fields.kept_proto, hdr.ethernet.dst,
            standard.egress_spec});
    }

    action to_split() { }

    action send_return(bit<48> mac, port_t port) {
        fields.to_return = true;
        send(mac, port);
    }

    action hash_return(bit<32> split, bit<64> addresses_mask, bit<64> rest_mask) {
        fields.to_return = true;
        hash_flow(split, addresses_mask, rest_mask);
    }

    // The copies get their hops in `copies`.
    action replicate(bit<16> group) {
        standard.mcast_grp = group;
    }

    table admit {
        key = {
            standard.ingress_port: ternary @name("port");
            hdr.ethernet.src: ternary @name("eth_src");
            hdr.ethernet.dst: ternary @name("eth_dst");
            hdr.ethernet.ether_type: ternary @name("eth_type");
        }
        actions = { to_steer; output; replicate; drop; }
        const default_action = drop();
        counters = admitted;
        size = 16384;
    }

    table steer {
        key = {
            standard.ingress_port: ternary @name("port");
            fields.from_host: ternary @name("from_host");
            hdr.ethernet.ether_type: ternary @name("eth_type");
            fields.ip_src: ternary @name("ip_src");
            fields.ip_dst: ternary @name("ip_dst");
            fields.ip_proto: ternary @name("ip_proto");
            fields.ip_fragment: ternary @name("ip_fragment");
            fields.port_src: range @name("port_src");
            fields.port_dst: range @name("port_dst");
        }
        actions = { send; send_return; hash_flow; hash_kept; hash_return; enter_nfs; to_route; drop; }
        const default_action = drop();
        counters = steered;
        size = 16384;
    }

    table nf_1 {
        key = {
            fields.nfs: exact @name("nfs");
            hdr.ethernet.ether_type: ternary @name("eth_type");
            fields.ip_src: ternary @name("ip_src");
            fields.ip_dst: ternary @name("ip_dst");
            fields.ip_proto: ternary @name("ip_proto");
            fields.ip_later: ternary @name("ip_later");
            fields.carried_src: range @name("port_src");
            fields.carried_dst: range @name("port_dst");
        }
        actions = { pass; limit; drop; }
        const default_action = drop();
        counters = taken_1;
        size = 16384;
    }

    table nf_2 {
        key = {
            fields.nfs: exact @name("nfs");
            hdr.ethernet.ether_type: ternary @name("eth_type");
            fields.ip_src: ternary @name("ip_src");
            fields.ip_dst: ternary @name("ip_dst");
            fields.ip_proto: ternary @name("ip_proto");
            fields.ip_later: ternary @name("ip_later");
            fields.carried_src: range @name("port_src");
            fields.carried_dst: range @name("port_dst");
        }
        actions = { pass; limit; drop; }
        const default_action = drop();
        counters = taken_2;
        size = 16384;
    }

    table nf_3 {
        key = {
            fields.nfs: exact @name("nfs");
            hdr.ethernet.ether_type: ternary @name("eth_type");
            fields.ip_src: ternary @name("ip_src");
            fields.ip_dst: ternary @name("ip_dst");
            fields.ip_proto: ternary @name("ip_proto");
            fields.ip_later: ternary @name("ip_later");
            fields.carried_src: range @name("port_src");
            fields.carried_dst: range @name("port_dst");
        }
        actions = { pass; limit; drop; }
        const default_action = drop();
        counters = taken_3;
        size = 16384;
    }

    table onward {
        key = {
            fields.nfs: exact @name("nfs");
            hdr.ethernet.ether_type: ternary @name("eth_type");
        }
        actions = { send; hash_flow; hash_kept; drop; }
        const default_action = drop();
        counters = passed;
        size = 16384;
    }

    // Flows in progress, by entries of the agent that end when they are idle (E2 3.4.4).
    table keep {
        key = {
            fields.split: exact @name("split");
            fields.flow_id: exact @name("flow_id");
            fields.kept_src: exact @name("ip_src");
            fields.kept_dst: exact @name("ip_dst");
            fields.kept_proto: exact @name("ip_proto");
        }
        actions = { send; @defaultonly NoAction; }
        const default_action = NoAction();
        counters = kept;
        support_timeout = true;
        size = 16384;
    }

    table unkept {
        key = { fields.split: ternary @name("split"); }
        actions = { to_split; drop; }
        const default_action = drop();
        counters = not_kept;
        size = 16;
    }

    table split {
        key = {
            fields.split: exact @name("split");
            hdr.ethernet.ether_type: ternary @name("eth_type");
            fields.flow_id: range @name("flow_id");
        }
        actions = { send; send_new; drop; }
        const default_action = drop();
        counters = shared;
        size = 16384;
    }

    table route {
        key = {
            standard.ingress_port: ternary @name("port");
            fields.from_host: ternary @name("from_host");
            hdr.ethernet.ether_type: ternary @name("eth_type");
            fields.ip_src: ternary @name("ip_src");
            fields.ip_dst: ternary @name("ip_dst");
            fields.ip_proto: ternary @name("ip_proto");
            fields.ip_fragment: ternary @name("ip_fragment");
            fields.port_src: range @name("port_src");
            fields.port_dst: range @name("port_dst");
        }
        actions = { send; drop; }
        const default_action = drop();
        counters = routed;
        size = 16384;
    }

    table route_ipv6 {
        key = { hdr.ipv6.dst: exact @name("ipv6_dst"); }
        actions = { send; drop; }
        const default_action = drop();
        counters = routed_ipv6;
        size = 16384;
    }

    apply {
        admit.apply();
        if (fields.to_steer) {
            steer.apply();
            // One in 16 by the identification, of those that enter their chain and those that may have left one. Without a
            // fragment to come, some senders leave it 0 (RFC 6864 4.1): nothing would tell their packets apart, as nothing
            // tells the fragments of one packet apart.
            if (hdr.ipv4.isValid() && fields.ip_fragment == 0 && hdr.ipv4.id[3:0] == 1 &&
                fields.to_route != (fields.from_host == 1)) {
                stamp.apply(hdr, fields, standard);
            }
        }
        if (fields.stage == 1) {
            fields.stage = 0;
            nf_1.apply();
        }
        if (fields.stage == 2 && fields.colour != RED) {
            fields.stage = 0;
            nf_2.apply();
        }
        if (fields.stage == 3 && fields.colour != RED) {
            fields.stage = 0;
            nf_3.apply();
        }
        if (fields.colour == RED) {
            over_rate.count(fields.rate);
            drop();
            exit;
        }
        if (fields.stage == ONWARD) {
            onward.apply();
        }
        if (fields.to_return) {
            if (hdr.ipv4.ttl < 2) {
                drop();
                exit;
            }
            decrement_ttl();
        }
        if (fields.to_split) {
            mix_addresses.apply(fields.hash);
            fields.hash = fields.hash ^ fields.rest;
            mix_rest.apply(fields.hash);
            fields.flow_id = fields.hash[63:48];
            if (fields.to_keep) {
                if (keep.apply().hit) {
                    fields.to_split = false;
                } else if (!unkept.apply().hit) {
                    fields.to_split = false;
                }
            }
            if (fields.to_split) {
                split.apply();
            }
        }
        if (fields.to_route) {
            if (hdr.ipv6.isValid()) {
                route_ipv6.apply();
            } else {
                route.apply();
            }
        }
    }
}

control Copy(inout headers_t hdr, inout fields_t fields, inout standard_metadata_t standard) {
    // The metadata word of the tag stays.
    action set_hop(bit<16> hop) {
        hdr.ethernet.dst[31:16] = hop;
    }

    table copies {
        key = {
            standard.mcast_grp: exact @name("group");
            standard.egress_rid: exact @name("copy");
        }
        actions = { set_hop; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 16384;
    }

    apply {
        if (standard.mcast_grp != 0) {
            copies.apply();
        }
    }
}

control ComputeChecksums(inout headers_t hdr, inout fields_t fields) {
    apply { }
}

control DeparseFrame(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(ParseFrame(), VerifyChecksums(), Steer(), Copy(), ComputeChecksums(), DeparseFrame()) main;
