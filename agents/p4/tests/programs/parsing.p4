// SPDX-License-Identifier: Apache-2.0
// Every operation of a parser: the first byte says which.
#include <core.p4>
#include <v1model.p4>

error { WrongMagic }

header kind_t { bit<8> kind; }
header label_t { bit<7> value; bit<1> last; }
header options_t { bit<4> a; bit<4> words; varbit<96> data; bit<8> tail; }
header short_t { bit<8> value; }
header long_t { bit<24> value; }
header report_t { bit<8> error_code; bit<8> seen; bit<32> noted; }
header_union choice_t { short_t short; long_t long; }

struct headers_t {
    report_t  report;
    kind_t    kind;
    label_t[3] labels;
    options_t options;
    choice_t  choice;
    choice_t[2] choices;
}
struct metadata_t {
    bit<8>  seen;
    bit<32> noted;
}

parser ParserImpl(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    value_set<bit<8>>(4) known;

    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            1: labels;
            2: options;
            3: look;
            4: skip;
            5: magic;
            6: choose;
            7: choices;
            0x40 &&& 0xf0: masked;
            0x50 .. 0x57: ranged;
            known: in_set;
            default: accept;
        }
    }
    state labels {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.last) {
            0: labels;
            default: accept;
        }
    }
    state options {
        packet.extract(hdr.options, (bit<32>)(packet.lookahead<bit<8>>() & 0xf) * 8);
        transition accept;
    }
    state look {
        bit<20> ahead = packet.lookahead<bit<20>>();
        meta.noted = (bit<32>)ahead;
        transition select(packet.lookahead<bit<16>>()) {
            0xabcd: looked;
            default: accept;
        }
    }
    state looked {
        meta.seen = 3;
        transition accept;
    }
    state skip {
        packet.advance(24);
        meta.seen = packet.lookahead<bit<8>>();
        transition accept;
    }
    state magic {
        bit<8> first = packet.lookahead<bit<8>>();
        verify(first == 0x4d, error.WrongMagic);
        meta.seen = 5;
        transition accept;
    }
    state choose {
        transition select(packet.lookahead<bit<8>>()) {
            1: short_one;
            2: long_one;
        }
    }
    state short_one {
        packet.extract(hdr.choice.short);
        transition accept;
    }
    state long_one {
        packet.extract(hdr.choice.long);
        transition accept;
    }
    state choices {
        packet.extract(hdr.choices.next.short);
        transition select(packet.lookahead<bit<8>>()) {
            0: choices;
            default: accept;
        }
    }
    state masked {
        meta.seen = 0x40;
        transition accept;
    }
    state ranged {
        meta.seen = 0x50;
        transition accept;
    }
    state in_set {
        meta.seen = 0xee;
        transition accept;
    }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control IngressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        hdr.report.setValid();
        hdr.report.seen = meta.seen;
        hdr.report.noted = meta.noted;
        if (std.parser_error == error.PacketTooShort) hdr.report.error_code = 1;
        else if (std.parser_error == error.NoMatch) hdr.report.error_code = 2;
        else if (std.parser_error == error.StackOutOfBounds) hdr.report.error_code = 3;
        else if (std.parser_error == error.HeaderTooShort) hdr.report.error_code = 4;
        else if (std.parser_error == error.WrongMagic) hdr.report.error_code = 5;
        else if (std.parser_error != error.NoError) hdr.report.error_code = 0xff;
        if (hdr.choice.long.isValid()) {
            hdr.choice.short.setValid();
            hdr.choice.short.value = 0x99;
        }
    }
}
control EgressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control Update(inout headers_t hdr, inout metadata_t meta) { apply { } }
control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr); }
}
V1Switch(ParserImpl(), Verify(), IngressImpl(), EgressImpl(), Update(), DeparserImpl()) main;
