import { createConnection } from 'node:net';

const VERSION = 6;
const HELLO = 0;
const ECHO_REQUEST = 2;
const ECHO_REPLY = 3;
const HEADER_BYTES = 8;
const NOBODY_LISTENS = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'];

/** An OpenFlow message without a body (OpenFlow 1.5.1, 7.1.1). */
function message(type: number, transaction: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(VERSION, 0);
  header.writeUInt8(type, 1);
  header.writeUInt16BE(HEADER_BYTES, 2);
  header.writeUInt32BE(transaction, 4);
  return header;
}

/** Whether the complete messages in the bytes include a reply to an echo. */
function hasEchoReply(bytes: Buffer): boolean {
  for (let at = 0; at + HEADER_BYTES <= bytes.length; at += Math.max(bytes.readUInt16BE(at + 2), HEADER_BYTES))
    if (bytes.readUInt8(at + 1) === ECHO_REPLY) return true;
  return false;
}

/** Resolves when the switch behind a unix socket has answered an echo request on a new connection; else rejects. */
export function echo(socketPath: string, deadlineMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const connection = createConnection(socketPath);
    let received = Buffer.alloc(0);
    const end = (error?: Error) => {
      clearTimeout(timer);
      connection.destroy();
      if (error) reject(error);
      else resolve();
    };
    const silent = () => end(new Error(`does not answer within ${deadlineMs / 1000} s`));
    // If this process was held up itself, an answer that is already here is read before the check.
    const timer = setTimeout(() => setImmediate(silent), deadlineMs);
    connection.on('connect', () => connection.write(Buffer.concat([message(HELLO, 1), message(ECHO_REQUEST, 2)])));
    connection.on('data', (data) => {
      received = Buffer.concat([received, data]);
      if (hasEchoReply(received)) end();
    });
    connection.on('error', ({ message, code }: NodeJS.ErrnoException) => {
      const isGone = code !== undefined && NOBODY_LISTENS.includes(code);
      end(new Error(isGone ? `its process does not answer at ${socketPath}` : `cannot be reached (${message})`));
    });
    connection.on('close', () => end(new Error('closed the connection')));
  });
}
