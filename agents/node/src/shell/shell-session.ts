import {
  SHELL_IDLE_MS,
  SHELL_OUTPUT_BYTES,
  SHELL_WINDOW_BYTES,
  type ShellInput,
  type ShellOutput,
} from '@orrery/contract';
import type { ShellTerminal } from '../drivers/shell-terminal.js';

export interface ShellTiming {
  /** Between two messages with output, so that all shells of a node are within what its server reads. */
  pace_ms: number;
  idle_ms: number;
}

export const SHELL_TIMING: ShellTiming = { pace_ms: 40, idle_ms: SHELL_IDLE_MS };

/** Typed and not read by the program. */
const INPUT_BACKLOG_BYTES = 64 * 1024;

/** A shell and the terminal that shows it: neither side gets more than it takes. */
export class ShellSession {
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  /** Sent and not shown yet. */
  private unshownBytes = 0;
  private pace: NodeJS.Timeout | null = null;
  private idle: NodeJS.Timeout | null = null;
  /** How it ended, while output of it waits. */
  private how: string | null = null;
  private isOver = false;

  constructor(
    private readonly terminal: ShellTerminal,
    private readonly send: (message: ShellOutput) => void,
    private readonly onEnd: () => void,
    private readonly timing: ShellTiming = SHELL_TIMING,
  ) {
    this.rearm();
  }

  /** Nothing is sent before. */
  begin(): void {
    const { stream } = this.terminal;
    for (const end of ['end', 'close']) stream.once(end, () => void this.ended());
    stream.on('data', (chunk: Buffer) => this.written(chunk));
  }

  take(message: ShellInput): void {
    if (this.isOver) return;
    switch (message.type) {
      case 'input':
        this.rearm();
        this.type(message.text);
        return;
      case 'resize':
        // A shell that has just ended has no size.
        this.terminal.resize(message).catch(() => undefined);
        return;
      case 'taken':
        this.unshownBytes = Math.max(0, this.unshownBytes - message.bytes);
        this.flush();
    }
  }

  end(why: string): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const timer of [this.pace, this.idle]) if (timer) clearTimeout(timer);
    this.terminal.end();
    this.send({ type: 'ended', detail: why });
    this.onEnd();
  }

  private type(text: string): void {
    const { stream } = this.terminal;
    if (!stream.writable) return;
    if (stream.writableLength + Buffer.byteLength(text) > INPUT_BACKLOG_BYTES)
      this.send({ type: 'untaken', chars: Math.max(1, text.length) });
    else stream.write(text);
  }

  private written(chunk: Buffer): void {
    this.pending.push(chunk);
    this.pendingBytes += chunk.length;
    this.flush();
  }

  private flush(): void {
    if (this.isOver) return;
    const room = SHELL_WINDOW_BYTES - this.unshownBytes;
    const bytes = Math.min(SHELL_OUTPUT_BYTES, this.pendingBytes, room);
    if (bytes > 0 && !this.pace) {
      this.sendOutput(bytes);
      this.pace = setTimeout(() => {
        this.pace = null;
        this.flush();
      }, this.timing.pace_ms);
    }
    if (this.pendingBytes >= SHELL_OUTPUT_BYTES) this.terminal.stream.pause();
    else this.terminal.stream.resume();
    if (this.how !== null && this.pendingBytes === 0) this.end(this.how);
  }

  private sendOutput(bytes: number): void {
    const all = Buffer.concat(this.pending);
    this.send({ type: 'output', base64: all.toString('base64', 0, bytes) });
    this.pending = bytes < all.length ? [all.subarray(bytes)] : [];
    this.pendingBytes -= bytes;
    this.unshownBytes += bytes;
  }

  private async ended(): Promise<void> {
    this.how ??= await this.terminal.explain();
    this.flush();
  }

  private rearm(): void {
    if (this.idle) clearTimeout(this.idle);
    const { idle_ms } = this.timing;
    this.idle = setTimeout(() => this.end(`nothing was typed for ${Math.round(idle_ms / 60_000)} minutes`), idle_ms);
  }
}
