// Thrift's binary protocol, strict, over a buffered transport, as far as one call of BMv2 needs it. The package `thrift` uses
// constructors of Buffer that Node deprecates, and its connections have no time limit.

const CALL = 0x8001_0001;
const REPLY = 0x8001_0002;
const TYPE = { stop: 0, i32: 8, i64: 10, text: 11 } as const;
const METHOD = 'standard:bm_register_read';
/** Of a switch with one pipeline. */
const CONTEXT = 0;

/** `bm_register_read(1: cxt_id, 2: register_array_name, 3: idx)`. */
export function readRequest(register: string, index: number): Buffer {
  return Buffer.concat([
    int32(CALL),
    text(METHOD),
    int32(index),
    field(TYPE.i32, 1),
    int32(CONTEXT),
    field(TYPE.text, 2),
    text(register),
    field(TYPE.i32, 3),
    int32(index),
    Buffer.of(TYPE.stop),
  ]);
}

/** The value of the first answer, and the bytes of the answer; null: it is not all there. Throws if it is a refusal. */
export function takeValue(received: Buffer): { readonly value: bigint; readonly bytes: number } | null {
  if (received.length < 8) return null;
  // Behind the kind of message: name, sequence number, type and number of the field, value, stop.
  const field = 8 + received.readUInt32BE(4) + 4;
  if (received.length <= field) return null;
  if (received.readUInt32BE(0) !== REPLY || received[field] !== TYPE.i64) throw new Error('the switch refuses it');
  const bytes = field + 3 + 8 + 1;
  return received.length < bytes ? null : { value: received.readBigUInt64BE(field + 3), bytes };
}

const field = (type: number, id: number) => Buffer.of(type, 0, id);

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([int32(bytes.length), bytes]);
}
