import { expect, it } from 'vitest';
import { captureOf, generate } from './frames.js';

const ENDS = { from: '10.0.1.1', to: '10.0.2.1' };

const onesComplement = (bytes: Buffer) => {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += (bytes[at]! << 8) | (bytes[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
};

it('makes the same frames of the same seed, and others of another', () => {
  expect(generate(1, 20, ENDS)).toEqual(generate(1, 20, ENDS));
  expect(generate(1, 20, ENDS)).not.toEqual(generate(2, 20, ENDS));
});

it('makes whole frames of both protocols with valid checksums', () => {
  const frames = generate(7, 200, ENDS);
  expect(new Set(frames.map((frame) => frame[23]))).toEqual(new Set([6, 17]));
  for (const frame of frames) {
    const ip = frame.subarray(14, 34);
    const l4 = frame.subarray(34);
    expect(ip.readUInt16BE(2)).toBe(frame.length - 14);
    expect(onesComplement(ip)).toBe(0xffff);
    const pseudo = Buffer.from([...ip.subarray(12, 20), 0, ip[9]!, l4.length >> 8, l4.length & 0xff]);
    expect(onesComplement(Buffer.concat([pseudo, l4]))).toBe(0xffff);
  }
});

it('writes a capture in which every frame is whole', () => {
  const frames = generate(3, 3, ENDS);
  const file = captureOf(frames);
  let at = 24;
  for (const frame of frames) {
    expect(file.readUInt32LE(at + 8)).toBe(frame.length);
    expect(file.subarray(at + 16, at + 16 + frame.length)).toEqual(frame);
    at += 16 + frame.length;
  }
  expect(at).toBe(file.length);
});
