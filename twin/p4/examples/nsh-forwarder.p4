// SPDX-License-Identifier: Apache-2.0
// A service function forwarder (RFC 7665) by network service headers (RFC 8300). `classify` puts IPv4 packets on a path;
// `paths` leads each to the next function by path and index. A function that knows NSH counts the index down itself; for one
// that lets frames pass as they are, `serve` does. Index 0 drops, as do a TTL that ends and, at the end of a path, what is
// neither IPv4 nor IPv6; all are counted.

#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<9> port_t;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<16> ETHERTYPE_NSH = 0x894f;
// Next protocols of NSH.
const bit<8> NEXT_IPV4 = 1;
const bit<8> NEXT_IPV6 = 2;
// Cells of the counter `dropped`.
const bit<32> INDEX_ZERO = 0;
const bit<32> TTL_ENDED = 1;
const bit<32> MALFORMED = 2;
const bit<32> OTHER_PROTOCOL = 3;

header ethernet_t {
    mac_t dst;
    mac_t src;
    bit<16> ether_type;
}

header nsh_t {
    bit<2> version;
    bit<1> oam;
    bit<1> unassigned;
    bit<6> ttl;
    bit<6> words;
    bit<4> unassigned_2;
    bit<4> md_type;
    bit<8> next_protocol;
    bit<24> spi;
    bit<8> si;
}

header nsh_context_t {
    varbit<1952> data;
}

header ipv4_t {
    bit<4> version;
    bit<4> header_words;
    bit<8> service;
    bit<16> total_bytes;
    bit<16> id;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> proto;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    nsh_t nsh;
    nsh_context_t context;
    ipv4_t ipv4;
}

struct metadata_t {
    bool malformed;
}

parser ForwarderParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_NSH: nsh;
            ETHERTYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state nsh {
        packet.extract(hdr.nsh);
        // RFC 8300 2.4 and 2.5: MD type 1 has four words of context, MD type 2 any number; 2.2: others are discarded.
        transition select(hdr.nsh.version, hdr.nsh.md_type, hdr.nsh.words) {
            (0, 1, 6): context;
            (0, 2, 2): accept;
            (0, 2, 3 .. 63): context;
            default: malformed;
        }
    }

    state context {
        packet.extract(hdr.context, ((bit<32>) hdr.nsh.words - 2) << 5);
        transition accept;
    }

    state malformed {
        meta.malformed = true;
        transition accept;
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Forwarder(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) classified;
    direct_counter(CounterType.packets_and_bytes) led;
    counter(4, CounterType.packets_and_bytes) dropped;

    action drop() {
        mark_to_drop(standard);
    }

    // Of NSH without metadata (MD type 2), with the greatest TTL.
    action enter(bit<24> spi, bit<8> si) {
        hdr.nsh.setValid();
        hdr.nsh = {0, 0, 0, 63, 2, 0, 2, NEXT_IPV4, spi, si};
        hdr.ethernet.ether_type = ETHERTYPE_NSH;
    }

    // To a function that knows NSH, or to the next forwarder.
    action forward(mac_t next_hop, port_t port) {
        hdr.ethernet.dst = next_hop;
        standard.egress_spec = port;
    }

    // To a function that does not, and sends back what it got.
    action serve(mac_t next_hop, port_t port) {
        forward(next_hop, port);
        hdr.nsh.si = hdr.nsh.si - 1;
    }

    // The end of the path: the packet goes on without NSH.
    action leave(mac_t next_hop, port_t port) {
        forward(next_hop, port);
    }

    table classify {
        key = { hdr.ipv4.dst: lpm @name("dst_addr"); }
        actions = { enter; drop; }
        default_action = drop();
        counters = classified;
        size = 1024;
    }

    table paths {
        key = {
            hdr.nsh.spi: exact @name("spi");
            hdr.nsh.si: exact @name("si");
        }
        actions = { forward; serve; leave; drop; }
        default_action = drop();
        counters = led;
        size = 4096;
    }

    apply {
        // A frame may also end within its headers.
        if (meta.malformed || standard.parser_error != error.NoError) {
            dropped.count(MALFORMED);
            drop();
            exit;
        }
        if (hdr.nsh.isValid()) {
            // RFC 8300 2.2: what comes with 0 counts as 64.
            hdr.nsh.ttl = hdr.nsh.ttl - 1;
            if (hdr.nsh.ttl == 0) {
                dropped.count(TTL_ENDED);
                drop();
                exit;
            }
        } else if (hdr.ipv4.isValid()) {
            classify.apply();
        } else {
            drop();
        }
        if (hdr.nsh.isValid()) {
            if (hdr.nsh.si == 0) {
                dropped.count(INDEX_ZERO);
                drop();
            } else {
                switch (paths.apply().action_run) {
                    leave: {
                        if (hdr.nsh.next_protocol == NEXT_IPV4) {
                            hdr.ethernet.ether_type = ETHERTYPE_IPV4;
                        } else if (hdr.nsh.next_protocol == NEXT_IPV6) {
                            hdr.ethernet.ether_type = ETHERTYPE_IPV6;
                        } else {
                            dropped.count(OTHER_PROTOCOL);
                            drop();
                            exit;
                        }
                        hdr.nsh.setInvalid();
                        hdr.context.setInvalid();
                    }
                }
                // RFC 8300 2.3: one that became 0 ends here as well.
                if (hdr.nsh.isValid() && hdr.nsh.si == 0) {
                    dropped.count(INDEX_ZERO);
                    drop();
                }
            }
        }
    }
}

control Departure(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ForwarderDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(ForwarderParser(), Verify(), Forwarder(), Departure(), Compute(), ForwarderDeparser()) main;
