import type { ShellClientMessage, ShellServerMessage, ShellSize } from '@orrery/contract';
import { SHELL_INPUT_CHARS, SHELL_WINDOW_BYTES } from '@orrery/contract/shell-limits';

export interface ShellSocket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onclose: (() => void) | null;
  onmessage: ((message: { data: unknown }) => void) | null;
}

/** What shows a shell. */
export interface ShellView {
  opened(): void;
  /** `shown` is to be called once the output is on the screen: the program waits for it. */
  output(bytes: Uint8Array, shown: () => void): void;
  untaken(chars: number): void;
  /** Nothing follows. */
  ended(why: string): void;
}

/** Shown output is told of in parts of this size; less than one never stops the program. */
const TELL_BYTES = SHELL_WINDOW_BYTES / 4;

/** A shell in the container of an instance, by one WebSocket. */
export class ShellConnection {
  private isOpen = false;
  private isOver = false;
  private shownBytes = 0;

  constructor(
    private readonly socket: ShellSocket,
    private readonly about: { readonly token: string; readonly instance_id: string },
    private size: ShellSize,
    private readonly view: ShellView,
  ) {
    const asked = { ...size };
    socket.onopen = () => this.send({ type: 'open', ...this.about, ...asked });
    socket.onmessage = ({ data }) => this.take(JSON.parse(String(data)) as ShellServerMessage, asked);
    socket.onclose = () =>
      this.over(this.isOpen ? 'the connection to the server ended' : 'the server cannot be reached');
  }

  type(text: string): void {
    if (!this.isOpen) return;
    for (let at = 0; at < text.length; at += SHELL_INPUT_CHARS)
      this.send({ type: 'input', text: text.slice(at, at + SHELL_INPUT_CHARS) });
  }

  resize(size: ShellSize): void {
    if (size.columns === this.size.columns && size.rows === this.size.rows) return;
    this.size = size;
    if (this.isOpen) this.send({ type: 'resize', ...size });
  }

  close(): void {
    this.isOver = true;
    this.socket.close();
  }

  private take(message: ShellServerMessage, asked: ShellSize): void {
    if (this.isOver) return;
    switch (message.type) {
      case 'opened':
        this.isOpen = true;
        if (asked.columns !== this.size.columns || asked.rows !== this.size.rows)
          this.send({ type: 'resize', ...this.size });
        this.view.opened();
        return;
      case 'output': {
        const bytes = Uint8Array.from(atob(message.base64), (char) => char.charCodeAt(0));
        this.view.output(bytes, () => this.shown(bytes.length));
        return;
      }
      case 'untaken':
        this.view.untaken(message.chars);
        return;
      case 'ended':
      case 'refused':
        this.over(message.detail);
    }
  }

  private shown(bytes: number): void {
    this.shownBytes += bytes;
    if (this.shownBytes < TELL_BYTES || this.isOver) return;
    this.send({ type: 'taken', bytes: this.shownBytes });
    this.shownBytes = 0;
  }

  private over(why: string): void {
    if (this.isOver) return;
    this.close();
    this.view.ended(why);
  }

  private send(message: ShellClientMessage): void {
    if (!this.isOver) this.socket.send(JSON.stringify(message));
  }
}
