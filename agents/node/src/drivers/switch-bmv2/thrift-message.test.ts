import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRequest, takeValue } from './thrift-message.js';

/** What simple_switch_grpc 1.15.5 answers, without the name of the call. */
function answer(value: bigint, name = 'bm_register_read'): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(0x8001_0002);
  head.writeUInt32BE(name.length, 4);
  const tail = Buffer.alloc(16);
  tail.set([10, 0, 0], 4);
  tail.writeBigUInt64BE(value, 7);
  return Buffer.concat([head, Buffer.from(name), tail]);
}

describe('messages of Thrift', () => {
  it('asks for a cell', () => {
    const name = Buffer.from('standard:bm_register_read').toString('hex');
    expect(readRequest('r', 5).toString('hex')).toBe(
      `8001000100000019${name}00000005080001000000000b000200000001720800030000000500`,
    );
  });

  it('takes answers one after another, wherever they are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })), fc.nat(200), (values, cut) => {
        const all = Buffer.concat(values.map((value) => answer(value)));
        let rest = all.subarray(0, cut);
        const taken: bigint[] = [];
        for (const more of [Buffer.alloc(0), all.subarray(cut)]) {
          rest = Buffer.concat([rest, more]);
          for (let next = takeValue(rest); next !== null; next = takeValue(rest)) {
            taken.push(next.value);
            rest = rest.subarray(next.bytes);
          }
        }
        expect(taken).toEqual(values);
        expect(rest).toHaveLength(0);
      }),
    );
  });

  it('takes no refusal for a value', () => {
    const refusal = answer(0n);
    // An exception in field 1.
    refusal.set([12, 0, 1], 8 + 16 + 4);
    expect(() => takeValue(refusal)).toThrow('the switch refuses it');
  });
});
