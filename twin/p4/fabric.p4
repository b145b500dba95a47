// SPDX-License-Identifier: Apache-2.0
// The fabric of Orrery for P4 switches (v1model): the tables of a `SwitchSpec`, in the order in which a packet passes them.
// A table miss drops the packet. Packets in transit to a hop carry its tag as their destination address (MAC chaining).
#include <core.p4>
#include <v1model.p4>
#include "fabric/packet.p4"
#include "fabric/mix.p4"
#include "fabric/latency.p4"

// Where a packet of a class with NFs is next.
const bit<3> ONWARD = 4;
const bit<2> RED = 2;
const bit<32> METERS = 1024;

control VerifyChecksums(inout headers_t hdr, inout fields_t fields) {
    apply { }
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

V1Switch(ParseFrame(), VerifyChecksums(), Steer(), Copy(), ComputeChecksums(), DeparseFrame()) main;
