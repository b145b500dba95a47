// SPDX-License-Identifier: Apache-2.0
// What packets of the fabric have, and how it is read and written.
typedef bit<9> port_t;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<8> PROTO_TCP = 6;
const bit<8> PROTO_UDP = 17;

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

control DeparseFrame(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}
