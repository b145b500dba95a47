import { PCAP_LIMIT_BYTES } from '@orrery/contract';
import { invalid, ProblemError } from '../../platform/problem.js';

/** First bytes of the pcap format: both byte orders, micro- and nanoseconds. */
const MAGICS = ['d4c3b2a1', 'a1b2c3d4', '4d3cb2a1', 'a1b23c4d'];
const HEADER_BYTES = 24;

/** The whole upload. Throws 413 as soon as it is too large and 422 when it is not a capture; the rest is not read then. */
export async function readPcap(stream: AsyncIterable<Buffer>, declaredBytes: number | undefined): Promise<Buffer> {
  if (declaredBytes !== undefined && declaredBytes > PCAP_LIMIT_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    const before = bytes;
    bytes += chunk.length;
    if (bytes > PCAP_LIMIT_BYTES) throw tooLarge();
    if (before < 4 && bytes >= 4) requireMagic(Buffer.concat(chunks));
  }
  const capture = Buffer.concat(chunks);
  requireMagic(capture);
  if (capture.length < HEADER_BYTES) throw notACapture('ends within its header');
  return capture;
}

function requireMagic(bytes: Buffer): void {
  if (!MAGICS.includes(bytes.subarray(0, 4).toString('hex')))
    throw notACapture('is not a capture in pcap format (pcapng can be converted with `editcap -F pcap`)');
}

function notACapture(detail: string): ProblemError {
  return invalid([{ pointer: '', detail, code: 'not-a-pcap' }], `The upload ${detail}.`);
}

function tooLarge(): ProblemError {
  return new ProblemError(413, `A capture has at most ${PCAP_LIMIT_BYTES / 1024 / 1024} MB.`, [], {
    connection: 'close',
  });
}
