import { createCipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { builtModule, RealBoardd } from '../../testing/boards/real-boardd.js';
import { scratchDirectory } from '../../testing/scratch.js';
import type { BoardPort, RegisterWrite } from './board-port.js';
import { at, word } from './fields.js';
import { BOARD_MODULES } from './registers.js';
import { SimulatedBoard } from './simulated/simulated-board.js';
import { awaitCleared, enable } from './slot-setup.js';

const LIMIT_MS = 5000;
const words = (bytes: Buffer) => Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readUInt32LE(4 * i));
const writesTo = (register: { address: number; count: number; stride: number }, bytes: Buffer): RegisterWrite[] =>
  words(bytes).map((value, i) => [at(register, i), value]);

/** A slot that runs the module, ready for registers and frames. */
async function running(module: string): Promise<BoardPort> {
  const directory = scratchDirectory();
  const board = new RealBoardd(directory, 1e-3);
  board.writeImage('m.bit', module);
  await board.start();
  const port = new SimulatedBoard({ id: 'b1', backend: 'simulated', images: directory, slots: [], ...board });
  const { images } = await port.open({ event: () => {}, eventsLost: () => {}, lost: () => {} });
  onTestFinished(() => port.close());
  const result = await port.load({ slot: 0, kind: 'partial', policy: 'hold', image: images[0]! }, () => {});
  expect(result.error).toBeNull();
  await awaitCleared(port, 0);
  await enable(port, 0);
  await port.resume(0);
  return port;
}

const because = (module: string) => (builtModule(module) ? '' : ` (boardd and ${module} are not built)`);
const hex = (text: string) => Buffer.from(text, 'hex');

/** SP 800-38A F.5.1 (AES-128) and F.5.5 (AES-256). */
const TEXT = hex(
  '6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710',
);
const COUNTER = hex('f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
const AES_VECTORS = [
  {
    name: 'AES-128',
    key: hex('2b7e151628aed2a6abf7158809cf4f3c'),
    out: hex(
      '874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee',
    ),
  },
  {
    name: 'AES-256',
    key: hex('603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4'),
    out: hex(
      '601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c52b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6',
    ),
  },
];

describe.skipIf(!builtModule('aes-ctr'))(`stream: AES in counter mode${because('aes-ctr')}`, () => {
  const { registers } = BOARD_MODULES.nf_aes_ctr;
  const keyed = (key: Buffer): RegisterWrite[] => [
    [registers.OPTIONS.address, word(registers.OPTIONS, { KEY_256: Number(key.length === 32) })],
    ...writesTo(registers.KEY, key),
    ...writesTo(registers.COUNTER, COUNTER),
  ];

  it('matches the vectors of SP 800-38A, and keeps counting across frames', async () => {
    const port = await running('aes-ctr');
    for (const { key, out } of AES_VECTORS) {
      await port.writeRegisters(0, keyed(key));
      const frames = [TEXT.subarray(0, 16), TEXT.subarray(16)];
      expect(Buffer.concat(await port.stream(0, frames, LIMIT_MS))).toEqual(out);
    }
  });

  it('agrees with OpenSSL on frames of any length', async () => {
    const port = await running('aes-ctr');
    for (const length of [1, 7, 8, 9, 16, 17, 64, 1500, 2048]) {
      const [key, frame] = [randomBytes(16), randomBytes(length)];
      await port.writeRegisters(0, keyed(key));
      const [out] = await port.stream(0, [frame], LIMIT_MS);
      expect(out).toEqual(createCipheriv('aes-128-ctr', key, COUNTER).update(frame));
    }
  });
});

describe.skipIf(!builtModule('sha256-hmac'))(`stream: SHA-256 and HMAC${because('sha256-hmac')}`, () => {
  const { registers } = BOARD_MODULES.nf_sha256_hmac;
  let frames: Buffer[];
  beforeAll(() => {
    frames = [
      Buffer.from('abc'),
      Buffer.from('Hi There'),
      ...[1, 55, 56, 64, 65, 1500, 2048].map((n) => randomBytes(n)),
    ];
  });

  it('returns the digest of each frame (FIPS 180-4)', async () => {
    const port = await running('sha256-hmac');
    const digests = await port.stream(0, frames, LIMIT_MS);
    expect(digests[0]!.toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(digests).toEqual(frames.map((frame) => createHash('sha256').update(frame).digest()));
  });

  it('returns the HMAC of each frame (RFC 4231 test case 1)', async () => {
    const port = await running('sha256-hmac');
    const key = Buffer.concat([Buffer.alloc(20, 0x0b), Buffer.alloc(44)]);
    await port.writeRegisters(0, [
      [registers.OPTIONS.address, word(registers.OPTIONS, { HMAC: 1 })],
      ...writesTo(registers.KEY, key),
    ]);
    const digests = await port.stream(0, frames, LIMIT_MS);
    expect(digests[1]!.toString('hex')).toBe('b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7');
    expect(digests).toEqual(frames.map((frame) => createHmac('sha256', key).update(frame).digest()));
  });
});
