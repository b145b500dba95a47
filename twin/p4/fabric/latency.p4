// SPDX-License-Identifier: Apache-2.0
// Places for stamps of packets that are in their chains; a stamp that nothing takes is written over.
const bit<32> STAMPS = 4096;
const bit<32> STAMPED_CLASSES = 64;
const bit<32> LATENCY_STEPS = 32;

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
