import { PCAP_LIMIT_BYTES } from '@orrery/contract';
import { invalid, ProblemError } from '../../platform/problem.js';

const PCAP_HEADER_BYTES = 24;
const PCAPNG_HEADER_BYTES = 28;
/** First bytes of a capture and its minimum length: pcap in both byte orders, micro- and nanoseconds, and pcapng. */
const HEADER_BYTES: ReadonlyMap<string, number> = new Map([
  ['d4c3b2a1', PCAP_HEADER_BYTES],
  ['a1b2c3d4', PCAP_HEADER_BYTES],
  ['4d3cb2a1', PCAP_HEADER_BYTES],
  ['a1b23c4d', PCAP_HEADER_BYTES],
  ['0a0d0d0a', PCAPNG_HEADER_BYTES],
]);

/** Reads the whole upload. Throws 413 as soon as it is too large and 422 if it is not a capture, without reading the rest. */
export async function readPcap(stream: AsyncIterable<Buffer>, declaredBytes: number | undefined): Promise<Buffer> {
  if (declaredBytes !== undefined && declaredBytes > PCAP_LIMIT_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    const before = bytes;
    bytes += chunk.length;
    if (bytes > PCAP_LIMIT_BYTES) throw tooLarge();
    if (before < 4 && bytes >= 4) leastBytes(Buffer.concat(chunks));
  }
  const capture = Buffer.concat(chunks);
  if (capture.length < leastBytes(capture)) throw notACapture('ends within its header');
  return capture;
}

/** Minimum length by the first bytes. Throws 422 if they are not those of a capture. */
function leastBytes(capture: Buffer): number {
  const least = HEADER_BYTES.get(capture.subarray(0, 4).toString('hex'));
  if (least === undefined) throw notACapture('is not a capture in pcap or pcapng format');
  return least;
}

function notACapture(detail: string): ProblemError {
  return invalid([{ pointer: '', detail, code: 'not-a-pcap' }], `The upload ${detail}.`);
}

function tooLarge(): ProblemError {
  return new ProblemError(413, `A capture can have at most ${PCAP_LIMIT_BYTES / 1024 / 1024} MB.`, [], {
    connection: 'close',
  });
}
