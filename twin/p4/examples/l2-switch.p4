// SPDX-License-Identifier: Apache-2.0
// A switch that forwards by the destination's MAC address, and floods to a multicast group what it does not know. Hosts of the
// twin send every packet to the address of the gateway; the table `last_hop` gives it the address of the host behind a port.

#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<9> port_t;

header ethernet_t {
    mac_t dst;
    mac_t src;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {}

parser SwitchParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Forward(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) dmac_counter;

    action forward(port_t port) {
        standard.egress_spec = port;
        dmac_counter.count();
    }

    action flood(bit<16> group) {
        standard.mcast_grp = group;
        dmac_counter.count();
    }

    action drop() {
        mark_to_drop(standard);
        dmac_counter.count();
    }

    table dmac {
        key = { hdr.ethernet.dst: exact @name("dst"); }
        actions = { forward; flood; drop; }
        default_action = drop();
        counters = dmac_counter;
        size = 4096;
    }

    apply {
        dmac.apply();
    }
}

control Departure(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action rewrite(mac_t dst) {
        hdr.ethernet.dst = dst;
    }

    table last_hop {
        key = { standard.egress_port: exact @name("port"); }
        actions = { rewrite; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        // A flooded packet does not go back to where it came from.
        if (standard.egress_port == standard.ingress_port) {
            mark_to_drop(standard);
        } else {
            last_hop.apply();
        }
    }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(SwitchParser(), Verify(), Forward(), Departure(), Compute(), SwitchDeparser()) main;
