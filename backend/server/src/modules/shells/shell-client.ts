import {
  fieldErrors,
  type SessionInfo,
  SHELL_WINDOW_BYTES,
  ShellClientMessage,
  type ShellInput,
  type ShellOutput,
  type ShellServerMessage,
  type ShellSize,
} from '@orrery/contract';
import type { WebSocket } from 'ws';
import { ProblemError } from '../../platform/problem.js';
import type { Visitor } from '../../platform/sockets.js';
import { LostReply } from '../../ports/node-fleet.js';
import type { NodeShell } from '../../ports/node-shells.js';
import type { SessionVerifier } from '../../ports/session-verifier.js';

const OPEN_LIMIT_MS = 5000;
const PING_MS = 15_000;

type Open = Extract<ShellClientMessage, { type: 'open' }>;

export interface ShellContext {
  readonly sessions: Pick<SessionVerifier, 'verify' | 'watch'>;
  /** Takes a place for a shell of the session; returns a function that gives it back. Null: there is none. */
  place(token: string): (() => void) | null;
  /** The node of an instance, and what opens a shell there. Throws a ProblemError in plain words. */
  open(
    instanceId: string,
    size: ShellSize,
    listen: (message: ShellOutput) => void,
  ): Promise<{ node: string; shell: NodeShell }>;
  opened(instanceId: string, node: string, by: SessionInfo, address: string): void;
  refused(instanceId: string, by: SessionInfo, address: string, why: string): void;
  /** By an error of the server's own. */
  failed(error: unknown): void;
  closed(instanceId: string, node: string, by: SessionInfo, why: string, openMs: number): void;
}

/** One terminal of a console and the shell that it shows. */
export class ShellClient {
  private asked = false;
  private shell: NodeShell | null = null;
  /** Tells the log why it ended, once. */
  private tellEnd: ((why: string) => void) | null = null;
  private readonly onClose: (() => void)[] = [];
  /** Sent and not shown yet. */
  private unshownBytes = 0;
  /** What came before the shell was known to be open. */
  private readonly early: ShellOutput[] = [];
  private isOpen = false;
  private heardMs = performance.now();

  constructor(
    private readonly socket: WebSocket,
    private readonly visitor: Visitor,
    private readonly context: ShellContext,
  ) {
    const limit = setTimeout(() => this.asked || this.refuse('open a shell first'), OPEN_LIMIT_MS);
    const pings = setInterval(() => this.checkAlive(), PING_MS);
    socket.on('message', (data, binary) => {
      if (socket.readyState !== socket.OPEN) return;
      this.heardMs = performance.now();
      this.take(binary ? '' : data.toString());
    });
    socket.on('pong', () => {
      this.heardMs = performance.now();
    });
    socket.on('close', () => {
      clearTimeout(limit);
      clearInterval(pings);
      this.end('the browser has gone');
      for (const run of this.onClose.splice(0)) run();
    });
  }

  private take(text: string): void {
    const read = readMessage(text);
    const why = typeof read === 'string' ? read : this.outOfTurn(read);
    if (typeof read === 'string' || why !== null) this.refuse(why ?? '');
    else if (read.type === 'open') {
      this.asked = true;
      void this.open(read);
    } else this.pass(read);
  }

  private outOfTurn({ type }: ShellClientMessage): string | null {
    if ((type === 'open') !== this.asked) return null;
    return this.asked ? 'a shell is open already' : 'open a shell first';
  }

  private pass(message: ShellInput): void {
    if (message.type === 'taken') this.unshownBytes = Math.max(0, this.unshownBytes - message.bytes);
    const isTaken = this.shell?.tell(message) ?? false;
    if (!isTaken && message.type === 'input') this.send({ type: 'untaken', chars: Math.max(1, message.text.length) });
  }

  private async open({ token, instance_id: id, columns, rows }: Open): Promise<void> {
    const { context, visitor } = this;
    const session = await context.sessions.verify(token).catch(() => undefined);
    if (session === undefined) return this.refuse('the store is away');
    if (session === null) return this.refuse('the token is not valid');
    if (this.isGone) return;
    visitor.admit();
    const refuse = (why: string) => {
      context.refused(id, session, visitor.address, why);
      this.refuse(why);
    };
    if (session.role !== 'admin') return refuse('a shell needs the role admin');
    const leave = context.place(token);
    if (!leave) return refuse('too many shells are open: end one');
    this.onClose.push(leave);
    const sinceMs = performance.now();
    try {
      const { node, shell } = await context.open(id, { columns, rows }, (message) => this.told(message));
      this.shell = shell;
      // Told of also where the browser has gone meanwhile: somebody was in there.
      context.opened(id, node, session, visitor.address);
      this.tellEnd = (why) => context.closed(id, node, session, why, Math.round(performance.now() - sinceMs));
    } catch (error) {
      const isKnown = error instanceof ProblemError || error instanceof LostReply;
      if (!isKnown) context.failed(error);
      return refuse(isKnown ? error.message : 'the server failed to open it');
    }
    if (this.isGone) return this.end('the browser has gone');
    this.onClose.push(context.sessions.watch(token, session, () => this.finish('the session is over')));
    this.send({ type: 'opened' });
    this.isOpen = true;
    for (const message of this.early.splice(0)) {
      if (message.type === 'ended') this.finish(message.detail);
      else this.send(message);
    }
  }

  private told(message: ShellOutput): void {
    if (message.type === 'output') this.unshownBytes += Buffer.byteLength(message.base64, 'base64');
    // Its agent was told to wait.
    if (this.unshownBytes > 2 * SHELL_WINDOW_BYTES) this.finish('its agent sends more than it was asked for');
    else if (!this.isOpen) this.early.push(message);
    else if (message.type === 'ended') this.finish(message.detail);
    else this.send(message);
  }

  /** Ends it for both sides. */
  private finish(why: string): void {
    this.end(why);
    this.send({ type: 'ended', detail: why });
    this.visitor.dismiss(1000, 'ended');
  }

  private end(why: string): void {
    this.shell?.close();
    this.shell = null;
    this.tellEnd?.(why);
    this.tellEnd = null;
  }

  private get isGone(): boolean {
    return this.socket.readyState !== this.socket.OPEN;
  }

  private checkAlive(): void {
    if (performance.now() - this.heardMs > 2 * PING_MS + 1000) this.socket.terminate();
    else if (!this.isGone) this.socket.ping();
  }

  private refuse(detail: string): void {
    this.end(detail);
    this.send({ type: 'refused', detail });
    this.visitor.dismiss(1008, 'refused');
  }

  private send(message: ShellServerMessage): void {
    if (!this.isGone) this.socket.send(JSON.stringify(message));
  }
}

/** A message, or what is wrong with it. */
function readMessage(text: string): ShellClientMessage | string {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return 'messages are JSON';
  }
  const parsed = ShellClientMessage.safeParse(content);
  if (parsed.success) return parsed.data;
  const [first] = fieldErrors(parsed.error);
  return `${first?.pointer} ${first?.detail}`;
}
