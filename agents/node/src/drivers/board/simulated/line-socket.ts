import { createConnection, type Socket } from 'node:net';
import { BoardError } from '../board-port.js';

/** Longest line of boardd: a table of 4,096 entries, with a margin. */
const LINE_LIMIT_BYTES = 4 * 1024 * 1024;

/** JSON lines over a unix stream socket. */
export class LineSocket {
  private parts: Buffer[] = [];
  private bytes = 0;
  private over = false;

  private constructor(
    private readonly socket: Socket,
    private readonly onLine: (line: string) => void,
    private readonly onEnd: (why: string) => void,
  ) {
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('error', (error) => this.end(error.message));
    socket.on('close', () => this.end('the board closed its socket'));
  }

  /** `onEnd` is called once, except after a local close. */
  static connect(path: string, onLine: (line: string) => void, onEnd: (why: string) => void): Promise<LineSocket> {
    return new Promise((resolve, reject) => {
      const socket = createConnection(path);
      const refuse = (error: Error) => reject(new BoardError(error.message, 'lost'));
      socket.once('error', refuse);
      socket.once('connect', () => {
        socket.off('error', refuse);
        socket.unref();
        resolve(new LineSocket(socket, onLine, onEnd));
      });
    });
  }

  send(line: string): void {
    this.socket.write(`${line}\n`);
  }

  close(): void {
    this.over = true;
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0 && !this.over; end = rest.indexOf(10)) {
      const line = Buffer.concat([...this.parts, rest.subarray(0, end)]).toString('utf8');
      this.parts = [];
      this.bytes = 0;
      rest = rest.subarray(end + 1);
      this.onLine(line);
    }
    if (rest.length === 0) return;
    this.parts.push(rest);
    this.bytes += rest.length;
    if (this.bytes > LINE_LIMIT_BYTES) this.end(`the board sent a line longer than ${LINE_LIMIT_BYTES} bytes`);
  }

  private end(why: string): void {
    if (this.over) return;
    this.close();
    this.onEnd(why);
  }
}
